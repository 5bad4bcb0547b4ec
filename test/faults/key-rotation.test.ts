import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvent, demand, type TestEvent, visitor } from '#test/harness/elections.ts';
import { mailedVoterKey } from '#test/harness/mails.ts';
import { createTestAccount, startTestService, type TestAccount, type TestService } from '#test/harness/test-service.ts';

const OLD = randomBytes(32).toString('base64');
const NEW = randomBytes(32).toString('base64');
const PLURALITY = { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] };

let before: TestService;
let after: TestService;
let account: TestAccount;

beforeAll(async () => {
  before = await startTestService({ secretKey: OLD });
  // The same database and mail folder under the new key followed by the old one.
  after = await before.under(`${NEW},${OLD}`);
  account = await createTestAccount(before);
});
afterAll(async () => {
  await after.stop();
  await before.stop();
});

const votesFor = ({ positions: [position] }: TestEvent) => [
  { positionId: position?.id, candidateId: position?.candidates[0] },
];
const post = (on: TestService, path: string, body: unknown, key: string, headers = {}) =>
  on.call('POST', path, body, { key, headers });

describe('after SECRET_KEY became new,old', () => {
  const repeats: readonly [string, (event: TestEvent) => readonly [path: string, body: unknown, key: () => string]][] =
    [
      [
        'a cast',
        (event) => [
          `/public/voting-events/${event.id}/ballot/cast`,
          { visitorId: visitor(), votes: votesFor(event) },
          () => account.vote,
        ],
      ],
      [
        'a new voter',
        (event) => [`/voting-events/${event.id}/voters`, { name: 'V', voterId: visitor() }, () => account.write],
      ],
      ['a new event', () => ['/voting-events', { title: 'Another', type: 'poll' }, () => account.write]],
      [
        'a refusal that a handler decided',
        (event) => [
          `/public/voting-events/${event.id}/register/voter`,
          { name: 'V', email: 'v@a.example' },
          () => account.vote,
        ],
      ],
    ];

  test.each(repeats)(
    '%s that is repeated gets the stored answer, and another request under its key is a mismatch',
    async (_what, make) => {
      const event = await createTestEvent(before, account, {}, [PLURALITY]);
      const [path, body, key] = make(event);
      const headers = { 'Idempotency-Key': `key-${visitor()}` };
      const first = await post(before, path, body, key(), headers);
      const { requestId: _first, ...told } = first.body.error ?? first.body;
      for (const on of [after, before, after]) {
        const repeat = await post(on, path, body, key(), headers);
        const { requestId: _repeat, ...again } = repeat.body.error ?? repeat.body;
        expect([repeat.status, repeat.headers.get('idempotent-replayed'), again]).toEqual([first.status, 'true', told]);
        const other = await post(on, path, { ...(body as object), name: 'Somebody else' }, key(), headers);
        expect([other.status, other.body.error.code]).toEqual([422, 'idempotency_mismatch']);
      }
    },
  );

  test('a confirmation code that was given before is confirmed, once', async () => {
    const event = await createTestEvent(before, account, {}, [PLURALITY]);
    const path = `/public/voting-events/${event.id}/ballot`;
    const cast = { visitorId: visitor(), votes: votesFor(event) };
    const { confirmationCode } = demand(await post(before, `${path}/cast`, cast, account.vote), 201);
    const confirmed = demand(await post(after, `${path}/confirm`, { confirmationCode }, account.vote), 200);
    const again = demand(await post(after, `${path}/confirm`, { confirmationCode }, account.vote), 200);
    expect(again.confirmationCode).toBe(confirmed.confirmationCode);
  });

  test('a voter key that was mailed before votes, and so does one that is mailed afterwards', async () => {
    const event = await createTestEvent(before, account, { type: 'election' }, [PLURALITY]);
    const base = `/public/voting-events/${event.id}`;
    const voters = ['vera', 'otto'].map((name) => ({ name, email: `${name}@club.example` }));
    demand(await post(before, `/voting-events/${event.id}/voters/batch`, { voters }, account.write), 201);
    for (const [index, asked] of [before, after].entries()) {
      const email = voters[index]?.email ?? '';
      const voterKey = await mailedVoterKey(before, () =>
        post(asked, `${base}/voter-key/request`, { email }, account.vote),
      );
      const ballot = { voterKey, email, votes: votesFor(event) };
      const { confirmationCode } = demand(await post(after, `${base}/ballot/cast`, ballot, account.vote), 201);
      demand(await post(after, `${base}/ballot/confirm`, { confirmationCode }, account.vote), 200);
    }
  });

  test('a cursor and a download link that were given before still lead on', async () => {
    const event = await createTestEvent(before, account, { type: 'election' }, [PLURALITY]);
    const voters = ['a', 'b', 'c'].map((name) => ({ name, voterId: name }));
    demand(await post(before, `/voting-events/${event.id}/voters/batch`, { voters }, account.write), 201);
    const path = `/voting-events/${event.id}`;
    const page = await before.call('GET', `${path}/voters?limit=1`, undefined, { key: account.read });
    const next = `${path}/voters?limit=1&cursor=${encodeURIComponent(page.body.nextCursor)}`;
    expect((await after.call('GET', next, undefined, { key: account.read })).body.data).toMatchObject([{ name: 'b' }]);
    const link = await before.call('GET', `${path}/results/csv`, undefined, { key: account.read });
    const { pathname, search } = new URL(link.headers.get('location') ?? '', `http://127.0.0.1:${before.port}`);
    expect((await after.call('GET', pathname + search)).status).toBe(200);
  });
});

test('an event is one resource for an Idempotency-Key, by its ID and by its code in any case', async () => {
  const event = await createTestEvent(before, account, {}, [PLURALITY]);
  const body = { visitorId: visitor(), votes: votesFor(event) };
  const headers = { 'Idempotency-Key': `key-${visitor()}` };
  const answers = [];
  for (const name of [event.id, event.code, event.code.toLowerCase(), event.code.toUpperCase()]) {
    answers.push(await post(before, `/public/voting-events/${name}/ballot/cast`, body, account.vote, headers));
  }
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  expect(new Set(answers.map(({ body: { data } }) => data.confirmationCode)).size).toBe(1);
});

test('a stored answer comes before the judgement of a body that is refused by now', async () => {
  const event = await createTestEvent(before, account, {}, [PLURALITY]);
  const headers = { 'Idempotency-Key': `key-${visitor()}` };
  const body = { visitorId: visitor(), votes: votesFor(event) };
  const path = `/public/voting-events/${event.id}/ballot/cast`;
  const first = await post(before, path, body, account.vote, headers);
  await before.deps.db.$client.query(
    "UPDATE voting_events SET type = 'election', paper_version = paper_version + 1 WHERE id = $1",
    [event.id],
  );
  before.deps.events.forget(event.id);
  const repeat = await post(before, path, body, account.vote, headers);
  expect([repeat.status, repeat.headers.get('idempotent-replayed'), repeat.body]).toEqual([201, 'true', first.body]);
});
