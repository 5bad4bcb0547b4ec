import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { generateApiKey } from '#src/accounts/api-key.ts';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { METHODS } from '#src/http/operation.ts';
import { refusalOf, valuesOf } from '#test/harness/answers.ts';
import { type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { listOperations } from '#test/harness/operations.ts';
import { useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount();

describe('every route', () => {
  test('refuses a missing, malformed, unknown, revoked and expired key in the same words', async () => {
    const revoked = await service.account();
    await service.query('UPDATE api_keys SET revoked_at = 1 WHERE account_id = $1', [revoked.id]);
    const asked = { accountId: revoked.id, name: 'Of yesterday', scopes: ['read'], votingEventId: null } as const;
    const expired = await createApiKey(service.deps.db, service.deps, { ...asked, expiresInDays: -1 });
    const keys = ['nonsense', generateApiKey(['read']), `${account.read.slice(0, -1)}_`, revoked.read, expired.key];
    const answers = await Promise.all([
      service.call('GET', '/voting-events'),
      ...keys.map((key) => service.call('GET', '/voting-events', undefined, { key })),
    ]);
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 401));
    expect(new Set(answers.map((answer) => JSON.stringify({ ...answer.body.error, requestId: '' }))).size).toBe(1);
  });

  test('refuses a key without its scope: to vote, to read or to write', async () => {
    const held = { read: ['read'], write: ['read', 'write'], vote: ['vote'] } as const;
    // A letter holds the key to vote; any key of an organizer accepts an invite.
    const apart: Readonly<Record<string, string>> = { getLettersPdf: 'write', acceptInvite: 'read' };
    for (const { method, path, scope, operationId } of listOperations(service.deps)) {
      if (scope === 'none' || scope === 'any') continue;
      const usual = path.startsWith('/public/') ? 'vote' : method === 'GET' ? 'read' : 'write';
      expect([operationId, [scope].flat()[0]]).toEqual([operationId, apart[operationId] ?? usual]);
      for (const [name, own] of Object.entries(held)) {
        if (own.some((one) => [scope].flat().includes(one))) continue;
        const key = account[name as keyof typeof held];
        const answer = await service.call(method, path.replaceAll(/:\w+/g, 'x'), undefined, { key });
        expect([operationId, name, ...refusalOf(answer)]).toEqual([operationId, name, 403, 'insufficient_scope']);
      }
    }
  });

  test('carries the request ID, the limits of its key, and no trace of the program', async () => {
    const headers = { 'X-Request-Id': 'my-request_1' };
    const answer = await service.call('GET', '/me', undefined, { key: account.read, headers });
    const shown = { account: { id: account.id, plan: 'enterprise' }, key: { scopes: ['read'] } };
    expect(answer.body.data).toMatchObject(shown);
    expect(answer.headers.get('x-request-id')).toBe('my-request_1');
    expect(answer.headers.get('x-ratelimit-limit')).toBe('12000');
    expect(Number(answer.headers.get('x-ratelimit-remaining'))).toBeLessThan(2_000);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect([answer.headers.get('server'), answer.headers.get('x-powered-by')]).toEqual([null, null]);
  });

  test('tells which methods an address takes', async () => {
    const patterns = Map.groupBy(listOperations(service.deps), ({ path }) => path.replaceAll(/:\w+(\{.+\})?/g, 'x'));
    // Also the code that an event may have.
    patterns.delete('/voting-events/definition');
    for (const [path, operations] of patterns) {
      const taken = METHODS.filter((method) => operations.some((one) => one.method === method));
      const allow = taken.join(', ').replace('GET', 'GET, HEAD');
      for (const method of new Set(METHODS).difference(new Set(taken))) {
        const answer = await service.call(method, path, undefined, { key: account.write });
        expect([method, path, ...refusalOf(answer)]).toEqual([method, path, 400, 'bad_request']);
        expect([method, path, answer.headers.get('allow')]).toEqual([method, path, allow]);
      }
    }
    expect((await service.call('HEAD', '/voting-events', undefined, { key: account.read })).status).toBe(200);
  });
});

describe('the request limit', () => {
  test('refuses what goes over the burst, with the time to wait', async () => {
    const free = await service.account('free');
    const answers = await Promise.all(Array.from({ length: 40 }, () => free.get('/me')));
    const refused = answers.filter((answer) => answer.status === 429);
    expect(refused.length).toBeGreaterThan(10);
    expect(refused[0]?.body.error.code).toBe('rate_limited');
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });
});

describe('an Idempotency-Key', () => {
  const create = (key: string, body: unknown, on = service) =>
    on.call('POST', '/voting-events', body, { key: account.write, headers: { 'Idempotency-Key': key } });

  test('gives the first answer again, and makes its effect once', async () => {
    const first = await create('once', { title: 'Once', type: 'poll', description: null });
    const again = await create('once', { type: 'poll', description: null, title: 'Once' });
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body).toEqual(first.body);
    expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
  });

  test('refuses another request under the same key', async () => {
    await create('other', { title: 'A', type: 'poll' });
    expect(refusalOf(await create('other', { title: 'B', type: 'poll' }))).toEqual([422, 'idempotency_mismatch']);
    const invalid = await create('other', { title: '' });
    expect(invalid.body.error.code).toBe('idempotency_mismatch');
  });

  test('is looked up after the resource that the address names: what is not there is 404, whatever the key was used for', async () => {
    const event = await account.event();
    const hook = await account.post('/webhook-endpoints', {
      ...{ url: 'https://receiver.example/hooks', eventTypes: ['voting_event.closed'] },
    });
    const headers = { 'Idempotency-Key': 'used' };
    const ask = (path: string, scope: unknown, body: unknown) =>
      service.call('POST', path, body, { key: scope === 'write' ? account.write : account.vote, headers });
    await ask('/voting-events', 'write', { title: 'Used', type: 'poll' });
    await ask(`/public/voting-events/${event.id}/voter/check`, 'vote', { visitorId: visitor() });
    const routes = listOperations(service.deps).filter(({ method, path, scope }) => {
      const isKeyed = method === 'POST' && scope !== 'none';
      return isKeyed && path.includes('/:');
    });
    const answers = await Promise.all(
      routes.map(async ({ path, scope }) => {
        const known = path.startsWith('/webhook-endpoints') ? hook.body.data.id : event.id;
        const target = path.replace(/:\w+(?=[^:]*$)/, 'unknown').replace(/:\w+/, known);
        return [path, ...refusalOf(await ask(target, scope, { note: 'another body' }))];
      }),
    );
    expect(answers.length).toBeGreaterThan(20);
    expect(answers.filter(([, status]) => status !== 404)).toEqual([]);
  });

  test('is not used up by a body that is refused', async () => {
    expect((await create('typo', { title: '', type: 'poll' })).status).toBe(422);
    expect((await create('typo', { title: 'Right', type: 'poll' })).status).toBe(201);
  });

  test('keeps an error that the handler decided', async () => {
    await create('code-1', { title: 'A', type: 'poll', code: 'TAKEN123' });
    const first = await create('code-2', { title: 'B', type: 'poll', code: 'TAKEN123' });
    const again = await create('code-2', { title: 'B', type: 'poll', code: 'TAKEN123' });
    expect([first.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([409, 409, 'true']);
  });

  test('is settled on every POST, those without a change too', async () => {
    const event = await account.event();
    const who = { visitorId: `vi_${'a'.repeat(32)}` };
    const check = () => account.page(event, 'voter/check', who, { 'Idempotency-Key': 'check-1' });
    const [first, again] = [await check(), await check()];
    expect([first.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 200, 'true']);
    expect(again.body).toEqual(first.body);
  });

  test('leaves no confirmation code in clear in the database', async () => {
    const event = await account.event();
    const body = { visitorId: visitor(), votes: votesFor(event) };
    const cast = await account.page(event, 'ballot/cast', body, { 'Idempotency-Key': 'cast-2' });
    const rows = await service.query<{ row: string }>(
      'SELECT idempotency_keys::text AS row FROM idempotency_keys UNION ALL SELECT pending_ballots::text FROM pending_ballots',
    );
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.filter(({ row }) => row.includes(cast.body.data.confirmationCode))).toEqual([]);
  });
});

describe('the public context and ballot', () => {
  test('may be kept by the customer’s server, and are asked for again by their tag', async () => {
    const event = await account.event();
    for (const path of ['', '/ballot']) {
      const target = `/public/voting-events/${event.id}${path}`;
      const read = (tag?: string) =>
        service.fetch(target, {
          key: account.vote,
          ...(tag === undefined ? {} : { headers: { 'If-None-Match': tag } }),
        });
      const first = await read();
      const tag = first.headers.get('etag') ?? '';
      expect([path, first.headers.get('cache-control')]).toEqual([path, 'private, no-cache']);
      expect(tag).toMatch(/^W\/".+"$/);
      const again = await read(tag);
      expect([path, again.status, await again.text()]).toEqual([path, 304, '']);
      await account.patch(`/voting-events/${event.id}`, { title: `Changed ${path}` });
      service.deps.events.forget(event.id);
      expect([path, (await read(tag)).status]).toEqual([path, path === '' ? 200 : 304]);
    }
  });
});

const CANDIDATES = Array.from({ length: 40 }, (_, index) => `Candidate ${index}`);

const plan = { votingMethod: 'approval', candidates: CANDIDATES };
const shuffled = await account.event({ ballot: { candidateOrder: 'shuffled' } }, [plan, plan]);

/** Answers as they come over the wire, not unpacked. */
async function getBallot(event: TestEvent, query = '', headers: Record<string, string> = {}) {
  const url = `${service.url}/public/voting-events/${event.id}/ballot${query}`;
  const answer = await request(url, { headers: { authorization: `Bearer ${account.vote}`, ...headers } });
  return {
    status: answer.statusCode,
    headers: answer.headers,
    bytes: Buffer.from(await answer.body.arrayBuffer()),
  };
}

/** The names on a ballot, of one position or all. */
function namesOf(bytes: Buffer, positionId?: string): string[] {
  const { candidates } = JSON.parse(bytes.toString()).data as {
    candidates: { name: string; positionIds: string[] }[];
  };
  const shown = candidates.filter(({ positionIds }) => positionId === undefined || positionIds.includes(positionId));
  return valuesOf(shown, 'name');
}

describe('a ballot', () => {
  test('is not sent again to who has it, and is as soon as it changed', async () => {
    const event = await account.event();
    const first = await getBallot(event);
    expect(first.headers['cache-control']).toBe('private, no-cache');
    const tag = String(first.headers['etag']);
    for (const condition of [tag, tag.replace('W/', ''), `"other", ${tag}`, '*']) {
      const again = await getBallot(event, '', { 'if-none-match': condition });
      expect([again.status, again.bytes.length, again.headers['etag']]).toEqual([304, 0, tag]);
    }
    expect((await getBallot(event, '', { 'if-none-match': '"other"' })).status).toBe(200);
    const [candidate] = event.positions[0]?.candidates ?? [];
    const path = `/voting-events/${event.id}/candidates/${candidate}`;
    await account.change(path, { description: 'New words' });
    const changed = await getBallot(event, '', { 'if-none-match': tag });
    expect(changed.status).toBe(200);
    expect(changed.headers['etag']).not.toBe(tag);
    expect(changed.bytes.toString()).toContain('New words');
  });

  test('comes compressed to who takes that, and says the same', async () => {
    const plain = await getBallot(shuffled, '?seed=voter-1');
    expect(plain.headers['content-encoding']).toBeUndefined();
    for (const accepts of ['gzip', 'br, gzip;q=0.5', '*', 'GZIP']) {
      const packed = await getBallot(shuffled, '?seed=voter-1', { 'accept-encoding': accepts });
      expect(packed.headers['content-encoding']).toBe('gzip');
      expect(packed.headers['vary']).toBe('Accept-Encoding');
      expect(packed.headers['etag']).toBe(plain.headers['etag']);
      expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 2);
      expect(gunzipSync(packed.bytes)).toEqual(plain.bytes);
    }
    for (const refuses of ['br', 'gzip;q=0', 'identity', '*;q=0']) {
      const answer = await getBallot(shuffled, '?seed=voter-1', { 'accept-encoding': refuses });
      expect(answer.headers['content-encoding']).toBeUndefined();
      expect(answer.bytes).toEqual(plain.bytes);
    }
  });

  test('takes a seed for the same however it is typed', async () => {
    const ask = async (seed: string) => namesOf((await getBallot(shuffled, `?seed=${encodeURIComponent(seed)}`)).bytes);
    const order = await ask('S\u00e9bastien 7');
    for (const seed of ['Se\u0301bastien 7', ' S\u00e9bastien 7 ']) expect(await ask(seed)).toEqual(order);
    for (const seed of ['s\u00e9bastien 7', 'Sebastien 7']) expect(await ask(seed)).not.toEqual(order);
  });

  test('keeps its order for a seed, differs between seeds, and is complete in every order', async () => {
    const orders = new Set<string>();
    for (let voter = 0; voter < 40; voter += 1) {
      const { bytes } = await getBallot(shuffled, `?seed=voter-${voter}`);
      expect((await getBallot(shuffled, `?seed=voter-${voter}`)).bytes).toEqual(bytes);
      const [first, second] = shuffled.positions.map(({ id }) => namesOf(bytes, id));
      for (const names of [first, second]) expect(names?.toSorted()).toEqual(CANDIDATES.toSorted());
      orders.add(namesOf(bytes).join());
      // Two positions of one ballot are shuffled independently.
      expect(first).not.toEqual(second);
    }
    expect(orders.size).toBeGreaterThan(25);
  });

  describe('whose positions share candidates', () => {
    /** Ada and Bea stand for both offices, Cleo for the second alone; the organizer lists Cleo first. */
    async function deputies(candidateOrder: 'fixed' | 'shuffled') {
      const event = await account.event({ ballot: { candidateOrder } }, [], false);
      const own = account.of(event);
      const [chair, deputy] = [
        await own.make('/positions', office('Chair')),
        await own.make('/positions', office('Deputy')),
      ];
      const both = [chair.id, deputy.id];
      for (const [sortOrder, name] of ['Cleo', 'Ada', 'Bea'].entries())
        await own.make('/candidates', { name, sortOrder, positionIds: name === 'Cleo' ? [deputy.id] : both });
      await own.change('', { status: 'open' });
      return async (seed: number) => namesOf((await getBallot(event, `?seed=${seed}`)).bytes, deputy.id);
    }
    const office = (title: string) => ({ title, votingMethod: 'plurality' });

    test('lists the candidates of each in the order of the organizer', async () => {
      expect(await (await deputies('fixed'))(1)).toEqual(['Cleo', 'Ada', 'Bea']);
    });

    test('puts each candidate of each first as often as another', async () => {
      const read = await deputies('shuffled');
      const firsts = await Promise.all(Array.from({ length: 60 }, async (_, seed) => (await read(seed))[0]));
      // Each 20 times on average; below 5 once in a hundred thousand.
      for (const name of ['Ada', 'Bea', 'Cleo']) expect(firsts.filter((one) => one === name).length).toBeGreaterThan(4);
    });
  });
});
