import { expect, test, vi } from 'vitest';
import { BallotPublisher, EVENTS_AT_ONCE, publishAllBallots } from '#src/webhooks/publish-ballots.ts';
import { sealBallots, votesFor } from '#test/harness/elections.ts';
import { type TestAccount, useService } from '#test/harness/test-service.ts';

const service = await useService({ worker: false });
// The service itself announces once a second; here the tests say when.
vi.spyOn(service.deps.ballotPublisher, 'publish').mockResolvedValue();

const subscribe = async (account: TestAccount, type = 'ballot.confirmed'): Promise<string> =>
  (await account.make('/webhook-endpoints', { url: 'https://receiver.example/hook', eventTypes: [type] })).id;

/** The announcements that an endpoint received, or that one event caused: event and number of ballots. */
const announced = async (id: string): Promise<[string, number][]> =>
  (
    await service.query(
      `SELECT of, ballots FROM webhook_deliveries, LATERAL (SELECT body::jsonb #>> '{data,votingEventId}' AS of,
         (body::jsonb #>> '{data,ballots}')::int AS ballots) AS told WHERE $1 IN (endpoint_id, of) ORDER BY ballots`,
      [id],
    )
  ).map(({ of, ballots }) => [of, ballots]);

const { db } = service.deps;
const fiveSecondsPass = () => service.query('UPDATE ballot_announcements SET announced_at = announced_at - 5000');

test('an endpoint hears of no ballot that was confirmed before it asked for them', async () => {
  const account = await service.account();
  const [early, other] = [await account.event(), await account.event()];
  const vote = (event: typeof early) => account.votePoll(event, votesFor(event));
  const heard = async (endpointId: string) => {
    await fiveSecondsPass();
    await publishAllBallots(db);
    return announced(endpointId);
  };
  await vote(early);
  await sealBallots(service, early.id);
  await vote(early);
  const first = await subscribe(account);
  const later = await subscribe(account, 'voter.created');
  expect(await heard(first)).toEqual([]);
  await vote(other);
  await vote(early);
  expect(await heard(first)).toEqual([
    [other.id, 1],
    [early.id, 3],
  ]);
  const change = { eventTypes: ['ballot.confirmed'] };
  await account.change(`/webhook-endpoints/${first}`, { eventTypes: ['voter.created'] });
  await vote(early);
  await account.change(`/webhook-endpoints/${later}`, change);
  expect(await heard(later)).toEqual([]);
  await vote(early);
  expect(await heard(later)).toEqual([[early.id, 5]]);
});

test('confirmed ballots are announced from the counts, at most once in five seconds, and never by the confirm itself', async () => {
  const account = await service.account();
  const event = await account.event();
  await subscribe(account);
  const vote = () => account.votePoll(event, votesFor(event));
  const counts = async (): Promise<number[]> => (await announced(event.id)).map(([, ballots]) => ballots);
  await vote();
  await vote();
  expect(await counts()).toEqual([]);
  // Several processes look at the same time.
  await Promise.all([publishAllBallots(db), publishAllBallots(db), publishAllBallots(db)]);
  expect(await counts()).toEqual([2]);
  await vote();
  await publishAllBallots(db);
  expect(await counts()).toEqual([2]);
  await fiveSecondsPass();
  await publishAllBallots(db);
  expect(await counts()).toEqual([2, 3]);
  // A ballot that moves into the log is no new one.
  await sealBallots(service, event.id);
  await fiveSecondsPass();
  await publishAllBallots(db);
  expect(await counts()).toEqual([2, 3]);
});

test('a process looks at the events alone that it has confirmed ballots of, and asks nothing while it confirms none', async () => {
  const account = await service.account();
  const [mine, another] = [await account.event(), await account.event()];
  await subscribe(account);
  for (const event of [mine, another]) await account.votePoll(event, votesFor(event));
  const publisher = new BallotPublisher(db);
  const asked = vi.spyOn(db, 'execute');
  await publisher.publish();
  expect(asked).not.toHaveBeenCalled();
  asked.mockRestore();
  publisher.grew(mine.id);
  await publisher.publish();
  expect(await announced(mine.id)).toEqual([[mine.id, 1]]);
  // Within five seconds of a message the next one waits, and is not forgotten.
  await account.votePoll(mine, votesFor(mine));
  publisher.grew(mine.id);
  await publisher.publish();
  await publisher.publish();
  expect(await announced(mine.id)).toEqual([[mine.id, 1]]);
  await fiveSecondsPass();
  await publisher.publish();
  expect(await announced(mine.id)).toEqual([
    [mine.id, 1],
    [mine.id, 2],
  ]);
  expect(await announced(another.id)).toEqual([]);
});

test('what is left is looked for page by page, however many events have a subscriber', async () => {
  const account = await service.account();
  const event = await account.event();
  await subscribe(account);
  await service.query(
    `INSERT INTO voting_events SELECT (jsonb_populate_record(e, jsonb_build_object('id', '0_' || n, 'code', '0_' || n, 'code_key', '0_' || n))).*
     FROM voting_events e, generate_series(1, $2::int) AS n WHERE e.id = $1`,
    [event.id, 2 * EVENTS_AT_ONCE],
  );
  await account.votePoll(event, votesFor(event));
  const statements = vi.spyOn(db.$client, 'query');
  await publishAllBallots(db);
  const pages = (statements.mock.calls as unknown[][]).flat(2).filter((value) => Array.isArray(value));
  statements.mockRestore();
  expect(pages.length).toBeGreaterThan(2);
  expect(Math.max(...pages.map(({ length }) => length))).toBe(EVENTS_AT_ONCE);
  expect(await announced(event.id)).toHaveLength(1);
});
