/** Webhook endpoints: how they are managed. What they are sent is looked at by `receiver.ts`. */
import {
  type Context,
  conflict,
  type Expected,
  invalid,
  listed,
  notFound,
  ok,
  type Route,
  refuse,
  route,
  unfit,
} from './answer.ts';
import * as kit from './kit.ts';
import { at, isObject, type Json, type Spec } from './kit.ts';
import type { Model } from './model.ts';
import { roleOf } from './sharing.ts';
import type { Endpoint } from './state.ts';

export const EVENT_TYPES = [
  ...['created', 'updated', 'deleted', 'opened', 'closed'].map((one) => `voting_event.${one}`),
  ...['candidate', 'voter'].flatMap((one) => ['created', 'updated', 'deleted'].map((what) => `${one}.${what}`)),
  'ballot.confirmed',
  ...['succeeded', 'fulfilled', 'failed', 'cancelled', 'refunded', 'reversed'].map((one) => `payment.${one}`),
  'results.published',
  'log.checkpoint',
  'webhook_endpoint.disabled',
  ...['voting_event.closing', 'voter.mail_failed', 'payment.refund_failed'],
];
const MOST = { free: 2, pro: 20, enterprise: 200 } as const;
const spec: Spec = {
  url: (value, path, issues) => {
    if (typeof value !== 'string' || value.length > 2048 || !/^https?:\/\/[a-z0-9.-]+(:[0-9]+)?(\/|$)/i.test(value))
      issues.push(path);
  },
  description: kit.nullable(kit.str(0, 200)),
  eventTypes: kit.list(kit.among(...EVENT_TYPES), 1, 100),
};

function endpointBody(endpoint: Endpoint): Json {
  const { description } = endpoint;
  return {
    id: endpoint.id === '' ? kit.prefixed('whe_') : endpoint.id,
    votingEventId: endpoint.eventId,
    url: endpoint.url,
    description: description === null || description === '' ? kit.oneOf(null, '') : description,
    eventTypes: new kit.Bag(endpoint.eventTypes),
    status: endpoint.status,
    disabledReason: endpoint.status === 'disabled' ? 'manual' : null,
    consecutiveFailures: kit.INTEGER,
    secretHint: kit.STRING,
    createdAt: kit.TIME,
  };
}
const SECRET = new kit.Match('whsec_ and 32 bytes in base64', (got) => /^whsec_[A-Za-z0-9+/]{43}=$/.test(String(got)));

function twice(body: Json): string[] {
  const types = Array.isArray(body['eventTypes']) ? body['eventTypes'] : [];
  return types.flatMap((one, index) => (types.indexOf(one) === index ? [] : [`eventTypes[${index}]`, 'eventTypes']));
}
function create(model: Model, { body, key }: Context): Expected[] {
  const issues = kit.check(body, kit.required({ ...spec, votingEventCode: kit.str(1, 200) }, 'url', 'eventTypes'));
  issues.push(...twice(body));
  if (issues.length > 0) return [invalid(issues)];
  const code = body['votingEventCode'];
  const event = typeof code === 'string' ? model.find(code) : undefined;
  const role = event === undefined || event.deleted ? undefined : roleOf(event, key.account);
  if (code !== undefined && role === undefined) return [notFound(), unfit(['votingEventCode'])];
  if (role !== undefined && role !== 'owner') return [refuse(403, 'forbidden', 'role')];
  const { account } = key;
  const endpoint: Endpoint = {
    id: '',
    account,
    eventId: event?.id ?? null,
    url: String(body['url']),
    description: typeof body['description'] === 'string' ? kit.clean(body['description']) : null,
    eventTypes: body['eventTypes'] as string[],
    status: 'active',
    secrets: [],
  };
  const mine = model.endpoints.filter((one) => one.account === account).length;
  const max = MOST[account.plan];
  if (mine >= max) return [refuse(422, 'plan_limit', undefined, { details: { max } })];
  const done = ok(201, { ...endpointBody(endpoint), secret: SECRET }, (answer) => {
    endpoint.id = kit.text(at(answer, 'data', 'id'));
    endpoint.secrets.unshift(kit.text(at(answer, 'data', 'secret')));
    model.endpoints.push(endpoint);
  });
  return [done];
}
function patch(model: Model, context: Context): Expected[] {
  const { body } = context;
  const endpoint = endpointOf(model, context);
  if (endpoint === undefined) return [];
  const issues = [...kit.check(body, { ...spec, status: kit.among('active', 'disabled') }), ...twice(body)];
  if (issues.length > 0) return [invalid(issues)];
  if (Object.keys(body).length === 0) return [refuse(422, 'validation_error')];
  const next = { ...endpoint, ...body } as Endpoint;
  return [ok(200, { ...endpointBody(next), secret: kit.ABSENT }, () => Object.assign(endpoint, next))];
}

const endpointOf = (model: Model, context: Context): Endpoint | undefined =>
  model.endpoints.find((one) => one.id === context.id && one.account === context.key.account);
/** Whom an ID names is asked before a stored answer: what names nothing is not found, however often. */
const hasRecord = (model: Model, context: Context): boolean => endpointOf(model, context) !== undefined;
const one = (
  method: string,
  path: string,
  scope: 'read' | 'write',
  handle: (endpoint: Endpoint, model: Model, context: Context) => Expected[],
): Route =>
  route(
    method,
    `/webhook-endpoints/:id${path}`,
    scope,
    (model, context) => {
      const endpoint = endpointOf(model, context);
      if (endpoint === undefined) return [notFound()];
      const given = context.request.body;
      const bare = method === 'POST' && given !== undefined && !(isObject(given) && Object.keys(given).length === 0);
      return bare ? [refuse(422, 'validation_error', undefined, { store: 'no' })] : handle(endpoint, model, context);
    },
    { hasRecord },
  );
export const hookRoutes: readonly Route[] = [
  route(
    'GET',
    '/webhook-endpoints',
    'read',
    (model, { query, key }) => {
      const code = query.get('votingEventCode');
      const event = code === null ? undefined : model.find(code);
      const role = event === undefined || event.deleted ? undefined : roleOf(event, key.account);
      if (code !== null && role === undefined) return [notFound()];
      if (role !== undefined && role !== 'owner') return [refuse(403, 'forbidden', 'role')];
      const rows = model.endpoints.filter((row) => row.account === key.account && row.eventId === (event?.id ?? null));
      return [listed(new kit.Bag(rows.map((row) => ({ ...endpointBody(row), secret: kit.ABSENT }))))];
    },
    { query: ['votingEventCode', 'search'] },
  ),
  route('POST', '/webhook-endpoints', 'write', create),
  one('GET', '', 'read', (endpoint) => [ok(200, { ...endpointBody(endpoint), secret: kit.ABSENT })]),
  route('PATCH', '/webhook-endpoints/:id', 'write', patch, { hasRecord }),
  one('DELETE', '', 'write', (endpoint, model) => [
    ok(204, undefined, () => {
      model.endpoints = model.endpoints.filter((row) => row !== endpoint);
    }),
  ]),
  one('POST', '/test', 'write', ({ status }) => [
    status === 'disabled' ? conflict('endpoint_disabled') : { status: 202 },
  ]),
  one('POST', '/rotate-secret', 'write', (endpoint) => [
    ok(200, { ...endpointBody(endpoint), secret: SECRET }, (answer) =>
      endpoint.secrets.unshift(kit.text(at(answer, 'data', 'secret'))),
    ),
  ]),
  route(
    'GET',
    '/webhook-endpoints/:id/deliveries',
    'read',
    (model, context) => {
      const endpoint = endpointOf(model, context);
      if (endpoint === undefined) return [notFound()];
      const row = { id: kit.prefixed('whd_'), status: kit.STRING, createdAt: kit.TIME };
      const rows = new kit.Match(
        'deliveries',
        (got) => Array.isArray(got) && got.every((item) => kit.differences(row, item).length === 0),
      );
      return [{ status: 200, body: { data: rows, nextCursor: null } }];
    },
    { query: ['from', 'until', 'status', 'type', 'search'] },
  ),
  one('GET', '/deliveries/csv', 'read', () => [{ status: 200 }]),
  one('POST', '/deliveries/:d/retry', 'write', ({ status }) => [
    status === 'disabled' ? conflict('endpoint_disabled') : { status: 202 },
    // Deliveries are not followed: which are there is the service's word.
    notFound(),
  ]),
  route('GET', '/webhook-event-types', 'read', () => [
    {
      status: 200,
      body: {
        data: new kit.Match('every event type', (got) => {
          const names = Array.isArray(got)
            ? got.map((item) => (isObject(item) ? (item['type'] ?? item['name']) : item))
            : [];
          return EVENT_TYPES.every((type) => names.includes(type));
        }),
      },
    },
  ]),
];
