import { isDeepStrictEqual } from 'node:util';
import type { MiddlewareHandler } from 'hono';
import { z } from 'zod';
import { validationError } from '#src/platform/errors.ts';
import { replayOf } from './answer-once.ts';
import type { Caller } from './caller.ts';
import type { Env } from './env.ts';
import type { JsonBody, JsonObject } from './json/strict-json.ts';
import { annotate } from './operation.ts';
import { readJsonBody } from './read-body.ts';
import { faultyFields, type Judge, judgeShape, type SoundParts, soundParts } from './sound-parts.ts';

/** Middleware that sets the variable `body` to the validated body. */
export type BodyStep<Target, Body> = MiddlewareHandler<Env & { Variables: { target: Target; body: Body } }>;

/**
 * Validates the body. A refused body may be the retry of a request that succeeded; the answer stored under its Idempotency-Key then
 * replaces the error. A refused body never claims a key (completions 1.6).
 */
function checkBody<Target, Body>(
  check: (target: Target, sent: JsonBody, caller: Caller) => Promise<Body>,
): BodyStep<Target, Body> {
  return async (c, next) => {
    const sent = (await readJsonBody(c)) ?? { value: {}, faults: [] };
    try {
      c.set('body', await check(c.get('target'), sent, c.get('caller')));
    } catch (fault) {
      const earlier = await replayOf(c);
      if (earlier !== undefined) return earlier;
      throw fault;
    }
    await next();
  };
}

type Show<Target> = (target: Target) => object | Promise<object>;

/** Drops read-only fields with unchanged values: a client may send back what it has read (completions 3, rule 4). */
function withoutShown(schema: z.ZodType, sent: JsonObject, shown: object): JsonObject {
  const known = schema instanceof z.ZodObject ? schema.shape : {};
  const stands = new Map(Object.entries(JSON.parse(JSON.stringify(shown))));
  const isSentBack = (name: string): boolean =>
    !Object.hasOwn(known, name) && stands.has(name) && isDeepStrictEqual(sent[name], stands.get(name));
  return Object.fromEntries(Object.entries(sent).filter(([name]) => !isSentBack(name)));
}

/**
 * Validates a body whose schema depends on the target or on the body itself.
 * @param judge finds faults of the values; called only if the shape is refused, so that one answer names all faults
 * @param show for a change: the resource as a read shows it (see `withoutShown`); called only if the shape is refused
 * @throws ApiError 422 `validation_error` with all faults of the body
 */
export function bodyFor<Target, Schema extends z.ZodType>(
  choose: (target: Target, raw: JsonObject) => Schema,
  judge?: Judge<Target, z.output<Schema>>,
  show?: Show<Target>,
): BodyStep<Target, z.output<Schema>> {
  const step = checkBody(async (target: Target, sent, caller): Promise<z.output<Schema>> => {
    const { faults, judged } = sent;
    let { value } = sent;
    const schema = choose(target, value);
    let { issues, value: data } = judged ?? judgeShape(schema, sent);
    if (issues.length > 0 && judged === undefined && show !== undefined) {
      value = withoutShown(schema, value, await show(target));
      ({ issues, value: data } = judgeShape(schema, { value, faults }));
    }
    if (issues.length === 0) return data as z.output<Schema>;
    const isFaulty = faultyFields(issues);
    if (judge === undefined) throw validationError(issues);
    const sound = soundParts(schema, value, faults) as SoundParts<z.output<Schema>>;
    const others = await judge(target, sound, isFaulty, caller);
    throw validationError([...issues, ...others.filter(({ field }) => !isFaulty(field))]);
  });
  return annotate(step, { bodyFor: choose });
}

/** Validates a body. @throws ApiError 422 `validation_error` with all faults of the body */
export function body<Schema extends z.ZodType, Target = unknown>(
  schema: Schema,
  judge?: Judge<Target, z.output<Schema>>,
  show?: Show<Target>,
): BodyStep<Target, z.output<Schema>> {
  return annotate(
    bodyFor(() => schema, judge, show),
    { body: schema, bodyFor: () => schema },
  );
}

const nothing = z.strictObject({});
const takeNothing = bodyFor(() => nothing);

/** Accepts no body, or `{}`. @throws ApiError 422 `validation_error` */
export const noBody = annotate(takeNothing, { body: undefined });

/** Validates a body that may be left out, which counts as `{}`. @throws ApiError 422 `validation_error` */
export const optionalBody = <Schema extends z.ZodType>(schema: Schema) =>
  annotate(
    bodyFor(() => schema),
    { body: schema },
  );
