import { sql } from 'drizzle-orm';
import { expect, test, vi } from 'vitest';
import { BallotPublisher, EVENTS_AT_ONCE, publishAllBallots } from '#src/webhooks/publish-ballots.ts';
import { sealBallots, votesFor } from '#test/harness/elections.ts';
import { useService } from '#test/harness/test-service.ts';

const service = await useService({ worker: false });
// The service itself announces once a second; here the tests say when.
vi.spyOn(service.deps.ballotPublisher, 'publish').mockResolvedValue();

test('an endpoint hears of no ballot that was confirmed before it asked for them', async () => {
  const account = await service.account();
  const [early, other] = [await account.event(), await account.event()];
  const vote = (event: typeof early) => account.votePoll(event, votesFor(event));
  const make = async (eventTypes: string[]): Promise<string> => {
    const body = { url: 'https://receiver.example/hook', eventTypes };
    return (await account.make('/webhook-endpoints', body)).id;
  };
  const { db } = service.deps;
  const announced = async (endpointId: string) => {
    await db.execute(sql`UPDATE ballot_announcements SET announced_at = announced_at - 5000`);
    await publishAllBallots(db);
    const { rows } = await db.execute<{ id: string; ballots: number }>(sql`
      SELECT body::jsonb #>> '{data,votingEventId}' AS id, (body::jsonb #>> '{data,ballots}')::int AS ballots
      FROM webhook_deliveries WHERE endpoint_id = ${endpointId} ORDER BY ballots`);
    return rows.map(({ id, ballots }) => [id === early.id ? 'early' : 'other', ballots]);
  };
  await vote(early);
  await sealBallots(service, early.id);
  await vote(early);
  const first = await make(['ballot.confirmed']);
  const later = await make(['voter.created']);
  expect(await announced(first)).toEqual([]);
  await vote(other);
  await vote(early);
  expect(await announced(first)).toEqual([
    ['other', 1],
    ['early', 3],
  ]);
  const change = { eventTypes: ['ballot.confirmed'] };
  await account.change(`/webhook-endpoints/${first}`, { eventTypes: ['voter.created'] });
  await vote(early);
  await account.change(`/webhook-endpoints/${later}`, change);
  expect(await announced(later)).toEqual([]);
  await vote(early);
  expect(await announced(later)).toEqual([['early', 5]]);
});

test('confirmed ballots are announced from the counts, at most once in five seconds, and never by the confirm itself', async () => {
  const account = await service.account();
  const event = await account.event({}, [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }]);
  const endpoint = { url: 'https://receiver.example/hook', eventTypes: ['ballot.confirmed'] };
  await account.make('/webhook-endpoints', endpoint);
  const vote = () => account.votePoll(event, votesFor(event));
  const { db } = service.deps;
  const announced = async (): Promise<number[]> => {
    const { rows } = await db.execute<{ ballots: number }>(sql`
      SELECT (body::jsonb #>> '{data,ballots}')::int AS ballots FROM webhook_deliveries
      WHERE body::jsonb ->> 'votingEventId' = ${event.id} ORDER BY 1`);
    return rows.map(({ ballots }) => ballots);
  };
  await vote();
  await vote();
  expect(await announced()).toEqual([]);
  // Several processes look at the same time.
  await Promise.all([publishAllBallots(db), publishAllBallots(db), publishAllBallots(db)]);
  expect(await announced()).toEqual([2]);
  await vote();
  await publishAllBallots(db);
  expect(await announced()).toEqual([2]);
  const passFiveSeconds = () =>
    db.execute(
      sql`UPDATE ballot_announcements SET announced_at = announced_at - 5000 WHERE voting_event_id = ${event.id}`,
    );
  await passFiveSeconds();
  await publishAllBallots(db);
  expect(await announced()).toEqual([2, 3]);
  // A ballot that moves into the log is no new one.
  await sealBallots(service, event.id);
  await passFiveSeconds();
  await publishAllBallots(db);
  expect(await announced()).toEqual([2, 3]);
});

test('a process looks at the events alone that it has confirmed ballots of, and asks nothing while it confirms none', async () => {
  const account = await service.account();
  const [mine, another] = [await account.event(), await account.event()];
  await account.make('/webhook-endpoints', { url: 'https://receiver.example/hook', eventTypes: ['ballot.confirmed'] });
  for (const event of [mine, another]) await account.votePoll(event, votesFor(event));
  const { db } = service.deps;
  const announced = async (): Promise<[string, number][]> => {
    const { rows } = await db.execute<{ id: string; ballots: number }>(sql`
      SELECT d.body::jsonb #>> '{data,votingEventId}' AS id, (d.body::jsonb #>> '{data,ballots}')::int AS ballots
      FROM webhook_deliveries d WHERE d.body::jsonb #>> '{data,votingEventId}' IN (${mine.id}, ${another.id}) ORDER BY 2`);
    return rows.map(({ id, ballots }) => [id, ballots]);
  };
  const publisher = new BallotPublisher(db);
  const asked = vi.spyOn(db, 'execute');
  await publisher.publish();
  expect(asked).not.toHaveBeenCalled();
  asked.mockRestore();
  publisher.grew(mine.id);
  await publisher.publish();
  expect(await announced()).toEqual([[mine.id, 1]]);
  // Within five seconds of a message the next one waits, and is not forgotten.
  await account.votePoll(mine, votesFor(mine));
  publisher.grew(mine.id);
  await publisher.publish();
  await publisher.publish();
  expect(await announced()).toEqual([[mine.id, 1]]);
  await db.execute(
    sql`UPDATE ballot_announcements SET announced_at = announced_at - 5000 WHERE voting_event_id = ${mine.id}`,
  );
  await publisher.publish();
  expect(await announced()).toEqual([
    [mine.id, 1],
    [mine.id, 2],
  ]);
});

test('what is left is looked for page by page, however many events have a subscriber', async () => {
  const account = await service.account();
  const event = await account.event();
  const endpoint = { url: 'https://receiver.example/hook', eventTypes: ['ballot.confirmed'] };
  await account.make('/webhook-endpoints', endpoint);
  await service.query(
    `INSERT INTO voting_events SELECT (jsonb_populate_record(e, jsonb_build_object('id', '0_' || n, 'code', '0_' || n, 'code_key', '0_' || n))).*
     FROM voting_events e, generate_series(1, $2::int) AS n WHERE e.id = $1`,
    [event.id, 2 * EVENTS_AT_ONCE],
  );
  await account.votePoll(event, votesFor(event));
  const { db } = service.deps;
  const statements = vi.spyOn(db.$client, 'query');
  await publishAllBallots(db);
  const pages = (statements.mock.calls as unknown[][]).flat(2).filter((value) => Array.isArray(value));
  statements.mockRestore();
  expect(pages.length).toBeGreaterThan(2);
  expect(Math.max(...pages.map(({ length }) => length))).toBe(EVENTS_AT_ONCE);
  const messages = `SELECT 1 FROM webhook_deliveries WHERE body::jsonb #>> '{data,votingEventId}' = $1`;
  expect(await service.query(messages, [event.id])).toHaveLength(1);
});
