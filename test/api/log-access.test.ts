import { get } from 'node:http';
import { describe, expect, test } from 'vitest';
import { unauthorized } from '#src/accounts/authenticate.ts';
import { checkScopes, createApiKey } from '#src/accounts/create-api-key.ts';
import { demand, refusalOf } from '#test/harness/answers.ts';
import { askPatiently, createLogKey, LogReader, verifyOverHttp } from '#test/harness/ballot-log.ts';
import { finishEvent, PLURALITY, sealBallots, type TestEvent, votePolls } from '#test/harness/elections.ts';
import { listOperations } from '#test/harness/operations.ts';
import { useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount({ worker: false });

async function pollWith(ballots: number, settings: Readonly<Record<string, unknown>> = {}, owner = account) {
  const event = await owner.event(settings);
  const codes = await votePolls(service, owner, event, ballots);
  return { event, codes, key: await createLogKey(service, owner, event.id) };
}

const logPath = (reference: string, rest: string): string => `/public/voting-events/${reference}/log/${rest}`;

const READS = [
  ...['getLogCheckpoint', 'getLogTile', 'proveBallot', 'getLogConsistency'],
  ...['listLogConfigurations', 'listLogOpenings', 'proveCheckpoint'],
];

const OPEN = { log: { open: true } };
/** What a verifier that cannot read the results leaves out, and says so. */
const WITHOUT_RESULTS = [
  {
    ...{ name: 'not disputed', status: 'left_out' },
    detail: 'the results, which would say so, are not public, or take another key',
  },
  { name: 'recount', status: 'left_out', detail: 'the results are not public, or take another key' },
];

describe('a log key', () => {
  test('is refused by every route but those of the log, /me and those without a key', async () => {
    const { event, key } = await pollWith(1);
    const operations = listOperations(service.deps);
    const keyed = operations.filter(({ scope }) => scope !== 'none' && scope !== 'any');
    expect(keyed.length).toBeGreaterThan(60);
    const free = keyed.filter(({ scope }) => [scope].flat().includes('log'));
    expect(free.map(({ operationId }) => operationId).sort()).toEqual([...READS].sort());
    for (const { operationId, method, path } of keyed.filter((one) => !free.includes(one))) {
      const target = path.replace(':idOrCode', event.id).replaceAll(/:\w+(\{.+\})?/g, 'x');
      const answer = await askPatiently(service, method, target, key);
      expect([operationId, answer.status, answer.body.error.code]).toEqual([operationId, 403, 'insufficient_scope']);
    }
    const me = demand(await askPatiently(service, 'GET', '/me', key), 200);
    expect(me.key).toMatchObject({ scopes: ['log'], hint: expect.stringMatching(/^vlk_…/) });
  });

  test('reads checkpoint, tiles, proof and consistency of its event, and no other event', async () => {
    const { event, key, codes } = await pollWith(6);
    const other = await pollWith(0);
    const log = new LogReader(service, event.id, key);
    const { size } = await log.checkpoint();
    expect((await log.leaves()).length).toBe(size);
    expect(await log.prove(codes[0] ?? '')).toMatchObject({ status: 'logged' });
    expect((await log.get(`consistency?from=1&to=${size}`)).status).toBe(200);
    for (const path of ['checkpoint', 'tile/entries/000.p/1', 'consistency?from=1&to=1', 'openings'])
      expect((await askPatiently(service, 'GET', logPath(other.event.id, path), key)).status).toBe(404);
    const body = { confirmationCode: codes[0] };
    expect((await askPatiently(service, 'POST', logPath(other.event.id, 'proof'), key, body)).status).toBe(404);
  });

  test('reads openings that are public, once the result is final, and none that observers alone may read', async () => {
    const observed = await pollWith(2, { ballot: { opening: 'observer' } });
    const open = await pollWith(2, { ballot: { opening: 'public' } });
    for (const { event } of [observed, open]) await finishEvent(service, event.id);
    const read = ({ event, key }: typeof open) => askPatiently(service, 'GET', logPath(event.id, 'openings'), key);
    expect(refusalOf(await read(observed))).toEqual([403, 'openings_not_available']);
    expect((await read(open)).body.data).toHaveLength(2);
  });

  test('lets the verifier check all but the published results, and says so', async () => {
    const { event, key } = await pollWith(3, { ballot: { opening: 'public' }, results: { visibility: 'live' } });
    await finishEvent(service, event.id);
    const report = await verifyOverHttp(service, event.code, key);
    expect(report.open).toEqual(WITHOUT_RESULTS);
    expect(report.checks.map(({ name }) => name)).toEqual(expect.arrayContaining(['openings', 'close', 'weight']));
    expect(report.verified).toBe('partial');
  });

  test('stands alone, and belongs to one event', async () => {
    for (const other of ['read', 'write', 'vote', 'observe'] as const)
      expect(() => checkScopes(['log', other])).toThrow('stand alone');
    const input = { accountId: account.id, name: 'voters', scopes: ['log'] as const, expiresInDays: null };
    const made = createApiKey(service.deps.db, service.deps, { ...input, votingEventId: null });
    await expect(made).rejects.toMatchObject({ code: 'validation_error' });
  });

  test('gives each address a share of its own, and takes nothing of the key for what it refuses there', async () => {
    const { event, key } = await pollWith(0);
    const target = logPath(event.id, 'checkpoint');
    const answers = await Promise.all(Array.from({ length: 200 }, () => from('127.0.0.8', target, key)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    const { limit, remaining } = refused[0] ?? { limit: 0, remaining: 0 };
    expect([limit, refused[0]?.retryAfter]).toEqual([240_000, 1]);
    // 40,000 may come at once: what was refused is not among what was taken.
    expect(remaining).toBeGreaterThan(40_000 - 1 - (answers.length - refused.length));
    expect((await from('127.0.0.9', target, key)).status).toBe(200);
    // A voting page's key isn't counted by address.
    const page = await Promise.all(Array.from({ length: 60 }, () => from('127.0.0.8', target, account.vote)));
    expect(new Set(page.map(({ status }) => status))).toEqual(new Set([200]));
  });

  test('counts wrong confirmation codes of each address, and a right one passes', async () => {
    const { event, key, codes } = await pollWith(1);
    const target = logPath(event.id, 'proof');
    const wrong = '0'.repeat(26);
    let refusals = 0;
    for (let asked = 0; asked < 200 && refusals === 0; asked += 1) {
      const answer = await askPatiently(service, 'POST', target, key, { confirmationCode: wrong });
      if (answer.status === 429) refusals += 1;
      else expect(answer.status).toBe(404);
    }
    expect(refusals).toBe(1);
    const another = await createLogKey(service, account, event.id);
    const still = await askPatiently(service, 'POST', target, another, { confirmationCode: wrong });
    expect(still.status).toBe(429);
    expect((await askPatiently(service, 'POST', target, key, { confirmationCode: codes[0] })).status).toBe(200);
  });
});

const change = (event: TestEvent, body: unknown) => account.patch(`/voting-events/${event.id}`, body);

/** Asks without a key; waits where the address has asked too often, as any client does. */
async function ask(method: string, target: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) {
  for (;;) {
    const answer = await service.call(method, target, body, { headers });
    const tooBusy = answer.status === 429 && String(answer.body.error.message).includes('this address');
    if (!tooBusy) return answer;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

describe('an open log', () => {
  test('answers checkpoint, tiles, proofs and consistency without a key, by ID and by code in any case', async () => {
    const { event, codes } = await pollWith(3, OPEN);
    for (const reference of [event.id, event.code, event.code.toLowerCase()]) {
      const head = await ask('GET', logPath(reference, 'checkpoint'));
      expect([head.status, head.headers.get('cache-control')]).toEqual([200, 'no-store']);
      expect(head.headers.get('access-control-allow-origin')).toBeNull();
      expect(head.body).toBe((await new LogReader(service, event.id, account.vote).get('checkpoint')).body);
    }
    const tile = await ask('GET', logPath(event.id, 'tile/entries/000.p/2'));
    expect([tile.status, tile.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable']);
    expect((await ask('GET', logPath(event.id, 'consistency?from=1&to=2'))).status).toBe(200);
    const body = { confirmationCode: codes[0] };
    const proof = await ask('POST', logPath(event.id, 'proof'), body);
    expect(demand(proof, 200)).toMatchObject({ status: 'logged' });
  });

  test('is read by no other route, and with a key as before', async () => {
    const { event } = await pollWith(1, OPEN);
    const stranger = await service.account();
    expect((await new LogReader(service, event.id, stranger.vote).get('checkpoint')).status).toBe(404);
    expect((await new LogReader(service, event.id, account.write).get('checkpoint')).status).toBe(403);
    expect((await new LogReader(service, event.id, 'nonsense').get('checkpoint')).status).toBe(401);
    const keyed = listOperations(service.deps).filter(({ scope, path }) => scope !== 'none' && !path.includes('/log/'));
    expect(keyed.length).toBeGreaterThan(60);
    const seen = new Set<number>();
    for (const { method, path } of keyed) {
      const target = path.replace(':idOrCode', event.id).replaceAll(/:\w+(\{.+\})?/g, 'x');
      seen.add((await service.call(method, target)).status);
    }
    // 429: too many without a key from one address.
    expect(seen).toEqual(new Set([401, 429]));
  });

  test('is what the organizer says now: closed again, it is closed to all without a key', async () => {
    const { event } = await pollWith(1);
    const read = () => ask('GET', logPath(event.id, 'checkpoint'));
    expect((await read()).status).toBe(401);
    expect(demand(await change(event, OPEN), 200).log).toEqual({ open: true });
    expect((await read()).status).toBe(200);
    expect(demand(await change(event, { log: { open: false } }), 200).log).toEqual({ open: false });
    expect((await read()).status).toBe(401);
    await finishEvent(service, event.id);
    demand(await change(event, OPEN), 200);
    expect((await read()).status).toBe(200);
  });

  test('is no part of the configuration: no leaf is written when it is opened or closed', async () => {
    const { event } = await pollWith(1);
    const log = new LogReader(service, event.id, account.vote);
    const before = await log.leaves();
    demand(await change(event, OPEN), 200);
    await sealBallots(service, event.id, 1);
    expect(await log.leaves()).toEqual(before);
    demand(await change(event, { title: 'Another title' }), 200);
    await sealBallots(service, event.id, 1);
    expect((await log.leaves()).length).toBe(before.length + 1);
  });

  test('cannot be told apart from one that is not there, where it is not open', async () => {
    const { event } = await pollWith(1);
    const draft = await account.event(OPEN, PLURALITY, false);
    const answers = await Promise.all(
      [event.id, event.code, draft.id, 'evt_00000000000000000000000000', 'NOSUCH1'].map((one) =>
        ask('GET', logPath(one, 'consistency?nothing=known')),
      ),
    );
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body.error.code]))).size).toBe(1);
    expect(answers[0]?.status).toBe(401);
    const words = answers.map(({ body }) => body.error.message);
    expect(new Set(words)).toEqual(new Set([unauthorized().message]));
  });

  test('opens ballots where everybody may read them, and to nobody else without a key', async () => {
    const observed = await pollWith(2, { ...OPEN, ballot: { opening: 'observer' } });
    const open = await pollWith(2, { ...OPEN, ballot: { opening: 'public' } });
    for (const { event } of [observed, open]) await finishEvent(service, event.id);
    const refused = await ask('GET', logPath(observed.event.id, 'openings'));
    expect(refusalOf(refused)).toEqual([403, 'openings_not_available']);
    expect((await ask('GET', logPath(open.event.id, 'openings'))).body.data).toHaveLength(2);
  });

  test('is verified without a key, and what takes one is named', async () => {
    const { event } = await pollWith(3, { ...OPEN, ballot: { opening: 'public' }, results: { visibility: 'live' } });
    await finishEvent(service, event.id);
    const report = await verifyOverHttp(service, event.code, undefined);
    expect([report.verified, report.open]).toEqual(['partial', WITHOUT_RESULTS]);
    const closed = await pollWith(1);
    const none = await verifyOverHttp(service, closed.event.id, undefined);
    expect([none.verified, none.checks.at(-1)?.detail]).toEqual([
      'partial',
      expect.stringContaining('asks for a valid key'),
    ]);
  });

  test('is limited by address, and takes nothing from any key', async () => {
    const { event } = await pollWith(0, OPEN);
    const target = logPath(event.id, 'checkpoint');
    const answers = await Promise.all(Array.from({ length: 200 }, () => from('127.0.0.18', target)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
    expect((await from('127.0.0.19', target)).status).toBe(200);
  });

  test('passes over an Idempotency-Key: two strangers may call different requests the same', async () => {
    const { event, codes } = await pollWith(2, OPEN);
    const prove = (confirmationCode: string | undefined) =>
      ask('POST', logPath(event.id, 'proof'), { confirmationCode }, { 'Idempotency-Key': 'proof-1' });
    const answers = [await prove(codes[0]), await prove(codes[1])];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const rows = await service.query("SELECT 1 FROM idempotency_keys WHERE api_key_id = ''");
    expect(rows).toEqual([]);
  });
});

interface Counted {
  readonly status: number | undefined;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfter: number;
}

/** Asks from an address of this machine. */
function from(localAddress: string, target: string, key?: string): Promise<Counted> {
  const headers = key === undefined ? {} : { Authorization: `Bearer ${key}` };
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port: service.port, path: target, localAddress, headers, agent: false }, (answer) => {
      answer.resume();
      const number = (name: string): number => Number(answer.headers[name]);
      resolve({
        status: answer.statusCode,
        limit: number('x-ratelimit-limit'),
        remaining: number('x-ratelimit-remaining'),
        retryAfter: number('retry-after'),
      });
    }).on('error', reject);
  });
}
