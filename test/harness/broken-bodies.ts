/** Bodies and parameters with one thing wrong, made from the shapes of the API document. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** A place of a body: the names that lead to it, `0` for the first entry of a list. */
export interface Place {
  readonly names: readonly string[];
  readonly schema: Schema;
  /** Whether it must be there, or must not: no shape knows it. */
  readonly kind: 'required' | 'optional' | 'unknown';
}

/** What a field may be sent as by a program that has another idea of it. */
export const OTHER_FORMS = [null, true, -1.5, 'x', [], [null], [[]], [{}], {}, { length: 1 }];
/** Writes a figure as it stands. */
export const figure = (text: string): unknown => Reflect.get(JSON, 'rawJSON')(text);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const typesOf = (value: unknown): readonly string[] => {
  if (typeof value === 'number') return Number.isInteger(value) ? ['integer', 'number'] : ['number'];
  return [value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value];
};

/** Values of a text, by its format or its pattern. */
const TEXTS: Readonly<Record<string, string>> = {
  email: 'sample@club.example',
  uri: 'https://club.example/sample',
  '^[a-z]{3}$': 'usd',
  '^[A-Za-z]{2}$': 'NZ',
  '^[A-Za-z0-9]{6,12}$': 'SAMPLE01',
  '^vi_[0-9a-fA-F]{16,128}$': 'vi_0123456789abcdef',
};
const UNKNOWN_FIELD = 'noSuchField';

/** How a value can be wrong, and the values that are so: each for this one reason. `all` is what the value may be instead. */
const BREAKS: Readonly<Record<string, (schema: Schema, all: readonly Schema[], shapes: Shapes) => readonly unknown[]>> =
  {
    'of another type': (_, all) => {
      const taken = all.flatMap(({ type, const: only }) => (only === undefined ? (type ?? []) : typesOf(only)));
      return taken.length === 0
        ? []
        : OTHER_FORMS.filter((form) => !typesOf(form).some((type) => taken.includes(type)));
    },
    'no word of the list': (schema) => (schema.enum === undefined ? [] : ['no such word']),
    'another constant': ({ const: only }) =>
      only === undefined ? [] : [typeof only === 'number' ? only + 1 : `${only}x`],
    'below its least': ({ minimum, exclusiveMinimum }) =>
      [minimum === undefined ? [] : minimum - 1, exclusiveMinimum ?? []].flat(),
    'above its most': ({ maximum }) => (maximum === undefined ? [] : [maximum + 1]),
    'no whole number': ({ type }) => ([type].flat().includes('integer') ? [1.5] : []),
    'long digits': ({ type }) =>
      [type].flat().some((one) => one === 'integer' || one === 'number')
        ? [figure('1'.repeat(41)), figure(`0.${'1'.repeat(41)}`)]
        : [],
    'too short': ({ minLength }) => (minLength === undefined ? [] : ['']),
    'too long': ({ maxLength }) => (maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)]),
    'of another form': ({ format, pattern }) => (format === undefined && pattern === undefined ? [] : ['no such form']),
    'no text that can be kept': ({ type }) =>
      [type].flat().includes('string') ? ['a\u0000b', 'a\ud800b', '\udc00'] : [],
    'too few': ({ minItems }) => (minItems === undefined ? [] : [[]]),
    'too many': ({ maxItems, items }, _, shapes) =>
      maxItems === undefined || items === undefined
        ? []
        : [Array.from({ length: maxItems + 1 }, () => shapes.sample(items))],
  };

/** The shapes of a document. */
export class Shapes {
  readonly #named: Readonly<Record<string, Schema>>;

  constructor(named: Readonly<Record<string, Schema>>) {
    this.#named = named;
  }

  /** The alternatives of a shape (`anyOf`, `oneOf`), with references resolved; a shape without alternatives is its only one. */
  #all(schema: Schema): readonly Schema[] {
    if (schema.$ref !== undefined) return this.#all(this.#named[schema.$ref.split('/').at(-1) ?? ''] ?? {});
    const several = schema.anyOf ?? schema.oneOf;
    return several === undefined ? [schema] : several.flatMap((one) => this.#all(one));
  }

  #inside(schema: Schema, name: string): readonly [around: Schema, part: Schema] {
    const all = this.#all(schema);
    const around = all.find(({ items, properties }) => (name === '0' ? items : properties?.[name]) !== undefined);
    const part = name === '0' ? around?.items : around?.properties?.[name];
    return [around ?? all.find(({ properties }) => properties !== undefined) ?? {}, part ?? {}];
  }

  /** Every place of a body that its shape knows, and one in each of its objects that it does not know. */
  places(schema: Schema, above: readonly string[] = []): Place[] {
    const at = (name: string, part: Schema, kind: Place['kind']): Place[] => {
      const names = [...above, name];
      return [{ names, schema: part, kind }, ...this.places(part, names)];
    };
    return this.#all(schema).flatMap(({ properties, required = [], items }) => [
      ...Object.entries(properties ?? {}).flatMap(([name, part]) =>
        at(name, part, required.includes(name) ? 'required' : 'optional'),
      ),
      ...(properties === undefined ? [] : at(UNKNOWN_FIELD, {}, 'unknown')),
      ...(items === undefined ? [] : at('0', items, 'optional')),
    ]);
  }

  /** A value of a shape, with no more than it demands. */
  sample(schema: Schema): unknown {
    const {
      const: only,
      enum: words,
      default: usual,
      type,
      properties,
      required = [],
      ...of
    } = this.#all(schema)[0] ?? {};
    if (only !== undefined || words !== undefined) return only ?? words?.[0];
    const [kind] = [type].flat();
    if (usual !== undefined && kind !== 'object') return usual;
    if (kind === 'object')
      return Object.fromEntries(required.map((name) => [name, this.sample(properties?.[name] ?? {})]));
    if (kind === 'array') return [this.sample(of.items ?? {})];
    if (kind === 'string') return TEXTS[of.format ?? of.pattern ?? ''] ?? 'sample';
    return kind === 'boolean' ? true : Math.max(of.minimum ?? 1, 1);
  }

  /** A copy of a body with another value at a place; what lacks on the way there is made. @param value undefined leaves it out */
  put(body: unknown, schema: Schema, [name, ...rest]: readonly string[], value: unknown): unknown {
    if (name === undefined) return value;
    const [around, part] = this.#inside(schema, name);
    if (name === '0') {
      const [first, ...others] = Array.isArray(body) ? body : [];
      return [this.put(first, part, rest, value), ...others];
    }
    const whole = isObject(body) ? body : (this.sample(around) as Readonly<Record<string, unknown>>);
    return { ...whole, [name]: this.put(whole[name], part, rest, value) };
  }

  /** Every way in which what stands at a place can be wrong, and a value that is: undefined where it is left out. */
  breaks({ schema, kind }: Place): (readonly [how: string, value: unknown])[] {
    if (kind === 'unknown') return [['unknown', 1]];
    const all = this.#all(schema);
    const wrong = Object.entries(BREAKS).flatMap(([how, valuesOf]) =>
      // Of what may have several shapes, one bound does not bind the others.
      (how === 'of another type' ? all.slice(0, 1) : all.length > 1 ? [] : all).flatMap((one) =>
        valuesOf(one, all, this).map((value) => [how, value] as const),
      ),
    );
    return kind === 'required' ? [['left out', undefined], ...wrong] : wrong;
  }
}

/** `votes[0].rank`, as errors name a place. */
export const fieldOf = (names: readonly string[]): string =>
  names.map((name, at) => (name === '0' ? '[0]' : at === 0 ? name : `.${name}`)).join('');
