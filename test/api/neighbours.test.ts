import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import { definitionBody } from '#src/ballot-definition/definition-schema.ts';
import { MOST_PRESSURE } from '#src/http/load.ts';
import { demand } from '#test/harness/answers.ts';
import { finishEvent, PLURALITY, visitor, votesFor } from '#test/harness/elections.ts';
import { sendRaw } from '#test/harness/raw-http.ts';
import { patiently, type TestAccount, untilTrue, useService } from '#test/harness/test-service.ts';

// Without jobs, whose statements would be looked at too.
const service = await useService({ worker: false });
const MIB = 1024 * 1024;
const sockets: Socket[] = [];
afterEach(() => {
  vi.restoreAllMocks();
  for (const socket of sockets.splice(0)) socket.destroy();
});

const head = (path: string, key: string | undefined, length: number): string =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    '\r\n{',
  ].join('\r\n');

/** Begins a request whose body does not come. */
function begin(bytes: string): void {
  const socket = connect({ port: service.port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  sockets.push(socket);
  socket.write(bytes);
}

const texts = (length: number, characters: number) => Array.from({ length }, () => '\u{1f5f3}'.repeat(characters));

/** As large as the caps allow: some twenty megabytes. */
function largest(title: string) {
  const positions = Array.from({ length: 100 }, (_, n) => ({ id: `p${n}`, title: `P${n}`, votingMethod: 'plurality' }));
  const positionIds = positions.map(({ id }) => id);
  const candidates = texts(1_000, 5_000).map((description, n) => ({
    ...{ id: `c${n}`, name: `C${n}`, description, positionIds },
  }));
  return { version: 1, event: { title, type: 'poll' }, groups: [], positions, candidates, sponsors: [] };
}

const post = (account: TestAccount, text: string, method = 'POST', path = '/voting-events/definition') =>
  fetch(`${service.url}${path}`, {
    method,
    headers: { Authorization: `Bearer ${account.write}`, 'Content-Type': 'application/json' },
    body: text,
  });

test('a ballot is never written to a disk, also where it comes without a length', async () => {
  const account = await service.account();
  const event = await account.event({}, PLURALITY);
  const text = JSON.stringify({ visitorId: visitor(), votes: votesFor(event) });
  const send = (method: string, target: string, key: string, body: string) =>
    fetch(`${service.url}${target}`, {
      ...{ method, headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' } },
      ...{ body: new Blob([body]).stream(), duplex: 'half' },
    });
  const cast = await send('POST', `/public/voting-events/${event.id}/ballot/cast`, account.vote, text);
  expect(cast.status).toBe(201);
  const bodies = path.join(service.deps.config.dataDir, 'bodies');
  expect(existsSync(bodies)).toBe(false);
  // What an organizer sends is: the folder is where this test looked.
  const changed = await send('PATCH', `/voting-events/${event.id}`, account.write, '{"title":"Ours"}');
  expect([changed.status, existsSync(bodies)]).toEqual([200, true]);
});

test('the largest definition of an account is taken while the bodies of others are under way, however many', async () => {
  const others = await Promise.all(Array.from({ length: 3 }, () => service.account('free')));
  for (const { write } of others)
    for (const length of [32, 8]) begin(head('/voting-events/definition', write, length * MIB));
  await untilTrue(() => service.deps.leases.bodyBytes.held >= 120 * MIB);
  const account = await service.account('free');
  const answer = await post(account, JSON.stringify(largest('Beside others')));

  expect([answer.status, await answer.text()]).toEqual([201, expect.stringContaining('Beside others')]);
});

test('bodies that come slowly are no load: others are read meanwhile', async () => {
  const [slow, other] = [await service.account('enterprise'), await service.account('free')];
  const event = await slow.event();
  const mine = await other.event();
  const path = `/public/voting-events/${event.id}/ballot/cast`;
  const entered = vi.spyOn(service.deps.load, 'enter');
  for (let n = 0; n < MOST_PRESSURE.read.underWay; n += 1) begin(head(path, slow.vote, 1_000));
  await untilTrue(() => entered.mock.calls.length >= MOST_PRESSURE.read.underWay);
  // Before their time is over, and they with it.
  await untilTrue(() => service.deps.load.pressure().underWay < 10, 5_000);
  expect((await other.get(`/voting-events/${mine.id}`)).status).toBe(200);
});

test('of the requests of an account so many are worked at, without those whose bodies do not come', async () => {
  const { leases } = service.deps;
  const [busy, other] = [await service.account('enterprise'), await service.account('free')];
  const [event, mine] = [await busy.event({}, PLURALITY), await other.event()];
  const vote = { visitorId: visitor(), votes: votesFor(event) };
  const cast = `/public/voting-events/${event.id}/ballot/cast`;
  for (let n = 0; n < 40; n += 1) begin(head(cast, busy.vote, 1_000));
  demand(await service.call('POST', cast, vote, { key: busy.vote }), 201);
  await untilTrue(() => leases.othersAtWork.held === 0);
  // Holds the statements back in this process: a statement waits for a table lock for a second, and then fails.
  const open = Promise.withResolvers<void>();
  const { $client } = service.deps.db;
  const query = $client.query.bind($client) as (...given: unknown[]) => Promise<unknown>;
  const ask = (...given: unknown[]) =>
    String(Object(given[0]).text).includes('from "groups"')
      ? open.promise.then(() => query(...given))
      : query(...given);
  vi.spyOn($client, 'query').mockImplementation(ask as typeof $client.query);
  await other.change(`/voting-events/${mine.id}`, { description: 'Whatever it asks for' });
  const reads = Array.from({ length: 20 }, () => busy.get(`/voting-events/${event.id}/groups/grp_none`));
  // Eight at a time if it were alone: another account has just changed something.
  await untilTrue(() => leases.readsAtWork.waiting === 18, 10_000);
  expect(leases.readsAtWork.held).toBe(2);
  expect((await other.get(`/voting-events/${mine.id}`)).status).toBe(200);
  open.resolve();
  expect((await Promise.all(reads)).map(({ status }) => status)).toEqual(reads.map(() => 404));
  await untilTrue(() => leases.readsAtWork.held === 0);
});

test('a request that has waited for a turn goes on in a place: long bodies do not pass by the limit of an account', async () => {
  const { othersAtWork } = service.deps.leases;
  const account = await service.account('enterprise');
  const event = await account.event({}, PLURALITY);
  const other = await service.account();
  const mine = await other.event({}, PLURALITY);
  await other.votePoll(mine, votesFor(mine));
  const open = Promise.withResolvers<void>();
  const { ballots } = service.deps;
  const store = ballots.cast.bind(ballots);
  vi.spyOn(ballots, 'cast').mockImplementation((request) => open.promise.then(() => store(request)));
  // Blanks make each body long enough to be parsed in a turn.
  const cast = () =>
    fetch(`${service.url}/public/voting-events/${event.id}/ballot/cast`, {
      ...{ method: 'POST', headers: { Authorization: `Bearer ${account.vote}`, 'Content-Type': 'application/json' } },
      body: JSON.stringify({ visitorId: visitor(), votes: votesFor(event) }).padEnd(66_000),
    });
  const casts = Array.from({ length: 40 }, cast);
  // 32 at a time if it were alone: people have just voted in another account's poll.
  await untilTrue(() => othersAtWork.waiting === 36, 10_000);
  expect(othersAtWork.held).toBe(4);
  open.resolve();
  expect((await Promise.all(casts)).map(({ status }) => status)).toEqual(casts.map(() => 201));
  await untilTrue(() => othersAtWork.held === 0);
});

test('large results wait for their turn while others of the account are not taken, and no other account does', async () => {
  const { results } = service.deps.leases;
  const [busy, other] = await Promise.all([service.account(), service.account()]);
  const positions = Array.from({ length: 26 }, (_, n) => ({ id: `p${n}`, title: `P${n}`, votingMethod: 'approval' }));
  const positionIds = positions.map(({ id }) => id);
  const candidates = texts(20, 1).map((name, n) => ({ id: `c${n}`, name: `${name}${n}`, positionIds }));
  const file = { version: 1, event: { title: 'Wide', type: 'poll' }, groups: [], positions, candidates, sponsors: [] };
  const open = async (account: TestAccount) => {
    const { id } = await account.make('/voting-events/definition', file);
    await account.patch(`/voting-events/${id}`, { status: 'open' });
    return `/voting-events/${id}/results`;
  };
  const [wide, theirs] = [await open(busy), await open(other)];
  expect([(await busy.get(wide)).status, (await other.get(theirs)).status]).toEqual([200, 200]);
  await untilTrue(() => results.held === 0);
  const places = await Promise.all(Array.from({ length: 6 }, () => results.take(busy.id)));
  const late = [busy.get(wide), busy.get(`${wide}/rounds?positionId=pos_none`)];
  await untilTrue(() => results.waiting === 2);
  expect((await other.get(theirs)).status).toBe(200);
  for (const place of places) place.end();
  expect((await Promise.all(late)).map(({ status }) => status)).toEqual([200, 404]);
  await untilTrue(() => results.held === 0);
});

test('strangers read long pages of an open log two at a time of an address, and no reader with a key waits for them', async () => {
  const { costlyReads } = service.deps.leases;
  const account = await service.account('pro');
  const event = await account.event({ log: { open: true }, ballot: { opening: 'public' } }, PLURALITY);
  await account.votePoll(event, votesFor(event));
  await finishEvent(service, event.id);
  const pages = ['configurations?from=0', 'openings?fromIndex=0'];
  const read = (key?: string) =>
    pages.map((page) =>
      fetch(`${service.url}/public/voting-events/${event.id}/log/${page}`, {
        headers: key === undefined ? {} : { Authorization: `Bearer ${key}` },
      }),
    );
  const places = await Promise.all(pages.map(() => costlyReads.take('log of 127.0.0.1')));
  const late = read();
  await untilTrue(() => costlyReads.waiting === 2);
  expect((await Promise.all(read(account.vote))).map(({ status }) => status)).toEqual([200, 200]);
  for (const place of places) place.end();
  expect((await Promise.all(late)).map(({ status }) => status)).toEqual([200, 200]);
});

test('an address without a key has so many bytes under way', async () => {
  const path = '/provider-webhooks/provider_a/biz_none';
  for (let n = 0; n < 16; n += 1) begin(head(path, undefined, MIB / 4));
  await untilTrue(() => service.deps.leases.strangersBytes.held === 4 * MIB);
  const answer = await sendRaw(service.port, head(path, undefined, MIB / 4));
  expect([answer.status, JSON.parse(answer.body).error.details.reason]).toEqual([429, 'too_many_at_once']);
  for (const socket of sockets.splice(0)) socket.destroy();
  await untilTrue(() => service.deps.leases.strangersBytes.held === 0);
});

test('messages without a key wait for one of four places of their address, and are no load meanwhile', async () => {
  const { leases, load, db } = service.deps;
  const open = Promise.withResolvers<void>();
  const query = db.$client.query.bind(db.$client) as (...given: unknown[]) => Promise<unknown>;
  const late = (...given: unknown[]) => open.promise.then(() => query(...given));
  vi.spyOn(db.$client, 'query').mockImplementation(late as typeof db.$client.query);
  const send = () => service.call('POST', '/provider-webhooks/provider_a/biz_none', { type: 'forged' });
  const sent = Array.from({ length: 40 }, send);
  await untilTrue(() => leases.strangersAtWork.waiting === 36);
  expect([leases.strangersAtWork.held, load.pressure().underWay]).toEqual([4, 4]);
  open.resolve();
  expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(sent.map(() => 404));
  expect(leases.strangersAtWork.held).toBe(0);
});

test('the changes of others hold few connections, and an account that comes is next', async () => {
  const { leases } = service.deps;
  const names = Array.from({ length: 9 }, (_, n) => `other-${n}`);
  const asked = names.map(async (name) => (await leases.changeTurns.take(name)).end);
  const held = await Promise.all(asked.slice(0, 6));
  expect(leases.changeTurns.held).toBe(6);
  const account = await service.account();
  const made = account.post('/voting-events', { title: 'In its turn', type: 'poll' });
  await untilTrue(() => leases.changes.held === 1);
  for (const end of held) end();
  for (const end of await Promise.all(asked.slice(6))) end();
  expect((await made).status).toBe(201);
});

test('of many large bodies at once, one is read at a time, and others have as long after each', async () => {
  const account = await service.account();
  const event = await account.event({}, PLURALITY);
  const HELD_MS = 20;
  const waits: number[] = [];
  let ended = Number.NEGATIVE_INFINITY;
  const { parse } = JSON;
  vi.spyOn(JSON, 'parse').mockImplementation(((...given: Parameters<typeof parse>) => {
    if (given[0].length > 500_000) {
      waits.push(performance.now() - ended);
      ended = performance.now() + HELD_MS;
      while (performance.now() < ended);
    }
    return parse(...given);
  }) as typeof parse);
  const body = JSON.stringify({ visitorId: 'x'.repeat(900_000) });
  const path = `/public/voting-events/${event.id}/ballot/cast`;
  const whole = (key: string) =>
    `${head(path, key, body.length).slice(0, -1).replace('Content-Type', 'Connection: close\r\nContent-Type')}${body}`;
  const answers = await Promise.all(Array.from({ length: 12 }, () => sendRaw(service.port, whole(account.vote))));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 422));
  expect(waits).toHaveLength(12);
  expect(Math.min(...waits)).toBeGreaterThan(HELD_MS - 2);
});

/** The longest text and the most rows that this thread made, read or sent at once, from now on. */
function watchPieces() {
  const most = { made: 0, read: 0, rows: 0, bytes: 0, judged: 0 };
  const { stringify, parse } = JSON;
  vi.spyOn(JSON, 'stringify').mockImplementation(((...given: Parameters<typeof stringify>) => {
    const text = stringify(...given);
    most.made = Math.max(most.made, text?.length ?? 0);
    return text;
  }) as typeof stringify);
  vi.spyOn(JSON, 'parse').mockImplementation(((...given: Parameters<typeof parse>) => {
    most.read = Math.max(most.read, given[0].length);
    return parse(...given);
  }) as typeof parse);
  const shape = vi.spyOn(definitionBody, 'safeParse');
  const query = pg.Client.prototype.query;
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...words: never[]) {
    const [first, second] = words as unknown[];
    const values = (Array.isArray(second) ? second : ((first as { values?: unknown[] }).values ?? [])) as unknown[];
    const lengths = values.map((value) => (typeof value === 'string' ? value.length : 0));
    most.bytes = Math.max(
      most.bytes,
      lengths.reduce((sum, length) => sum + length, 0),
    );
    const answer: unknown = Reflect.apply(query, this, words);
    if (answer instanceof Promise)
      void answer.then((result) => (most.rows = Math.max(most.rows, result?.rows?.length ?? 0)));
    return answer;
  } as typeof query);
  return () => ({ ...most, judged: shape.mock.calls.length });
}

test('a definition at the caps is judged, written, compared and sent in pieces', async () => {
  const account = await service.account();
  const file = largest('In pieces');
  const text = JSON.stringify(file);
  const others = file.candidates.map((one) => ({ ...one, name: `Other ${one.name}` }));
  const changed = JSON.stringify({ ...file, candidates: others });
  const bounds = { made: 64 * 1024, read: 64 * 1024, rows: 100, bytes: 2 * MIB };
  let most = watchPieces();
  const answers: [number, string][] = [];
  const ask = async (method: string, path: string, body?: string): Promise<void> => {
    const once = () => (body === undefined ? fetchWhole(account, path) : post(account, body, method, path));
    const answer = await patiently(once);
    answers.push([answer.status, await answer.text()]);
  };
  await ask('POST', '/voting-events/definition', text);
  const largestOf = most();
  vi.restoreAllMocks();
  expect(answers[0]).toEqual([201, expect.stringContaining('In pieces')]);
  const { id } = JSON.parse(answers[0]?.[1] ?? '').data;
  const path = `/voting-events/${id}/definition`;
  most = watchPieces();
  for (const [method, target, body] of [
    ['PUT', path, text],
    ['PUT', `${path}?dryRun=true`, changed],
    ['GET', path],
    ['GET', `/voting-events/${id}/candidates`],
  ] as const)
    await ask(method, target, body);
  const after = most();
  vi.restoreAllMocks();
  expect(answers.map(([status]) => status)).toEqual([201, 200, 200, 200, 200]);
  expect(JSON.parse(answers[3]?.[1] ?? '').data.candidates).toHaveLength(1_000);
  expect(JSON.parse(answers[2]?.[1] ?? '').data.length).toBeGreaterThan(1_000);
  for (const found of [largestOf, after]) {
    expect(found.judged).toBe(0);
    for (const [what, bound] of Object.entries(bounds))
      expect([what, found[what as keyof typeof bounds]]).toEqual([what, expect.toSatisfy((n: number) => n <= bound)]);
  }
  demand(await account.delete(`/voting-events/${id}`), 204);
});

const fetchWhole = (account: TestAccount, path: string) =>
  fetch(`${service.url}${path}`, { headers: { Authorization: `Bearer ${account.read}` } });
