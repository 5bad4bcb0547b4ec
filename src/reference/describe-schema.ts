import { z } from 'zod';

/** A JSON Schema (2020-12) as a plain value. */
export type JsonSchema = { [key: string]: unknown };

/** Replaces the schema of a field by the field's metadata `shownAs`, which describes checks that JSON Schema cannot express. */
function replaceShown(json: JsonSchema): void {
  const { shownAs } = json;
  if (shownAs === undefined) return;
  for (const key of Object.keys(json)) delete json[key];
  Object.assign(json, shownAs);
}

export const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Turns `anyOf: [X, null]` into `type: [X, 'null']`, which reads better, if X is a plain type. */
function mergeNull(json: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = json;
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return json;
  const [first, second] = anyOf.filter(isObject);
  if (first === undefined || second?.['type'] !== 'null' || typeof first['type'] !== 'string') return json;
  const { const: only, ...plain } = first;
  const values = only === undefined ? plain['enum'] : [only];
  return {
    ...plain,
    type: [first['type'], 'null'],
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
    ...rest,
  };
}

/** Removes keywords that zod adds and no reader needs. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).flatMap(([key, item]): [string, unknown][] => {
    if (key === 'readOnly' || key === '$schema') return [];
    if ((key === 'maximum' || key === 'minimum') && Math.abs(Number(item)) === Number.MAX_SAFE_INTEGER) return [];
    if (key === '$ref' && typeof item === 'string') return [[key, item.replace('#/$defs/', '#/components/schemas/')]];
    // These keywords contain values, not schemas.
    if (key === 'examples' || key === 'default' || key === 'enum' || key === 'const') return [[key, item]];
    return [[key, tidy(item)]];
  });
  return mergeNull(Object.fromEntries(entries));
}

/** Leaves objects of answers open, because later versions may add fields (contract, "Versioning"). Bodies refuse unknown fields. */
function openObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(openObjects);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, item]) => !(key === 'additionalProperties' && item === false))
      .map(([key, item]) => [key, key === 'examples' ? item : openObjects(item)]),
  );
}

type Named = Map<string, JsonSchema>;

function addNamed(named: Named, name: string, json: JsonSchema): void {
  const known = named.get(name);
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(json))
    throw new Error(`two parts of the document are called ${name}`);
  named.set(name, json);
}

const inOrder = (named: Named): Record<string, JsonSchema> =>
  Object.fromEntries([...named].sort(([left], [right]) => (left < right ? -1 : 1)));

/** Collects the named schemas and responses of a document while its operations are described. */
export class SchemaBook {
  readonly #components: Named = new Map();
  readonly #responses: Named = new Map();

  /** The schema of values before parsing, as requests send them. */
  describeInput(schema: z.ZodType): JsonSchema {
    return this.#describe(schema, 'input');
  }

  describeOutput(schema: z.ZodType): JsonSchema {
    return this.#describe(schema, 'output');
  }

  /** Adds a schema under a name. @returns a reference to it. @throws Error if the name belongs to another schema */
  name(name: string, json: JsonSchema): JsonSchema {
    addNamed(this.#components, name, json);
    return { $ref: `#/components/schemas/${name}` };
  }

  /** The named schemas, in alphabetical order. */
  components(): Record<string, JsonSchema> {
    return inOrder(this.#components);
  }

  /** Adds a response under a name. @returns a reference to it. @throws Error if the name belongs to another response */
  nameResponse(name: string, json: JsonSchema): JsonSchema {
    addNamed(this.#responses, name, json);
    return { $ref: `#/components/responses/${name}` };
  }

  /** The named responses, in alphabetical order. */
  responses(): Record<string, JsonSchema> {
    return inOrder(this.#responses);
  }

  #describe(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    // Wrap the schema in an object: otherwise zod would not refer to the outermost schema by its name.
    const json = z.toJSONSchema(z.object({ it: schema }), {
      io,
      target: 'draft-2020-12',
      override: ({ jsonSchema }) => replaceShown(jsonSchema as JsonSchema),
    });
    const whole = (io === 'output' ? openObjects(tidy(json)) : tidy(json)) as JsonSchema;
    for (const [name, component] of Object.entries((whole['$defs'] ?? {}) as Record<string, JsonSchema>)) {
      const { id: _, ...rest } = component;
      this.name(name, rest);
    }
    return (whole['properties'] as Record<string, JsonSchema>)['it'] ?? {};
  }
}
