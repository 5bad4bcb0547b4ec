import { describe, expect, test } from 'vitest';
import { demand, valuesOf } from '#test/harness/answers.ts';
import { listOperations } from '#test/harness/operations.ts';
import { startReceiver } from '#test/harness/receiver.ts';
import { invite, shareEvent } from '#test/harness/sharing.ts';
import { eventually, type TestAccount, useService } from '#test/harness/test-service.ts';

const service = await useService();
const owner = await service.account();
// Their own plans would allow two endpoints.
const [viewer, editor] = [await service.account('free'), await service.account('free')];
const stranger = await service.account();
const itself = { selfRegistration: true };
const event = await owner.event({ type: 'election', voter: itself, candidate: itself });
// Whose own plans allow as many requests as all operations take.
const guests = { viewer: await service.account(), editor: await service.account() };
for (const role of ['viewer', 'editor'] as const) await shareEvent(service, owner, event, guests[role], role);
await shareEvent(service, owner, event, viewer, 'viewer');
await shareEvent(service, owner, event, editor, 'editor');

/** Deleting the event, linking a payment business and managing invites (completions 2.5). The code has a test of its own. */
const OWNER_ONLY: ReadonlySet<string> = new Set([
  'DELETE /voting-events/:idOrCode',
  'PUT /voting-events/:idOrCode/payment-business',
  'DELETE /voting-events/:idOrCode/payment-business',
  'POST /voting-events/:idOrCode/payments/:id/refund',
  'POST /voting-events/:idOrCode/payments/:id/settle',
  'POST /voting-events/:idOrCode/invites',
  'DELETE /voting-events/:idOrCode/invites/:id',
]);
/** What is sent by POST and changes nothing. */
const READING: ReadonlySet<string> = new Set([
  'POST /public/voting-events/:idOrCode/voter/check',
  'POST /public/voting-events/:idOrCode/log/proof',
]);

async function storePayment(id: string): Promise<string> {
  await service.query(
    `INSERT INTO payment_attempts (voting_event_id, id, account_id, payment_business_id, purpose, status, provider, amount_minor, currency, request, terms, expires_at, created_at, updated_at)
     VALUES ($1, $2, $3, 'biz_none', 'vote', 'succeeded', 'provider_a', 100, 'EUR', '{}', '{}', 1, 1, 1)`,
    [event.id, id, owner.id],
  );
  return id;
}

let serial = 0;
/** A row that is there: a role is judged after what the path names was found. */
async function rowFor(path: string): Promise<string> {
  const noun = path.split('/')[3] ?? '';
  serial += 1;
  if (noun === 'invites') return invite(service, owner, event, `guest-${serial}@club.example`, 'viewer');
  if (noun === 'payments') return storePayment(`pay_${serial}`);
  const position = event.positions[0]?.id;
  const bodies: Readonly<Record<string, object>> = {
    positions: { title: 'Another', votingMethod: 'plurality' },
    candidates: { name: 'Cy', positionIds: [position] },
    groups: { name: `Group ${serial}` },
    sponsors: { name: 'Sponsor' },
    voters: { name: 'Vera', voterId: `v-${serial}` },
  };
  const body = bodies[noun];
  return body === undefined ? 'none' : (await owner.of(event).make(`/${noun}`, body)).id;
}

test('every operation about a shared event agrees with the role', async () => {
  const operations = listOperations(service.deps).filter(({ path }) =>
    /^(\/public)?\/voting-events\/:idOrCode/.test(path),
  );
  expect(operations.length).toBeGreaterThan(50);
  const named = operations.map(({ method, path }) => `${method} ${path}`);
  expect([...OWNER_ONLY, ...READING].filter((one) => !named.includes(one))).toEqual([]);
  for (const { method, path } of operations) {
    const operation = `${method} ${path}`;
    const isReading = method === 'GET' || READING.has(operation);
    const required = OWNER_ONLY.has(operation) ? 'owner' : 'editor';
    for (const [role, account] of Object.entries(guests)) {
      const target = path
        .replace(':idOrCode', event.id)
        .replace(/:id\b/, /:id\b/.test(path) ? await rowFor(path) : '')
        .replaceAll(/:\w+(\{.+\})?/g, '0');
      // Refused for its body where the role allows it: nothing is changed.
      const sent = method === 'GET' || method === 'DELETE' ? undefined : { nothing: 'known' };
      const key = path.startsWith('/public') ? account.vote : method === 'GET' ? account.read : account.write;
      const { status, body } = await service.call(method, target, sent, { key });
      const told = body.error?.details?.reason === 'role' ? [status, body.error.details] : undefined;
      const isRefused = !isReading && (role === 'viewer' || required === 'owner');
      const expected = isRefused ? [403, { reason: 'role', role, required }] : undefined;
      expect([operation, role, told]).toEqual([operation, role, expected]);
    }
  }
});

const call = (account: TestAccount, method: string, path: string, body?: unknown) =>
  service.call(method, `/webhook-endpoints${path}`, body, { key: account.write });

const bodyFor = (url: string) => ({ url, eventTypes: ['candidate.created'], votingEventCode: event.code });

/** Every route about one endpoint. */
const ROUTES = [
  { method: 'GET', path: '' },
  { method: 'GET', path: '/deliveries' },
  { method: 'GET', path: '/deliveries/csv' },
  { method: 'PATCH', path: '', body: { description: 'Ours' } },
  { method: 'POST', path: '/test' },
  { method: 'POST', path: '/rotate-secret' },
  { method: 'POST', path: '/deliveries/:delivery/retry' },
  { method: 'DELETE', path: '' },
] as const;

async function endpointOf(account: TestAccount, limited = true): Promise<{ id: string; delivery: string }> {
  const { votingEventCode, ...body } = bodyFor('https://hooks.example.com/x');
  const { id } = demand(await call(account, 'POST', '', limited ? { ...body, votingEventCode } : body), 201);
  const { id: delivery } = demand(await call(account, 'POST', `/${id}/test`), 202);
  return { id, delivery };
}

describe('webhook endpoints of a shared event', () => {
  test.each(ROUTES)('$method /webhook-endpoints/:id$path is there for the owner alone', async (route) => {
    const { id, delivery } = await endpointOf(owner);
    const path = `/${id}${route.path.replace(':delivery', delivery)}`;
    const body = 'body' in route ? route.body : undefined;
    const unknown = await call(stranger, route.method, `/whe_none${route.path.replace(':delivery', delivery)}`, body);
    const bare = ({ error: { requestId: _id, ...rest } }: { error: { requestId: string } }) => rest;
    for (const account of [stranger, viewer, editor]) {
      const hidden = await call(account, route.method, path, body);
      expect([hidden.status, bare(hidden.body)]).toEqual([404, bare(unknown.body)]);
    }
    expect((await call(owner, route.method, path, body)).status).toBeLessThan(300);
  });

  test('are listed and created by the owner alone, who hears of the event with those of the account, too', async () => {
    const { id } = await endpointOf(owner);
    const listed = demand(await call(owner, 'GET', `?votingEventCode=${event.code}`), 200);
    expect(valuesOf(listed, 'id')).toContain(id);
    const [ownReceiver, guestReceiver] = [await startReceiver(), await startReceiver()];
    for (const [account, role] of [
      [viewer, 'viewer'],
      [editor, 'editor'],
    ] as const) {
      const refused = [403, { reason: 'role', role, required: 'owner' }];
      const tried = [
        await call(account, 'GET', `?votingEventCode=${event.code}`),
        await call(account, 'POST', '', bodyFor('https://hooks.example.com/x')),
      ];
      expect(tried.map(({ status, body }) => [status, body.error.details])).toEqual([refused, refused]);
      const { votingEventCode: _code, ...everything } = bodyFor(guestReceiver.url);
      demand(await call(account, 'POST', '', everything), 201);
    }
    expect((await call(stranger, 'POST', '', bodyFor('https://hooks.example.com/x'))).status).toBe(404);
    const { votingEventCode: _code, ...everything } = bodyFor(ownReceiver.url);
    demand(await call(owner, 'POST', '', everything), 201);
    const cy = { name: 'Cy', positionIds: [event.positions[0]?.id] };
    const candidate = await editor.of(event).make('/candidates', cy);
    const message = await eventually(() => ownReceiver.received[0]);
    expect(JSON.parse(message.body)).toMatchObject({ type: 'candidate.created', data: { id: candidate.id } });
    expect(guestReceiver.received).toEqual([]);
    for (const receiver of [ownReceiver, guestReceiver]) await receiver.stop();
  });
});
