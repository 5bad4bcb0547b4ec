import type { MiddlewareHandler } from 'hono';
import type { z } from 'zod';
import { ApiError } from '#src/platform/errors.ts';
import type { Env } from './env.ts';
import type { JsonObject } from './json/strict-json.ts';
import { annotate } from './operation.ts';
import { readJson } from './read-body.ts';
import { replayOf } from './replay.ts';
import { parseBody } from './validation.ts';

type BodyStep<Target, Body> = MiddlewareHandler<Env & { Variables: { target: Target; body: Body } }>;

/**
 * A body that is refused may be the repeat of one that was taken: what its Idempotency-Key was used for comes first. A body
 * that is refused never uses a key up (completions 1.6).
 */
function checkBody<Target, Body>(check: (target: Target, raw: JsonObject) => Body): BodyStep<Target, Body> {
  return async (c, next) => {
    const raw = (await readJson(c)) ?? {};
    try {
      c.set('body', check(c.get('target'), raw));
    } catch (fault) {
      const earlier = await replayOf(c);
      if (earlier !== undefined) return earlier;
      throw fault;
    }
    await next();
  };
}

/** Takes a body whose schema depends on what the path names or on what was sent. @throws ApiError 422 `validation_error` */
export function bodyFor<Target, Schema extends z.ZodType>(
  choose: (target: Target, raw: JsonObject) => Schema,
): BodyStep<Target, z.output<Schema>> {
  const step = checkBody((target: Target, raw) => parseBody(choose(target, raw), raw) as z.output<Schema>);
  return annotate(step, { bodyFor: choose });
}

/** Takes a body. @throws ApiError 422 `validation_error` with all that is wrong with it */
export function body<Schema extends z.ZodType>(schema: Schema): BodyStep<unknown, z.output<Schema>> {
  return annotate(
    bodyFor(() => schema),
    { body: schema, bodyFor: () => schema },
  );
}

const refuseFields = checkBody((_target, raw): undefined => {
  const [field] = Object.keys(raw);
  if (field === undefined) return;
  const issues = [{ field, message: 'is not a known field' }];
  throw new ApiError('validation_error', 'This request takes no body.', { field, issues });
});

/** Takes nothing, or `{}`. @throws ApiError 422 `validation_error` */
export const noBody = annotate(refuseFields, { body: undefined });
