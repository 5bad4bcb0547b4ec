/** An API document, or a part of one. */
type Json = Readonly<Record<string, unknown>>;
/** What clients send, or what they get: answers, and messages to webhook endpoints. */
type Direction = 'request' | 'answer';

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const partOf = (value: unknown, name: string): Json => (isJson(value) && isJson(value[name]) ? value[name] : {});
const listOf = (value: unknown): unknown[] => (value === undefined ? [] : [value].flat());
const isEmpty = (value: unknown): boolean => isJson(value) && Object.keys(value).length === 0;
const without = (all: readonly unknown[], left: readonly unknown[]): unknown[] =>
  all.filter((one) => !left.includes(one));

function* gone(at: string, old: readonly unknown[], fresh: readonly unknown[]): Generator<string> {
  for (const name of without(old, fresh)) yield `${at}${name} is gone`;
}

/** Words about a schema, and keywords with a rule of their own in `compareForms`. */
const APART =
  /^(?:title|description|deprecated|examples?|x-.*|type|enum|const|properties|required|items|additionalProperties)$/;
const UPPER = /^(?:maximum|exclusiveMaximum|max(?:Length|Items|Properties))$/;
const LOWER = /^(?:minimum|exclusiveMinimum|min(?:Length|Items|Properties))$/;
const FORM = /^(?:pattern|format|default|multipleOf|uniqueItems)$/;

/** Whether a keyword of a schema refuses what the old one took. An unknown keyword must be as it was. */
function isTighter(key: string, old: unknown, fresh: unknown): boolean {
  if (UPPER.test(key)) return fresh !== undefined && Number(old ?? Number.POSITIVE_INFINITY) > Number(fresh);
  if (LOWER.test(key)) return fresh !== undefined && Number(old ?? Number.NEGATIVE_INFINITY) < Number(fresh);
  return JSON.stringify(old) !== JSON.stringify(fresh) && (fresh !== undefined || !FORM.test(key));
}

/** Whether a value of the old type is one of the new type, for what clients send; the other way round for what they get. */
function isOfType(old: unknown, fresh: unknown, direction: Direction): boolean {
  if (old === fresh) return true;
  return direction === 'answer' ? old === undefined : fresh === undefined || (old === 'integer' && fresh === 'number');
}

function follow(document: Json, value: unknown): Json {
  if (!isJson(value)) return {};
  const { $ref, ...rest } = value;
  if (typeof $ref !== 'string') return value;
  return { ...follow(document, $ref.split('/').slice(1).reduce(partOf, document)), ...rest };
}

/** A schema as a list of schemas of one type each. */
function variantsOf(document: Json, schema: unknown): Json[] {
  const { anyOf, oneOf, ...rest } = follow(document, schema);
  const some = listOf(anyOf ?? oneOf).flatMap((one) => variantsOf(document, one));
  if (some.length > 0) return some.map((one) => ({ ...rest, ...one }));
  const { type, ...form } = rest;
  if (!Array.isArray(type)) return [rest];
  const values = 'enum' in form ? { enum: without(listOf(form['enum']), [null]) } : {};
  return type.map((one) => (one === 'null' ? { type: one } : { ...form, ...values, type: one }));
}

/**
 * Compares two API documents by the contract, "Versioning": names, types and status codes stay, and what clients send is taken
 * as before. New operations, fields, values and refusals may come; what is sent back may be longer or larger than before.
 * @returns what breaks clients of the old document, a line each; nothing where the new one only adds
 */
export function brokenBy(oldDocument: object, newDocument: object): string[] {
  const [old, fresh] = [{ ...oldDocument } as Json, { ...newDocument } as Json];
  /** The faults of a named schema, which many operations share. */
  const compared = new Map<string, readonly string[]>();

  function compareSchemas(at: string, one: unknown, other: unknown, direction: Direction): readonly string[] {
    const [name, freshName] = [one, other].map((schema) => (isJson(schema) ? schema['$ref'] : undefined));
    if (typeof name !== 'string' || typeof freshName !== 'string') return compareVariants(at, one, other, direction);
    const place = `${name.slice(name.lastIndexOf('/') + 1)} (${direction})`;
    const key = `${place} ${freshName}`;
    const known = compared.get(key);
    if (known !== undefined) return known;
    // A schema may hold itself.
    compared.set(key, []);
    const faults = compareVariants(place, one, other, direction);
    compared.set(key, faults);
    return faults;
  }

  /** Each of the old forms of a value is held against the new one that it is nearest to. */
  function compareVariants(at: string, one: unknown, other: unknown, direction: Direction): string[] {
    const [before, after] = [variantsOf(old, one), variantsOf(fresh, other)];
    const fits = (was: Json, is: Json): boolean => isOfType(was['type'], is['type'], direction);
    const come = direction === 'answer' ? after.filter((is) => !before.some((was) => fits(was, is))) : [];
    // An answer that is never null any more breaks no client.
    const kept = before.filter(({ type }) => direction === 'request' || type !== 'null');
    return [
      ...come.map(({ type }) => `${at}: the type ${type ?? 'of any value'} is new`),
      ...kept.flatMap((was) => {
        const faults = after.filter((is) => fits(was, is)).map((is) => [...compareForms(at, was, is, direction)]);
        const [nearest] = faults.toSorted((left, right) => left.length - right.length);
        return nearest ?? [`${at}: the type ${was['type'] ?? 'of any value'} is gone`];
      }),
    ];
  }

  /** Two schemas of one type. */
  function* compareForms(at: string, was: Json, is: Json, direction: Direction): Generator<string> {
    const isRequest = direction === 'request';
    const valuesOf = ({ const: only, enum: some }: Json) => (only === undefined ? listOf(some) : [only]);
    const [values, freshValues] = [valuesOf(was), valuesOf(is)];
    if (freshValues.length > 0 || !isRequest) yield* gone(`${at}: the value `, values, freshValues);
    if (isRequest && values.length === 0 && freshValues.length > 0) yield `${at}: other values are refused now`;
    for (const key of new Set([...Object.keys(was), ...Object.keys(is)]))
      if (!APART.test(key) && (isRequest || ![UPPER, LOWER, FORM].some((kind) => kind.test(key))))
        if (isTighter(key, was[key], is[key])) yield `${at}: ${key} is ${JSON.stringify(is[key])} now`;
    const [properties, freshProperties] = [partOf(was, 'properties'), partOf(is, 'properties')];
    yield* gone(`${at}.`, Object.keys(properties), Object.keys(freshProperties));
    for (const [name, property] of Object.entries(properties))
      if (name in freshProperties) yield* compareSchemas(`${at}.${name}`, property, freshProperties[name], direction);
    const [required, freshRequired] = [listOf(was['required']), listOf(is['required'])];
    if (isRequest) for (const name of without(freshRequired, required)) yield `${at}.${name} is required now`;
    else
      for (const name of without(required, freshRequired))
        if (String(name) in freshProperties) yield `${at}.${name} may be absent now`;
    for (const key of ['items', 'additionalProperties']) {
      const [rest = {}, freshRest = {}] = [was[key], is[key]].map((any) => (any === true ? {} : any));
      if (rest === false || isEmpty(isRequest ? freshRest : rest)) continue;
      if (freshRest === false) yield `${at}: fields without a name are refused now`;
      else yield* compareSchemas(`${at}[]`, rest, freshRest, direction);
    }
  }

  function* compareContents(at: string, was: unknown, is: unknown, direction: Direction): Generator<string> {
    const [types, freshTypes] = [partOf(was, 'content'), partOf(is, 'content')];
    yield* gone(`${at}: `, Object.keys(types), Object.keys(freshTypes));
    for (const type of Object.keys(types).filter((name) => name in freshTypes))
      yield* compareSchemas(at, partOf(types, type)['schema'], partOf(freshTypes, type)['schema'], direction);
  }

  function* compareParameters(at: string, was: Json, is: Json): Generator<string> {
    const read = (document: Json, operation: Json): Map<string, Json> =>
      new Map(
        listOf(operation['parameters'])
          .map((parameter) => follow(document, parameter))
          .map((parameter) => [`${parameter['in']} parameter ${parameter['name']}`, parameter]),
      );
    const [parameters, freshParameters] = [read(old, was), read(fresh, is)];
    yield* gone(`${at}: `, [...parameters.keys()], [...freshParameters.keys()]);
    for (const [name, { required, schema }] of freshParameters) {
      const known = parameters.get(name);
      if (required === true && known?.['required'] !== true) yield `${at}: ${name} is required now`;
      if (known !== undefined) yield* compareSchemas(`${at}, ${name}`, known['schema'], schema, 'request');
    }
  }

  function* compareOperations(at: string, was: Json, is: Json): Generator<string> {
    yield* gone(`${at}: operation `, [was['operationId']], [is['operationId']]);
    const [keys, freshKeys] = [was, is].map(({ security }) => listOf(security).length > 0);
    const [scopes = [], freshScopes = []] = [was, is].map((operation) => listOf(operation['x-required-scope']));
    if (freshKeys && !keys) yield `${at} needs a key now`;
    else if (freshScopes.length > 0 && (scopes.length === 0 || without(scopes, freshScopes).length > 0))
      yield `${at} needs another scope now`;
    yield* compareParameters(at, was, is);
    const [body, freshBody] = [partOf(was, 'requestBody'), partOf(is, 'requestBody')];
    if (freshBody['required'] === true && body['required'] !== true) yield `${at} needs a body now`;
    yield* compareContents(`${at}, body`, body, freshBody, 'request');
    const [answers, freshAnswers] = [partOf(was, 'responses'), partOf(is, 'responses')];
    yield* gone(`${at}: `, Object.keys(answers), Object.keys(freshAnswers));
    for (const status of Object.keys(answers).filter((name) => name in freshAnswers)) {
      const [answer, given] = [follow(old, answers[status]), follow(fresh, freshAnswers[status])];
      for (const kind of ['x-codes', 'x-reasons'])
        yield* gone(`${at}, ${status}: ${kind.slice(2)} `, listOf(answer[kind]), listOf(given[kind]));
      const [headers, freshHeaders] = [partOf(answer, 'headers'), partOf(given, 'headers')];
      yield* gone(`${at}, ${status}: `, Object.keys(headers), Object.keys(freshHeaders));
      yield* compareContents(`${at}, ${status}`, answer, given, 'answer');
    }
  }

  function* compare(): Generator<string> {
    const [names, freshNames] = [old, fresh].map((one) => Object.keys(partOf(partOf(one, 'components'), 'schemas')));
    yield* gone('schema ', names ?? [], freshNames ?? []);
    for (const [path, methods] of Object.entries(partOf(old, 'paths')))
      for (const [method, operation] of Object.entries(methods as Json)) {
        const [at, is] = [`${method.toUpperCase()} ${path}`, partOf(partOf(fresh, 'paths'), path)[method]];
        if (isJson(is)) yield* compareOperations(at, operation as Json, is);
        else yield `${at} is gone`;
      }
    const [messages, freshMessages] = [partOf(old, 'webhooks'), partOf(fresh, 'webhooks')];
    yield* gone('message ', Object.keys(messages), Object.keys(freshMessages));
    for (const type of Object.keys(messages).filter((name) => name in freshMessages)) {
      const [was, is] = [messages, freshMessages].map((all) => partOf(partOf(all, type), 'post')['requestBody']);
      yield* compareContents(`message ${type}`, was, is, 'answer');
    }
  }

  return [...new Set(compare())];
}
