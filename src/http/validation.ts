import { z } from 'zod';
import { ApiError, type Issue, validationError } from '#src/platform/errors.ts';
import type { JsonObject } from './strict-json.ts';

/** `['votes', 2, 'rank']` → `votes[2].rank` (completions 1.3). */
export function fieldPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? String(part) : `.${String(part)}`;
  }
  return text;
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.input === undefined) return 'is required';
  return issue.message;
}

/** An unknown field is named itself, not the object around it. */
export function issuesOf(error: z.ZodError): Issue[] {
  return error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ field: fieldPath([...issue.path, key]), message: 'is not a known field' }))
      : [{ field: fieldPath(issue.path), message: messageOf(issue) }],
  );
}

/** @throws ApiError `validation_error` with all issues of the body at once. */
export function parseBody(schema: z.ZodType, raw: JsonObject): unknown {
  const parsed = schema.safeParse(raw, { reportInput: true });
  if (!parsed.success) throw validationError(issuesOf(parsed.error));
  return parsed.data;
}

const noQuery = z.strictObject({});

/** @throws ApiError `bad_request` for an unknown, repeated or malformed query parameter. */
export function parseQuery(schema: z.ZodType | undefined, pairs: readonly (readonly [string, string])[]): unknown {
  if (schema === undefined && pairs.length === 0) return {};
  const values: Record<string, string> = Object.create(null);
  for (const [name, value] of pairs) {
    if (name in values)
      throw new ApiError('bad_request', `The query parameter ${name} must be given once.`, { field: name });
    values[name] = value;
  }
  const parsed = (schema ?? noQuery).safeParse({ ...values }, { reportInput: true });
  if (parsed.success) return parsed.data;
  const issues = issuesOf(parsed.error);
  const first = issues[0];
  const unknown = first?.message === 'is not a known field';
  throw new ApiError(
    'bad_request',
    unknown ? `Unknown query parameter ${first.field}.` : `The query parameter ${first?.field} ${first?.message}.`,
    { field: first?.field, issues },
  );
}
