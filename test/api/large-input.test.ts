import { describe, expect, test, vi } from 'vitest';
import { useService } from '#test/harness/test-service.ts';

const service = await useService();
const account = await service.account();
const settings = { type: 'election', voter: { selfRegistration: true } };
const event = await account.event(settings, [{ votingMethod: 'approval', candidates: ['Ada'] }]);

/** How long an answer took, and what it was. The service shares this process, so its work is all of the time. */
async function timed(method: string, target: string, body: unknown, key = account.write) {
  const begin = performance.now();
  const answer = await service.call(method, target, body, { key });
  return { ms: performance.now() - begin, status: answer.status, size: JSON.stringify(answer.body).length };
}

describe('a text that is long before it is normalised', () => {
  // Marks of different classes in a bad order: putting them into the right one takes the square of their number.
  const marks = (count: number) => `a${'\u0316\u0301'.repeat(count / 2)}`;

  /** Every place that takes a text. */
  function requestsWith(long: string): [string, string, object, string?][] {
    const base = `/voting-events/${event.id}`;
    return [
      ['POST', '/voting-events', { title: long, type: 'poll' }],
      ['POST', '/voting-events', { title: 'x', description: long, type: 'poll' }],
      ['POST', '/voting-events', { title: 'x', timeZone: long, type: 'poll' }],
      ['PATCH', base, { code: long }],
      ['POST', `${base}/positions`, { title: long, votingMethod: 'plurality' }],
      ['POST', `${base}/groups`, { name: long }],
      ['POST', `${base}/sponsors`, { name: 'x', tier: long }],
      ['POST', `${base}/sponsors`, { name: 'x', logoUrl: `https://x.example/${long}` }],
      ['POST', `${base}/voters`, { name: long, voterId: 'x' }],
      ['POST', `${base}/voters`, { name: 'x', email: `${long}@x.example` }],
      ['POST', `${base}/voters/batch`, { voters: [{ name: 'x', voterId: long }] }],
      ['POST', `/public${base}/register/voter`, { name: long, email: 'a@x.example' }, account.vote],
      ['POST', `/public${base}/voter-key/request`, { voterId: long }, account.vote],
      ['POST', `/public${base}/ballot/cast`, { voterKey: long, voterId: long, votes: [] }, account.vote],
      ['POST', `/public${base}/ballot/confirm`, { confirmationCode: long }, account.vote],
    ];
  }

  test('is refused wherever a text is taken, without being normalised', async () => {
    const normalised = vi.spyOn(String.prototype, 'normalize');
    // One has many marks in a row, the other is long and nothing else.
    for (const long of [marks(160_000), 'xy'.repeat(80_000)]) {
      for (const [method, target, body, key] of requestsWith(long)) {
        const answer = await timed(method, target, body, key);
        expect([target, Object.keys(body), answer.status]).toEqual([target, Object.keys(body), 422]);
        expect(answer.ms).toBeLessThan(500);
        expect(answer.size).toBeLessThan(5_000);
      }
    }
    const longest = Math.max(0, ...normalised.mock.contexts.map((text) => String(text).length));
    normalised.mockRestore();
    // The longest texts of the API, 5,000 characters, of eight parts each.
    expect(longest).toBeLessThanOrEqual(40_000);
    const searched = await timed(
      'GET',
      `/voting-events/${event.id}/voters?search=${encodeURIComponent(marks(1_600))}`,
      undefined,
    );
    expect(searched.status).toBe(400);
  });

  test('may have thirty combining marks in a row, and no more', async () => {
    const create = (title: string) => timed('POST', '/voting-events', { title, type: 'poll' });
    expect((await create(`${marks(30)} ${marks(30)}`)).status).toBe(201);
    expect((await create(`${marks(30)}\u0301`)).status).toBe(422);
  });

  test('counts its length after it was normalised and trimmed', async () => {
    const create = (title: string) => timed('POST', '/voting-events', { title, type: 'poll' });
    expect((await create(`${' '.repeat(5_000)}${'e\u0301'.repeat(200)}`)).status).toBe(201);
    expect((await create('e\u0301'.repeat(201))).status).toBe(422);
  });
});

test('the answer to a body of long unknown names is short', async () => {
  const body = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`${index}${'x'.repeat(9_000)}`, 1]));
  const answer = await timed('POST', '/voting-events', body);
  expect(answer.status).toBe(422);
  expect(answer.size).toBeLessThan(20_000);
});
