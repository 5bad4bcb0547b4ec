import { get } from 'node:http';
import { describe, expect, test } from 'vitest';
import { checkScopes, createApiKey } from '#src/accounts/create-api-key.ts';
import { askPatiently, createLogKey, LogReader } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, type TestEvent, votePolls } from '#test/harness/elections.ts';
import { listOperations } from '#test/harness/operations.ts';
import { useService } from '#test/harness/test-service.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';

const service = await useService();
const account = await service.account();

async function pollWith(ballots: number, settings: Readonly<Record<string, unknown>> = {}, owner = account) {
  const event = await owner.event(settings);
  const codes = await votePolls(service, owner, event, ballots);
  return { event, codes, key: await createLogKey(service, owner, event.id) };
}

const logPath = ({ id }: TestEvent, rest: string): string => `/public/voting-events/${id}/log/${rest}`;

const READS = [
  'getLogCheckpoint',
  'getLogTile',
  'proveBallot',
  'getLogConsistency',
  'listLogOpenings',
  'proveCheckpoint',
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
  }, 120_000);

  test('reads checkpoint, tiles, proof and consistency of its event, and no other event', async () => {
    const { event, key, codes } = await pollWith(6);
    const other = await pollWith(0);
    const log = new LogReader(service, event.id, key);
    const { size } = await log.checkpoint();
    expect((await log.leaves()).length).toBe(size);
    expect(await log.prove(codes[0] ?? '')).toMatchObject({ status: 'logged' });
    expect((await log.get(`consistency?from=1&to=${size}`)).status).toBe(200);
    for (const path of ['checkpoint', 'tile/entries/000.p/1', 'consistency?from=1&to=1', 'openings'])
      expect((await askPatiently(service, 'GET', logPath(other.event, path), key)).status).toBe(404);
    const body = { confirmationCode: codes[0] };
    expect((await askPatiently(service, 'POST', logPath(other.event, 'proof'), key, body)).status).toBe(404);
  });

  test('reads openings that are public, once the result is final, and none that observers alone may read', async () => {
    const observed = await pollWith(2, { ballot: { opening: 'observer' } });
    const open = await pollWith(2, { ballot: { opening: 'public' } });
    for (const { event } of [observed, open]) await finishEvent(service, event.id);
    const read = ({ event, key }: typeof open) => askPatiently(service, 'GET', logPath(event, 'openings'), key);
    const refused = await read(observed);
    expect([refused.status, refused.body.error.details.reason]).toEqual([403, 'openings_not_available']);
    expect((await read(open)).body.data).toHaveLength(2);
  });

  test('lets the verifier check all but the published results, and says so', async () => {
    const { event, key } = await pollWith(3, { ballot: { opening: 'public' }, results: { visibility: 'live' } });
    await finishEvent(service, event.id);
    const report = await verifyLog({ read: readOverHttp(`http://127.0.0.1:${service.port}`, key), event: event.code });
    const unchecked = report.checks.filter(({ status }) => status !== 'verified' && status !== 'not_asked');
    expect(unchecked).toEqual([
      { name: 'recount', status: 'left_out', detail: 'the results are not public, or take another key' },
    ]);
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
    const target = logPath(event, 'checkpoint');
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
    const target = logPath(event, 'proof');
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

interface Counted {
  readonly status: number | undefined;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfter: number;
}

/** Asks from an address of this machine. */
function from(localAddress: string, target: string, key: string): Promise<Counted> {
  const headers = { Authorization: `Bearer ${key}` };
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
