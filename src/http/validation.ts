import { z } from 'zod';
import { badRequest, type Issue, MAX_ISSUES } from '#src/platform/errors.ts';
import { quoteName } from './json/json-fault.ts';

/** `['votes', 2, 'rank']` → `votes[2].rank` (completions 1.3). */
function fieldPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? String(part) : `.${String(part)}`;
  }
  return text;
}

/** The message of an issue for which the schema gives none. */
function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${KINDS[String(issue.expected)] ?? issue.expected}`;
    case 'too_small':
      return boundMessage(String(issue.origin), 'at least', String(issue.minimum), issue.inclusive !== false);
    case 'too_big':
      return boundMessage(String(issue.origin), 'at most', String(issue.maximum), issue.inclusive !== false);
    case 'invalid_value':
      return `must be ${listValues(issue.values)}`;
    case 'invalid_union':
      return Array.isArray(issue['options'])
        ? `must be ${listValues(issue['options'])}`
        : 'must have one of the shapes of the reference';
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    default:
      return 'is not in the form that is expected here';
  }
}

z.config({ localeError: describeIssue });

const listValues = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join(' or ');

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' entries', set: ' entries' };

function boundMessage(origin: string, word: string, bound: string, inclusive: boolean): string {
  if (!inclusive) return word === 'at least' ? `must be greater than ${bound}` : `must be less than ${bound}`;
  const unit = UNITS[origin];
  return unit === undefined ? `must be ${word} ${bound}` : `must have ${word} ${bound}${unit}`;
}

/** Most issues of one body that are processed; an answer lists fewer. */
const MOST_ISSUES = 1_000;

/** Converts the issues of zod. An unknown field is reported by its own path, not by the path of the object around it. */
export function issuesOf(error: z.ZodError): Issue[] {
  const issues = error.issues.slice(0, MOST_ISSUES);
  // zod also checks the length of a list that was sent in place of a text: only its wrong kind is reported.
  const ofKind = new Set(issues.flatMap(({ code, path }) => (code === 'invalid_type' ? fieldPath(path) : [])));
  const apt = issues.filter(({ code, path }) => code === 'invalid_type' || !ofKind.has(fieldPath(path)));
  return apt.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.slice(0, MOST_ISSUES).map((key) => ({
          field: fieldPath([...issue.path, quoteName(key)]),
          message: 'is not a known field',
        }))
      : [{ field: fieldPath(issue.path), message: issue.message }],
  );
}

const noQuery = z.strictObject({});

/** @throws ApiError `bad_request` with every unknown, repeated or malformed query parameter at once. */
export function parseQuery(schema: z.ZodType | undefined, pairs: readonly (readonly [string, string])[]): unknown {
  if (schema === undefined && pairs.length === 0) return {};
  const values: Record<string, string> = Object.create(null);
  const repeated = new Set<string>();
  for (const [name, value] of pairs) {
    if (name in values) repeated.add(name);
    else values[name] = value;
  }
  const parsed = (schema ?? noQuery).safeParse({ ...values }, { reportInput: true });
  if (parsed.success && repeated.size === 0) return parsed.data;
  const given = [...repeated].map((name) => ({ field: quoteName(name), message: 'must be given once' }));
  const issues = [...given, ...(parsed.success ? [] : issuesOf(parsed.error))].slice(0, MAX_ISSUES);
  const [first] = issues;
  const isUnknown = first?.message === 'is not a known field';
  throw badRequest(
    isUnknown ? `Unknown query parameter ${first?.field}.` : `The query parameter ${first?.field} ${first?.message}.`,
    { field: first?.field, issues },
  );
}
