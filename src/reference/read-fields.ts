import { isObject, type JsonSchema } from './describe-schema.ts';
import { nameOfReference } from './document-shape.ts';

type Schemas = Readonly<Record<string, JsonSchema>>;

/** Levels of nested objects that are shown; a deeper object is shown by its name alone. */
const DEEPEST = 6;

interface Named {
  readonly schema: JsonSchema;
  readonly name: string | undefined;
}

const schemasOf = (value: unknown): JsonSchema[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Follows a `$ref`. Keywords beside the `$ref` describe this use of the schema, and override the keywords of its target. */
function resolve(schema: JsonSchema, schemas: Schemas): Named {
  const { $ref, ...beside } = schema;
  if (typeof $ref === 'string') {
    const name = nameOfReference($ref);
    return { schema: { ...schemas[name], ...beside }, name };
  }
  const { anyOf, ...rest } = schema;
  const [first, second] = schemasOf(anyOf);
  if (first === undefined || second?.['type'] !== 'null') return { schema, name: undefined };
  const { schema: found, name } = resolve(first, schemas);
  return { schema: { ...found, ...rest, orNull: true }, name };
}

function typeText({ schema, name }: Named, schemas: Schemas): string {
  const { type, items, const: only, enum: values } = schema;
  const orNull = schema['orNull'] === true ? ' or null' : '';
  if (name !== undefined && type !== 'array') return name + orNull;
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' · ');
  if (type === 'array') return `array of ${isObject(items) ? manyText(resolve(items, schemas), schemas) : 'anything'}`;
  if (Array.isArray(type)) return type.join(' or ');
  const choices = schemasOf(schema['oneOf'] ?? schema['anyOf']);
  if (choices.length > 0)
    return choices.map((choice) => typeText(resolve(choice, schemas), schemas)).join(' or ') + orNull;
  return (typeof type === 'string' ? type : 'any value') + orNull;
}

/** The type of an array's entries in the plural: `strings`, `Voter` */
function manyText(named: Named, schemas: Schemas): string {
  const text = typeText(named, schemas);
  return /^(string|integer|number|object)$/.test(text) ? `${text}s` : text;
}

const LIMITS: readonly (readonly [string, (value: unknown) => string])[] = [
  ['minimum', (value) => `at least ${value}`],
  ['exclusiveMinimum', (value) => `more than ${value}`],
  ['maximum', (value) => `at most ${value}`],
  ['minLength', (value) => `at least ${value} character${value === 1 ? '' : 's'}`],
  ['maxLength', (value) => `at most ${value} characters`],
  ['minItems', (value) => `at least ${value} entr${value === 1 ? 'y' : 'ies'}`],
  ['maxItems', (value) => `at most ${value} entries`],
  ['default', (value) => `default ${JSON.stringify(value)}`],
];

const limitText = (schema: JsonSchema): string =>
  LIMITS.flatMap(([key, words]) => (schema[key] === undefined ? [] : [words(schema[key])])).join(', ');

function objectWithin(named: Named, schemas: Schemas): JsonSchema | undefined {
  const { schema } = named;
  if (isObject(schema['properties']) || schema['oneOf'] !== undefined) return schema;
  return isObject(schema['items']) ? objectWithin(resolve(schema['items'], schemas), schemas) : undefined;
}

export interface Field {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  /** Limits such as `at most 60 entries`; empty if there are none. */
  readonly limits: string;
  readonly description: string | undefined;
  /** Fields of the object in this field, if it contains one; one list for each choice if it contains one of several objects. */
  readonly within: readonly FieldList[];
}

export type FieldList = readonly Field[];

function listsOf(schema: JsonSchema, schemas: Schemas, depth: number): FieldList[] {
  const choices = schemasOf(schema['oneOf'] ?? schema['anyOf']);
  if (choices.length > 0) return choices.flatMap((choice) => listsOf(resolve(choice, schemas).schema, schemas, depth));
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  const fields = Object.entries(properties).filter((entry): entry is [string, JsonSchema] => isObject(entry[1]));
  return [fields.map(([name, field]) => readField(name, field, required.has(name), schemas, depth))];
}

function readField(name: string, field: JsonSchema, required: boolean, schemas: Schemas, depth: number): Field {
  const named = resolve(field, schemas);
  const { description } = named.schema;
  const within = depth < DEEPEST ? objectWithin(named, schemas) : undefined;
  return {
    name,
    required,
    type: typeText(named, schemas),
    limits: limitText(named.schema),
    description: typeof description === 'string' ? description : undefined,
    within: within === undefined ? [] : listsOf(within, schemas, depth + 1),
  };
}

/** The fields of a body or an answer; one list for each choice if it is one of several objects. */
export function readFields(schema: JsonSchema, schemas: Schemas): FieldList[] {
  const within = objectWithin(resolve(schema, schemas), schemas);
  return within === undefined ? [] : listsOf(within, schemas, 0);
}

export function readType(schema: JsonSchema, schemas: Schemas): string {
  const named = resolve(schema, schemas);
  return [typeText(named, schemas), limitText(named.schema)].filter((text) => text !== '').join(', ');
}

export const schemaName = (schema: JsonSchema | undefined): string | undefined =>
  typeof schema?.['$ref'] === 'string' ? nameOfReference(schema['$ref']) : undefined;
