import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { demand, type TestEvent } from '#test/harness/elections.ts';
import { useService } from '#test/harness/test-service.ts';

const CANDIDATES = Array.from({ length: 40 }, (_, index) => `Candidate ${index}`);

const service = await useService();
const account = await service.account();
const plan = { votingMethod: 'approval', candidates: CANDIDATES };
const shuffled = await account.event({ ballot: { candidateOrder: 'shuffled' } }, [plan, plan]);

/** Answers as they come over the wire, not unpacked. */
async function getBallot(event: TestEvent, query = '', headers: Record<string, string> = {}) {
  const url = `http://127.0.0.1:${service.port}/public/voting-events/${event.id}/ballot${query}`;
  const answer = await request(url, { headers: { authorization: `Bearer ${account.vote}`, ...headers } });
  return {
    status: answer.statusCode,
    headers: answer.headers,
    bytes: Buffer.from(await answer.body.arrayBuffer()),
  };
}

const namesOf = (bytes: Buffer): string[] =>
  JSON.parse(bytes.toString()).data.candidates.map(({ name }: { name: string }) => name);

describe('a ballot', () => {
  test('is not sent again to who has it, and is as soon as it changed', async () => {
    const event = await account.event({}, [{ votingMethod: 'plurality', candidates: ['A', 'B'] }]);
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
    demand(await account.patch(path, { description: 'New words' }), 200);
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
      const names = namesOf((await getBallot(shuffled, `?seed=voter-${voter}`)).bytes);
      expect(namesOf((await getBallot(shuffled, `?seed=voter-${voter}`)).bytes)).toEqual(names);
      expect(names.slice(0, CANDIDATES.length).toSorted()).toEqual(CANDIDATES.toSorted());
      expect(names.length).toBe(2 * CANDIDATES.length);
      orders.add(names.join());
      // Two positions of one ballot are shuffled independently.
      expect(names.slice(0, 40)).not.toEqual(names.slice(40));
    }
    expect(orders.size).toBeGreaterThan(25);
  });
});
