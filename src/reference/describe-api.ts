import { z } from 'zod';
import { EXAMPLE } from '#src/http/example-values.ts';
import type { Operation } from '#src/http/operation.ts';
import { STATUS_BY_CODE } from '#src/platform/errors.ts';
import { Pauses } from '#src/platform/loop-turns.ts';
import { API_SECTIONS, sectionOf } from './api-sections.ts';
import { describeOperation, documentPath, exampleOf } from './describe-operation.ts';
import { isObject, type JsonSchema, SchemaBook } from './describe-schema.ts';

const REHEARSAL = {
  type: 'boolean',
  const: true,
  description: 'The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.',
};

/** Adds the property `rehearsal` to an object schema, and to all schemas that it refers to or offers as choices (completions 10.5). */
function allow(schema: unknown, components: Readonly<Record<string, JsonSchema>>): void {
  if (!isObject(schema)) return;
  const { $ref, anyOf, oneOf, properties } = schema;
  if (typeof $ref === 'string') allow(components[$ref.slice($ref.lastIndexOf('/') + 1)], components);
  for (const choice of [anyOf, oneOf].flat()) allow(choice, components);
  // An event describes the property itself: keep its description.
  if (isObject(properties)) schema['properties'] = { rehearsal: REHEARSAL, ...properties };
}

/** Lets `data` contain `rehearsal: true`. @param bodies schemas of whole answers and messages, whose `data` is changed in place */
function allowRehearsal(bodies: readonly unknown[], components: Readonly<Record<string, JsonSchema>>): void {
  for (const body of bodies)
    if (isObject(body) && isObject(body['properties'])) allow(body['properties']['data'], components);
}

export interface WebhookMessage {
  readonly type: string;
  readonly description: string;
  readonly data: z.ZodType;
}

interface ApiDescription {
  readonly title: string;
  readonly version: string;
  readonly serverUrl: string;
  readonly websiteUrl: string;
  readonly referenceUrl: string;
  readonly operations: readonly Operation[];
  readonly messages: readonly WebhookMessage[];
}

const INTRODUCTION = `Elections and polls over a JSON API: your server builds the voting page, this service keeps the rules.

- Send your key as \`Authorization: Bearer <API_KEY>\`. Keys stay on your server: there is no CORS.
- Bodies and answers are JSON. Times are Unix milliseconds, IDs are opaque strings, money is \`amountMinor\` with a \`currency\`.
- In examples \`$API\` is the address of the service, \`$VOTE_KEY\`, \`$READ_KEY\`, \`$WRITE_KEY\` are keys with those scopes, and \`$EVENT\` and \`$POLL\` are codes of an event and a poll.
- Unknown fields and unknown query parameters are refused.
- Every POST takes an \`Idempotency-Key\`: a repeated call gives the first answer again and has no second effect.
- Answers may grow new fields; existing ones keep their names and types.`;

const errorSchema = z
  .object({
    error: z.object({
      code: z.enum(Object.keys(STATUS_BY_CODE) as [string, ...string[]]),
      message: z.string().meta({ description: 'For people; do not parse it.' }),
      details: z
        .looseObject({
          field: z.string().optional().meta({ description: 'What is wrong, such as `votes[2].rank`.' }),
          issues: z
            .array(z.object({ field: z.string(), message: z.string() }))
            .optional()
            .meta({ description: 'All that is wrong with a body, at most 50.' }),
          reason: z.string().optional().meta({ description: 'Why, for programs.' }),
        })
        .optional(),
      requestId: z.string().meta({ description: 'The same as the header X-Request-Id.' }),
      docUrl: z.string().meta({ description: 'Where the reference tells of this code or reason.' }),
    }),
  })
  .meta({ id: 'ErrorEnvelope', description: 'What every refusal looks like.' });

const integer = (description: string): JsonSchema => ({ description, schema: { type: 'integer', minimum: 0 } });

const HEADERS: Readonly<Record<string, JsonSchema>> = {
  'X-Request-Id': {
    description:
      'Your own, when you sent one of letters, digits, `_` and `-` (1 to 64 characters); otherwise a new one.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
  },
  'X-RateLimit-Limit': integer('Requests a minute that the key may make over time.'),
  'X-RateLimit-Remaining': integer('Requests that it may make at once now.'),
  'X-RateLimit-Reset': integer('Seconds until the whole quota is there again.'),
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  'Idempotent-Replayed': {
    description: '`true` where the answer is that of an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', const: 'true' },
  },
};

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  example: '6f1c2a9e-4b7d-4f0e-9a53-1d2c3b4a5968',
};

async function describePaths(operations: readonly Operation[], book: SchemaBook, pauses: Pauses): Promise<JsonSchema> {
  const paths: Record<string, JsonSchema> = {};
  for (const operation of operations) {
    const path = documentPath(operation.path);
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describeOperation(operation, book) };
    await pauses.take();
  }
  return paths;
}

const messageHeader = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
});

/** Describes a webhook message in the form that its receiver gets (Standard Webhooks 1.0). */
function describeMessage({ type, description, data }: WebhookMessage, book: SchemaBook): JsonSchema {
  const envelope = z.object({
    id: z
      .string()
      .meta({ description: 'The same on every retry, as `webhook-id`.', examples: ['msg_01m8wz3qc1k6s9v3x8b5e0p'] }),
    type: z.literal(type),
    createdAt: z.int().meta({ description: 'Unix time in milliseconds.', examples: [1_795_233_600_000] }),
    votingEventId: z
      .string()
      .nullable()
      .meta({ description: 'Null where it is about no event.', examples: [EXAMPLE.event] }),
    data,
  });
  const schema = book.describeOutput(envelope);
  const example = exampleOf(schema, book.components());
  return {
    post: {
      operationId: `on${type.replaceAll(/(?:^|[._])([a-z])/g, (_match, letter: string) => letter.toUpperCase())}`,
      summary: type,
      description,
      tags: ['Webhooks'],
      security: [],
      parameters: [
        messageHeader('webhook-id', 'The same on every retry of a message: drop those you have seen.'),
        messageHeader('webhook-timestamp', 'When this attempt was signed, Unix seconds.'),
        messageHeader('webhook-signature', '`v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`.'),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema, ...(example === undefined ? {} : { example }) } },
      },
      responses: {
        '2XX': { description: 'Received. Anything else is tried again, but 410, which switches the endpoint off.' },
        '4XX': { description: 'Not received: tried again.' },
      },
    },
  };
}

interface Content {
  readonly content?: { readonly 'application/json'?: { readonly schema?: unknown } };
}

const schemaOf = (body: unknown): unknown => (body as Content | undefined)?.content?.['application/json']?.schema;

/** The schemas of all answers of public operations, which serve voting pages. */
function publicAnswers(paths: JsonSchema): unknown[] {
  const open = Object.entries(paths).filter(([path]) => path.startsWith('/public/'));
  return open.flatMap(([, methods]) =>
    Object.values(methods as Record<string, { readonly responses?: Readonly<Record<string, unknown>> }>).flatMap(
      ({ responses }) => Object.values(responses ?? {}).map(schemaOf),
    ),
  );
}

const messageBodies = (webhooks: JsonSchema): unknown[] =>
  Object.values(webhooks).map((message) =>
    schemaOf((message as { readonly post?: { readonly requestBody?: unknown } }).post?.requestBody),
  );

/** The whole API as OpenAPI 3.1, made from the declarations of the operations. Pauses so that other requests can run. */
export async function describeApi(api: ApiDescription): Promise<JsonSchema> {
  const book = new SchemaBook();
  book.describeOutput(errorSchema);
  const pauses = new Pauses();
  const paths = await describePaths(api.operations, book, pauses);
  const webhooks: JsonSchema = {};
  for (const message of api.messages) {
    webhooks[message.type] = describeMessage(message, book);
    await pauses.take();
  }
  const components = book.components();
  allowRehearsal([...publicAnswers(paths), ...messageBodies(webhooks)], components);
  const used = new Set(api.operations.map(({ path }) => sectionOf(path)?.name));
  const tags = API_SECTIONS.filter(({ name }) => used.has(name)).map(({ name, description }) => ({
    name,
    description,
  }));
  return {
    openapi: '3.1.1',
    info: {
      title: `${api.title} API`,
      version: api.version,
      summary: 'Elections and polls: voters, ballots, exact counts, payments.',
      description: INTRODUCTION,
      contact: { name: api.title, url: api.websiteUrl },
      license: { name: 'Proprietary', url: api.websiteUrl },
    },
    externalDocs: { description: 'Reference and guides', url: api.referenceUrl },
    servers: [{ url: api.serverUrl }],
    tags: [...tags, { name: 'Webhooks', description: 'Messages that this service sends to webhook endpoints.' }],
    paths,
    webhooks,
    components: {
      schemas: components,
      responses: book.responses(),
      headers: HEADERS,
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An API key. `vsk_…` reads and writes for organizers (`read`, `write`), `vvk_…` serves a voting page (`vote`), `vok_…` observes one event (`observe`), `vlk_…` reads the ballot log of one event (`log`).',
        },
      },
    },
  };
}
