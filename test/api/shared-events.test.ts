import { describe, expect, test } from 'vitest';
import { demand, type TestEvent } from '#test/harness/elections.ts';
import { startReceiver } from '#test/harness/receiver.ts';
import { invite, shareEvent } from '#test/harness/sharing.ts';
import { eventually, type TestAccount, useService } from '#test/harness/test-service.ts';

const service = await useService();
const owner = await service.account();
// Their own plans would allow two endpoints.
const [viewer, editor, stranger] = [
  await service.account('free'),
  await service.account('free'),
  await service.account(),
];
const event = await owner.event({
  type: 'election',
  voter: { selfRegistration: true },
  candidate: { selfRegistration: true },
});
// Whose own plans allow as many requests as all operations take.
const guests = { viewer: await service.account(), editor: await service.account() };
for (const role of ['viewer', 'editor'] as const) await shareEvent(service, owner, event, guests[role], role);
await shareEvent(service, owner, event, viewer, 'viewer');
await shareEvent(service, owner, event, editor, 'editor');

/** Deleting the event, linking a payment business and managing invites (completions 2.5). The code has a test of its own. */
const OWNER_ONLY: ReadonlySet<string> = new Set([
  'DELETE /voting-events/{idOrCode}',
  'PUT /voting-events/{idOrCode}/payment-business',
  'DELETE /voting-events/{idOrCode}/payment-business',
  'POST /voting-events/{idOrCode}/invites',
  'DELETE /voting-events/{idOrCode}/invites/{id}',
]);
/** What is sent by POST and changes nothing. */
const READING: ReadonlySet<string> = new Set([
  'POST /public/voting-events/{idOrCode}/voter/check',
  'POST /public/voting-events/{idOrCode}/log/proof',
]);

let serial = 0;
/** A row that is there: a role is judged after what the path names was found. */
async function rowFor(path: string): Promise<string> {
  const noun = path.split('/')[3] ?? '';
  serial += 1;
  if (noun === 'invites') return invite(service, owner, event, `guest-${serial}@club.example`, 'viewer');
  const position = event.positions[0]?.id;
  const bodies: Readonly<Record<string, object>> = {
    positions: { title: 'Another', votingMethod: 'plurality' },
    candidates: { name: 'Cy', positionIds: [position] },
    groups: { name: `Group ${serial}` },
    sponsors: { name: 'Sponsor' },
    voters: { name: 'Vera', voterId: `v-${serial}` },
  };
  const body = bodies[noun];
  if (body === undefined) return 'none';
  const target = `/voting-events/${event.id}/${noun}`;
  return (await owner.make(target, body)).id;
}

/** Every operation about an event, as the API document lists them. */
async function listOperations(): Promise<string[]> {
  const { body } = await service.call('GET', '/openapi.json');
  const paths: [string, object][] = Object.entries(body.paths);
  const ofEvents = paths.filter(([path]) => /^(\/public)?\/voting-events\/\{idOrCode\}/.test(path));
  return ofEvents.flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => ['get', 'post', 'put', 'patch', 'delete'].includes(method))
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
}

test('every operation about a shared event agrees with the role', async () => {
  const operations = await listOperations();
  expect(operations.length).toBeGreaterThan(50);
  expect([...OWNER_ONLY, ...READING].filter((one) => !operations.includes(one))).toEqual([]);
  const wrong: unknown[] = [];
  for (const operation of operations) {
    const [method = '', path = ''] = operation.split(' ');
    const isReading = method === 'GET' || READING.has(operation);
    for (const [role, account] of Object.entries(guests)) {
      const target = path
        .replace('{idOrCode}', event.id)
        .replace('{id}', path.includes('{id}') ? await rowFor(path) : '');
      // Refused for its body where the role allows it: nothing is changed.
      const body = method === 'GET' || method === 'DELETE' ? undefined : { nothing: 'known' };
      const key = path.startsWith('/public') ? account.vote : method === 'GET' ? account.read : account.write;
      const answer = await service.call(method, target.replaceAll(/\{\w+\}/g, '0'), body, { key });
      const isRefused = answer.status === 403 && answer.body.error?.details?.reason === 'role';
      const isExpected = !isReading && (role === 'viewer' || OWNER_ONLY.has(operation));
      if (isRefused !== isExpected) wrong.push([operation, role, answer.status, answer.body?.error?.details]);
    }
  }
  expect(wrong).toEqual([]);
});

const call = (account: TestAccount, method: string, path: string, body?: unknown) =>
  service.call(method, `/webhook-endpoints${path}`, body, { key: account.write });

const bodyFor = (url: string) => ({ url, eventTypes: ['candidate.created'], votingEventCode: event.code });

const VIEWER_REFUSED = [403, { reason: 'role', role: 'viewer', required: 'editor' }];

/** Every route about one endpoint, and what the role that changes gets. */
const ROUTES = [
  { method: 'GET', path: '', changes: false },
  { method: 'GET', path: '/deliveries', changes: false },
  { method: 'GET', path: '/deliveries/csv', changes: false },
  { method: 'PATCH', path: '', body: { description: 'Ours' }, changes: true },
  { method: 'POST', path: '/test', changes: true },
  { method: 'POST', path: '/rotate-secret', changes: true },
  { method: 'POST', path: '/deliveries/:delivery/retry', changes: true },
  { method: 'DELETE', path: '', changes: true },
] as const;

async function endpointOf(account: TestAccount, limited = true): Promise<{ id: string; delivery: string }> {
  const { votingEventCode, ...body } = bodyFor('https://hooks.example.com/x');
  const { id } = demand(await call(account, 'POST', '', limited ? { ...body, votingEventCode } : body), 201);
  const { id: delivery } = demand(await call(account, 'POST', `/${id}/test`), 202);
  return { id, delivery };
}

describe('webhook endpoints of a shared event', () => {
  test.each(ROUTES)('$method /webhook-endpoints/:id$path agrees with the role', async (route) => {
    const { id, delivery } = await endpointOf(owner);
    const path = `/${id}${route.path.replace(':delivery', delivery)}`;
    const body = 'body' in route ? route.body : undefined;
    const unknown = await call(stranger, route.method, `/whe_none${route.path.replace(':delivery', delivery)}`, body);
    const hidden = await call(stranger, route.method, path, body);
    const bare = ({ error: { requestId: _id, ...rest } }: { error: { requestId: string } }) => rest;
    expect([hidden.status, bare(hidden.body)]).toEqual([404, bare(unknown.body)]);
    const seen = await call(viewer, route.method, path, body);
    if (route.changes) expect([seen.status, seen.body.error.details]).toEqual(VIEWER_REFUSED);
    else expect(seen.status).toBe(200);
    expect((await call(editor, route.method, path, body)).status).toBeLessThan(300);
  });

  test('are created by editors, count for the plan of the owner, and are listed to all who see the event', async () => {
    const made: string[] = [];
    for (let number = 0; number < 3; number += 1) made.push((await endpointOf(editor)).id);
    for (const account of [owner, editor, viewer]) {
      const listed = demand(await call(account, 'GET', `?votingEventCode=${event.code}`), 200);
      expect(listed.map(({ id }: { id: string }) => id)).toEqual(expect.arrayContaining(made));
      // Those of an account are its own.
      const own = demand(await call(account, 'GET', ''), 200);
      expect(own).toEqual([]);
    }
    const refused = await call(viewer, 'POST', '', bodyFor('https://hooks.example.com/x'));
    expect([refused.status, refused.body.error.details]).toEqual(VIEWER_REFUSED);
    expect((await call(stranger, 'POST', '', bodyFor('https://hooks.example.com/x'))).status).toBe(404);
  });

  test('get the messages of the event, and those of the account stay its own', async () => {
    const receiver = await startReceiver();
    const { id } = demand(await call(editor, 'POST', '', bodyFor(receiver.url)), 201);
    const target = `/voting-events/${event.id}/candidates`;
    const body = { name: 'Cy', positionIds: [event.positions[0]?.id] };
    const candidate = await owner.make(target, body);
    const message = await eventually(() => receiver.received[0]);
    expect(JSON.parse(message.body)).toMatchObject({ type: 'candidate.created', data: { id: candidate.id } });
    const { id: account } = await endpointOf(owner, false);
    for (const guest of [viewer, editor]) expect((await call(guest, 'GET', `/${account}`)).status).toBe(404);
    // Taken back: neither seen nor changed any more.
    const { data: invites } = (await owner.get(`/voting-events/${event.id}/invites`)).body;
    const own = invites.find(
      (one: { acceptedBy: { accountId: string } | null }) => one.acceptedBy?.accountId === editor.id,
    );
    await owner.delete(`/voting-events/${event.id}/invites/${own.id}`);
    expect((await call(editor, 'GET', `/${id}`)).status).toBe(404);
    expect((await call(owner, 'DELETE', `/${id}`)).status).toBe(204);
    await receiver.stop();
  });

  test('are switched off with the invite of the editor who set their address last, and no others are', async () => {
    const guest = await service.account();
    const shared = await owner.event({}, [{ votingMethod: 'plurality', candidates: ['Ada'] }]);
    const other = await owner.event({}, [{ votingMethod: 'plurality', candidates: ['Ada'] }]);
    for (const one of [shared, other]) await shareEvent(service, owner, one, guest, 'editor');
    const make = async (account: TestAccount, { code }: TestEvent): Promise<string> => {
      const body = { url: 'https://hooks.example.com/x', eventTypes: ['candidate.created'], votingEventCode: code };
      return demand(await call(account, 'POST', '', body), 201).id;
    };
    const [guests, taken, owners, given] = await Promise.all([
      ...[make(guest, shared), make(owner, shared)],
      ...[make(owner, shared), make(guest, shared)],
    ]);
    const elsewhere = await make(guest, other);
    demand(await call(guest, 'PATCH', `/${taken}`, { url: 'https://hooks.example.com/guest' }), 200);
    demand(await call(owner, 'PATCH', `/${given}`, { url: 'https://hooks.example.com/owner' }), 200);
    demand(await call(guest, 'PATCH', `/${owners}`, { description: 'Seen by a guest' }), 200);
    const base = `/voting-events/${shared.id}/invites`;
    const [invite] = await owner.show(base);
    expect((await owner.delete(`${base}/${invite.id}`)).status).toBe(204);
    const statusOf = async (id: string | undefined) => demand(await call(owner, 'GET', `/${id}`), 200).status;
    expect(await Promise.all([guests, taken, owners, given, elsewhere].map(statusOf))).toEqual([
      ...['disabled', 'disabled'],
      ...['active', 'active', 'active'],
    ]);
    const path = `/voting-events/${shared.id}/audit`;
    const entries = await owner.show(path);
    const switched = entries.filter(({ action }: { action: string }) => action === 'webhook_endpoint.disabled');
    expect(switched.map(({ resource }: { resource: string }) => resource).sort()).toEqual([guests, taken].sort());
    demand(await call(owner, 'PATCH', `/${guests}`, { status: 'active' }), 200);
    expect(await statusOf(guests)).toBe('active');
  });
});
