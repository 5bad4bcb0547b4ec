import { get } from 'node:http';
import { describe, expect, test } from 'vitest';
import { unauthorized } from '#src/accounts/authenticate.ts';
import { LogReader } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, PLURALITY, sealBallots, type TestEvent, votePolls } from '#test/harness/elections.ts';
import { listOperations } from '#test/harness/operations.ts';
import { useService } from '#test/harness/test-service.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';

const service = await useService({ worker: false });
const account = await service.account();

const OPEN = { log: { open: true } };

async function pollWith(ballots: number, settings: Readonly<Record<string, unknown>> = {}) {
  const event = await account.event(settings);
  return { event, codes: await votePolls(service, account, event, ballots) };
}

const logPath = (reference: string, rest: string): string => `/public/voting-events/${reference}/log/${rest}`;
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
    expect([refused.status, refused.body.error.details.reason]).toEqual([403, 'openings_not_available']);
    expect((await ask('GET', logPath(open.event.id, 'openings'))).body.data).toHaveLength(2);
  });

  test('is verified without a key, and what takes one is named', async () => {
    const { event } = await pollWith(3, { ...OPEN, ballot: { opening: 'public' }, results: { visibility: 'live' } });
    await finishEvent(service, event.id);
    const read = readOverHttp(`http://127.0.0.1:${service.port}`, undefined);
    const report = await verifyLog({ read, event: event.code });
    expect(report.checks.filter(({ status }) => status !== 'verified' && status !== 'not_asked')).toEqual([
      { name: 'recount', status: 'left_out', detail: 'the results are not public, or take another key' },
    ]);
    expect(report.verified).toBe('partial');
    const closed = await pollWith(1);
    const none = await verifyLog({ read, event: closed.event.id });
    expect([none.verified, none.checks.at(-1)?.detail]).toEqual([
      'partial',
      expect.stringContaining('asks for a valid key'),
    ]);
  });

  test('is limited by address, and takes nothing from any key', async () => {
    const { event } = await pollWith(0, OPEN);
    const target = logPath(event.id, 'checkpoint');
    const answers = await Promise.all(Array.from({ length: 200 }, () => statusFrom('127.0.0.18', target)));
    expect(new Set(answers)).toEqual(new Set([200, 429]));
    expect(await statusFrom('127.0.0.19', target)).toBe(200);
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

function statusFrom(localAddress: string, target: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port: service.port, path: target, localAddress, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).on('error', reject);
  });
}
