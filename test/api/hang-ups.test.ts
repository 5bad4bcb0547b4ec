import { expect, test } from 'vitest';
import { WITH_CONSOLE } from '#test/harness/console.ts';
import { hangUp, sendRaw } from '#test/harness/raw-http.ts';
import { untilTrue, useAccount } from '#test/harness/test-service.ts';

// A table that no buffer between service and client holds as a whole.
const VOTERS = 30_000;

const { service, account } = await useAccount({ ...WITH_CONSOLE, worker: false });
const event = await account.event();
await service.query(
  `INSERT INTO voters (voting_event_id, id, name, voter_id, voter_id_key, weight_micro, status, source, key_status, created_at, updated_at)
   SELECT $1, 'vtr_' || lpad(n::text, 9, '0'), repeat('n', 180), 'M' || n, 'M' || n, 1000000, 'approved', 'organizer', 'none', now_ms(), now_ms()
   FROM generate_series(1, $2::integer) AS n`,
  [event.id, VOTERS],
);
const base = `/voting-events/${event.id}`;

const get = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.read}\r\n\r\n`;

function send(method: string, path: string, body: unknown): string {
  const text = JSON.stringify(body);
  const head = `Host: x\r\nAuthorization: Bearer ${account.write}\r\nContent-Type: application/json`;
  return `${method} ${path} HTTP/1.1\r\n${head}\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
}

const held = () => Object.entries(service.deps.leases).map(([kind, leases]) => [kind, leases.held]);
const nothing = () => held().map(([kind]) => [kind, 0]);
const allBack = () => untilTrue(() => held().every(([, count]) => count === 0));

const KINDS: readonly [string, () => string | Promise<string>][] = [
  ['a table that streams', () => get(`${base}/voters/csv`)],
  ['a search', () => get(`${base}/voters?search=nnn`)],
  ['statistics', () => get(`${base}/stats`)],
  ['a long list', () => get(`${base}/audit`)],
  ['a file', async () => get(await account.link(`${base}/results/csv`))],
  ['a report', async () => get(await account.link(`${base}/results/pdf`))],
  ['a definition', () => get(`${base}/definition`)],
  ['a HEAD', () => get(`${base}/voters/csv`).replace('GET', 'HEAD')],
  ['a change', () => send('PATCH', base, { title: 'Another' })],
  [
    'an import',
    () => send('POST', `${base}/voters/import`, { mode: 'all', dryRun: true, voters: [{ name: 'A', voterId: 'X' }] }),
  ],
  ['a large body that does not come', () => send('PUT', `${base}/definition`, 'x'.repeat(1_000_000)).slice(0, 2_000)],
  ['the stream of the console', () => 'GET /console/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'],
  ['what waits behind another answer', () => `${get(`${base}/voters/csv`)}${get(`${base}/stats`)}`],
];

test.each(KINDS)('%s gives back what it took, at whichever byte its client hangs up', async (_, make) => {
  const bytes = await make();
  for (let sent = 1; sent < bytes.length; sent += 17) await hangUp(service.port, bytes.slice(0, sent), 0);
  for (const after of [0, 0, 0, 1, 1, 500, 1_000, 70_000, 1_000_000, 4_000_000])
    await Promise.all([hangUp(service.port, bytes, after), hangUp(service.port, bytes, after)]);
  await allBack();
  expect(held()).toEqual(nothing());
  expect((await account.get(`${base}/stats`)).status).toBe(200);
});

// Completions 1.6: in overload the process lives on. A report has megabytes, and an address may hold a thousand connections.
test('a report takes its place among the large answers of its account until it is sent', async () => {
  const { results } = service.deps.leases;
  const others = await Promise.all(Array.from({ length: 6 }, () => results.take(account.id)));
  const report = get(await account.link(`${base}/results/pdf`));
  const answer = sendRaw(service.port, report);
  await untilTrue(() => results.waiting === 1);
  for (const place of others) place.end();
  expect((await answer).status).toBe(200);
  await allBack();
});

test('an account has so many bytes of bodies under way, and a body is refused before it is read', async () => {
  const announce = (length: number) =>
    send('POST', '/voting-events/definition', {}).replace(/Content-Length: .*/s, `Content-Length: ${length}\r\n\r\n{`);
  const bodies = Array.from({ length: 8 }, () => sendRaw(service.port, announce(30_000_000)));
  const answers = await Promise.allSettled(bodies);
  const refused = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  // Four changes at a time get so far; one of them has room, and its body never comes.
  expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 429));
  expect(new Set(refused.map(({ body }) => JSON.parse(body).error.details.reason))).toEqual(
    new Set(['too_many_at_once']),
  );
  expect(refused.length).toBe(7);
  await allBack();
});
