import type { z } from 'zod';
import type { AnswerShape } from '#src/http/answer-shapes.ts';
import { reasonAnchor } from '#src/http/errors.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { isChange, type Operation } from '#src/http/operation.ts';
import { hasReason, REFUSALS, type RefusalCase, reasonOf } from '#src/http/refusals.ts';
import type { ErrorCode } from '#src/platform/errors.ts';
import { STATUS_BY_CODE } from '#src/platform/errors.ts';
import { sectionOf } from './api-sections.ts';
import type { JsonSchema, SchemaBook } from './describe-schema.ts';

const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  idOrCode: 'The ID or the code of a voting event.',
  id: 'An ID.',
  page: 'The name of a page.',
  file: 'The name of the file: with the version of the SDK.',
  tile: 'The path of a tile, slashes included.',
};

const ANSWER_HEADERS = ['X-Request-Id'];
const KEYED_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** `/voters/:id` → `/voters/{id}` */
export const documentPath = (path: string): string => path.replaceAll(/:(\w+)(\{\.\+\})?/g, '{$1}');

const scopesOf = (route: Operation): string[] =>
  route.scope === 'none' || route.scope === 'any' ? [] : [route.scope].flat();

const isKeyed = (route: Operation): boolean => route.scope !== 'none';
const isPost = (route: Operation): boolean => route.method === 'POST' && isKeyed(route);

function commonRefusals(route: Operation): RefusalCase[] {
  return [
    ...(route.path.includes(':') ? (['not_found'] as const) : []),
    'rate_limited',
    ...(route.unlimited === true ? [] : (['overloaded'] as const)),
    ...(isKeyed(route) ? (['too_many_at_once'] as const) : []),
    ...(isChange(route) ? (['busy'] as const) : []),
    ...(isPost(route) ? (['idempotency_in_progress'] as const) : []),
    ...(route.role !== 'viewer' && route.path.includes('/voting-events/:idOrCode') ? (['role'] as const) : []),
    ...(isKeyed(route) ? (['rows_disagree'] as const) : []),
  ];
}

function commonCodes(route: Operation): ErrorCode[] {
  const writes = route.method !== 'GET' && route.method !== 'DELETE';
  return [
    'bad_request',
    ...(isKeyed(route) ? (['unauthorized'] as const) : []),
    ...(scopesOf(route).length > 0 ? (['insufficient_scope'] as const) : []),
    ...(writes ? (['validation_error'] as const) : []),
    ...(isPost(route) ? (['idempotency_mismatch'] as const) : []),
    'internal',
  ];
}

function refusalsOf(route: Operation): Map<number, { codes: ErrorCode[]; cases: RefusalCase[] }> {
  const byStatus = new Map<number, { codes: ErrorCode[]; cases: RefusalCase[] }>();
  const at = (status: number) => byStatus.getOrInsert(status, { codes: [], cases: [] });
  const add = (code: ErrorCode): void => {
    const { codes } = at(STATUS_BY_CODE[code]);
    if (!codes.includes(code)) codes.push(code);
  };
  for (const code of commonCodes(route)) add(code);
  for (const name of new Set([...commonRefusals(route), ...(route.refusals ?? [])])) {
    const { code } = REFUSALS[name];
    add(code);
    if (hasReason(name)) at(STATUS_BY_CODE[code]).cases.push(name);
  }
  return new Map([...byStatus].sort(([left], [right]) => left - right));
}

export const CODE_WORDS: Readonly<Record<ErrorCode, string>> = {
  bad_request: 'The URL, a query parameter or a header is wrong.',
  unauthorized: 'The key is missing, invalid, revoked or expired.',
  insufficient_scope: 'The key lacks the scope that this operation needs.',
  forbidden: 'The owner of the key may not do this.',
  not_found: REFUSALS.not_found.when,
  conflict: 'What exists already conflicts with the request.',
  validation_error: 'The body is wrong: `details.issues` names every field.',
  idempotency_mismatch: 'The Idempotency-Key was used with another request.',
  plan_limit: REFUSALS.plan_limit.when,
  rate_limited: REFUSALS.rate_limited.when,
  internal: 'The request could not be completed. Retry with backoff.',
};

/** Statuses of answers that may be replayed for an Idempotency-Key. */
const REPLAYED = new Set([200, 201, 202, 204, 402, 403, 404, 409, 422]);

function headersOf(route: Operation, status: number, own: Readonly<Record<string, string>> = {}): JsonSchema {
  const names = [
    ...ANSWER_HEADERS,
    ...(isKeyed(route) && status !== 401 && status !== 500 ? KEYED_HEADERS : []),
    ...(status === 429 || status === 500 ? ['Retry-After'] : []),
    ...(isPost(route) && REPLAYED.has(status) ? ['Idempotent-Replayed'] : []),
  ];
  return {
    ...Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    ...Object.fromEntries(
      Object.entries(own).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
    ),
  };
}

function describeRefusal(
  route: Operation,
  status: number,
  codes: readonly ErrorCode[],
  cases: readonly RefusalCase[],
  book: SchemaBook,
): JsonSchema {
  const json = refusalBody(route, status, codes, cases);
  if (cases.some((name) => name !== 'overloaded' && name !== 'too_many_at_once')) return json;
  // Many operations have only these common refusals, so they share one named response.
  const words = [...codes, ...cases].map((code) =>
    capitalise(code.replaceAll(/_([a-z])/g, (_match, letter) => letter.toUpperCase())),
  );
  const kind = `${isKeyed(route) ? '' : 'WithoutKey'}${isPost(route) && REPLAYED.has(status) ? 'Replayable' : ''}`;
  return book.nameResponse(`${words.join('Or')}${kind}`, json);
}

/** The schema of an error body. `reason` lists the reasons of the operation; later versions may add reasons. */
function refusalSchema(reasons: readonly string[]): JsonSchema {
  const envelope = { $ref: '#/components/schemas/ErrorEnvelope' };
  if (reasons.length === 0) return envelope;
  const within = (name: string, schema: JsonSchema): JsonSchema => ({
    ...{ type: 'object', properties: { [name]: schema } },
    // This schema lists one property. Linters would take it for a closed schema, but the envelope declares other properties.
    unevaluatedProperties: true,
  });
  const reason = { type: 'string', enum: [...new Set(reasons)] };
  return { allOf: [envelope, within('error', within('details', within('reason', reason)))] };
}

function refusalBody(
  route: Operation,
  status: number,
  codes: readonly ErrorCode[],
  cases: readonly RefusalCase[],
): JsonSchema {
  const [code = 'internal'] = codes;
  const reason = cases[0] !== undefined && REFUSALS[cases[0]].code === code ? reasonOf(cases[0]) : undefined;
  const lines = codes.map((one) => `- \`${one}\`: ${CODE_WORDS[one]}`);
  const reasons = cases.map((name) => `  - reason \`${reasonOf(name)}\`: ${REFUSALS[name].when}`);
  return {
    description: [...lines, ...reasons].join('\n'),
    headers: headersOf(route, status),
    content: {
      'application/json': {
        schema: refusalSchema(cases.map(reasonOf)),
        example: {
          error: {
            code,
            message: CODE_WORDS[code].replaceAll('`', ''),
            ...(reason === undefined ? {} : { details: { reason } }),
            requestId: 'req_3f8a1c0b9d2e',
            docUrl: `https://votes.example/reference/errors#${reason === undefined ? code : reasonAnchor(reason, status)}`,
          },
        },
      },
    },
    // Every code and reason that this answer may have, for programs.
    'x-codes': codes,
    ...(cases.length === 0 ? {} : { 'x-reasons': cases.map(reasonOf) }),
  };
}

export function exampleOf(schema: JsonSchema, components: Readonly<Record<string, JsonSchema>>): unknown {
  const { $ref, examples, properties, type, items, enum: values, const: only } = schema;
  if (typeof $ref === 'string') {
    const named = components[$ref.slice($ref.lastIndexOf('/') + 1)];
    return named === undefined ? undefined : exampleOf(named, components);
  }
  if (Array.isArray(examples)) return examples[0];
  if (only !== undefined) return only;
  if (Array.isArray(values)) return values[0];
  if (type === 'array') return [exampleOf(items as JsonSchema, components)];
  if (type === 'null' || (Array.isArray(type) && type.includes('null'))) return null;
  if (type !== 'object' || properties === undefined) return undefined;
  const entries = Object.entries(properties as Record<string, JsonSchema>).map(
    ([name, property]): [string, unknown] => [name, exampleOf(property, components)],
  );
  return entries.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(entries);
}

function describeAnswer(route: Operation, status: number, shape: AnswerShape, book: SchemaBook): JsonSchema {
  const { description, schema, contentType, example } = shape;
  const head = { description, headers: headersOf(route, status, shape.headers) };
  if (contentType !== undefined) {
    const bodyOf = (type: string): JsonSchema => {
      if (type === 'application/json') return { example };
      return type.startsWith('application/') ? {} : { schema: { type: 'string' } };
    };
    return { ...head, content: Object.fromEntries([contentType].flat().map((type) => [type, bodyOf(type)])) };
  }
  if (schema === undefined) return head;
  const json = book.describeOutput(schema);
  const shown = example ?? exampleOf(json, book.components());
  return {
    ...head,
    content: { 'application/json': { schema: json, ...(shown === undefined ? {} : { example: shown }) } },
  };
}

function describeQuery(query: z.ZodType, book: SchemaBook): JsonSchema[] {
  const { properties = {}, required = [] } = book.describeInput(query);
  return Object.entries(properties as Record<string, JsonSchema>).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: (required as string[]).includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
    ...((required as string[]).includes(name) ? exampleParameter(undefined, name) : {}),
  }));
}

function describePath(route: Operation): JsonSchema[] {
  const section = sectionOf(route.path)?.name;
  return [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: PATH_PARAMETERS[name] ?? `The ${name.replaceAll(/([A-Z])/g, ' $1').toLowerCase()}.`,
    schema: { type: 'string' },
    ...(route.path.includes(`:${name}{.+}`) ? { 'x-rest-of-path': true } : {}),
    ...exampleParameter(section, name),
  }));
}

/** The example of the parameter `:id`, by section. */
const EXAMPLE_IDS: Readonly<Record<string, string>> = {
  Positions: EXAMPLE.position,
  Candidates: EXAMPLE.candidate,
  Groups: EXAMPLE.group,
  Sponsors: EXAMPLE.sponsor,
  'Mails to voters': EXAMPLE.notification,
  Letters: EXAMPLE.letters,
  Voters: EXAMPLE.voter,
  Payments: EXAMPLE.payment,
  Collaboration: EXAMPLE.invite,
  'Webhook endpoints': EXAMPLE.endpoint,
};

/** Examples of parameters that mean the same in every path. */
const EXAMPLE_PARAMETERS: Readonly<Record<string, string | number>> = {
  idOrCode: EXAMPLE.eventCode,
  deliveryId: EXAMPLE.delivery,
  businessId: EXAMPLE.business,
  provider: EXAMPLE.provider,
  positionId: EXAMPLE.position,
  visitorId: EXAMPLE.visitor,
  token: EXAMPLE.downloadToken,
  page: 'first-vote',
  file: 'voting-service-1.0.0.tgz',
  tile: 'entries/000.p/1',
  from: 1,
  to: 1,
};

function exampleParameter(section: string | undefined, name: string): JsonSchema {
  const example = name === 'id' ? EXAMPLE_IDS[section ?? ''] : EXAMPLE_PARAMETERS[name];
  return example === undefined ? {} : { example };
}

function keySentence(route: Operation): string {
  const scopes = scopesOf(route);
  if (!isKeyed(route)) return 'Takes no key.';
  if (scopes.length === 0) return 'Takes any key.';
  const role =
    route.role === 'viewer' || !route.path.includes('/voting-events/:idOrCode') ? '' : ROLE_WORDS[route.role];
  const open = route.keyless === true ? ', and no key where `log.open` of the event is `true`' : '';
  return `Takes a key with the scope ${scopes.map((name) => `\`${name}\``).join(' or ')}${role}${open}.`;
}

const ROLE_WORDS: Readonly<Record<'editor' | 'owner', string>> = {
  editor: ', of the account that owns the event or was invited to it as an editor',
  owner: ', of the account that owns the event',
};

function describeBody(route: Operation, book: SchemaBook): JsonSchema | undefined {
  if (route.bytes === true) return { required: true, content: { 'application/json': { schema: { type: 'object' } } } };
  if (route.body !== undefined) {
    const schema = book.name(`${capitalise(route.operationId)}Input`, book.describeInput(route.body));
    const required = route.bodyFor !== undefined;
    return { required, content: { 'application/json': { schema, example: route.example } } };
  }
  const bodies = Object.entries(route.bodies ?? {});
  if (bodies.length === 0) return undefined;
  const oneOf = bodies.map(([name, { schema, summary }]) =>
    book.name(name, { description: summary, ...book.describeInput(schema) }),
  );
  const examples = Object.fromEntries(
    bodies.map(([name, { summary, example }]) => [name, { summary, value: example }]),
  );
  return { required: true, content: { 'application/json': { schema: { oneOf }, examples } } };
}

/** An operation that only redirects has no 2XX answer, so generators and linters demand a default. */
function elsewhere(route: Operation): JsonSchema {
  if (Object.keys(route.answers).some((status) => status.startsWith('2'))) return {};
  return { default: { description: 'Nothing else but the refusals above.' } };
}

export function describeOperation(route: Operation, book: SchemaBook): JsonSchema {
  const scopes = scopesOf(route);
  const requestBody = describeBody(route, book);
  const parameters = [
    ...describePath(route),
    ...(route.query === undefined ? [] : describeQuery(route.query, book)),
    ...(isPost(route) ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
  ];
  const answers = Object.entries(route.answers).map(([status, shape]): [string, unknown] => [
    status,
    describeAnswer(route, Number(status), shape, book),
  ]);
  const refusals = [...refusalsOf(route)].map(([status, { codes, cases }]): [string, unknown] => [
    String(status),
    describeRefusal(route, status, codes, cases, book),
  ]);
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: [...(route.description === undefined ? [] : [route.description]), keySentence(route)].join('\n\n'),
    tags: [sectionOf(route.path)?.name ?? 'Service'],
    // `x-required-scope` names the scope, because linters and generators accept scopes in `security` only for OAuth.
    security: isKeyed(route) ? [{ bearer: [] }, ...(route.keyless === true ? [{}] : [])] : [],
    ...(scopes.length > 0 ? { 'x-required-scope': scopes.length === 1 ? scopes[0] : scopes } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(requestBody === undefined ? {} : { requestBody }),
    responses: { ...Object.fromEntries([...answers, ...refusals]), ...elsewhere(route) },
  };
}
