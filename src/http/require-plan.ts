import type { MiddlewareHandler } from 'hono';
import type { Env } from './env.ts';
import type { JsonObject } from './json/strict-json.ts';
import { readJsonBody } from './read-body.ts';

/**
 * Asks what the plan must allow for the body that was sent, before the body is judged (completions 1.6).
 * @param check @throws ApiError 403 `plan_feature`
 */
export function requirePlan<Target>(
  check: (target: Target, raw: JsonObject) => void,
): MiddlewareHandler<Env & { Variables: { target: Target } }> {
  return async (c, next) => {
    check(c.get('target'), (await readJsonBody(c))?.value ?? {});
    await next();
  };
}
