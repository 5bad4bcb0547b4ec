import type { JsonSchema } from './describe-schema.ts';

const REHEARSAL = {
  type: 'boolean',
  const: true,
  description: 'The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.',
};

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const propertyOf = (schema: unknown, name: string): unknown =>
  isObject(schema) && isObject(schema['properties']) ? schema['properties'][name] : undefined;

/** Adds the mark of a rehearsal to every object that a schema may stand for (completions 10.5). */
function allow(schema: unknown, components: Readonly<Record<string, JsonSchema>>): void {
  if (!isObject(schema)) return;
  const { $ref, anyOf, oneOf, properties } = schema;
  if (typeof $ref === 'string') allow(components[$ref.slice($ref.lastIndexOf('/') + 1)], components);
  for (const choice of [anyOf, oneOf].flat()) allow(choice, components);
  if (isObject(properties)) schema['properties'] = { ...properties, rehearsal: REHEARSAL };
}

/**
 * Says of the answers of public operations, and of messages to webhook endpoints, that their `data` may be marked.
 * @param bodies schemas of whole answers and messages: what is under `data` is changed in place
 */
export function allowRehearsal(bodies: readonly unknown[], components: Readonly<Record<string, JsonSchema>>): void {
  for (const body of bodies) allow(propertyOf(body, 'data'), components);
}
