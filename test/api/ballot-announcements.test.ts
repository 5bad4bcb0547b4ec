import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { announceBallots } from '#src/webhooks/announce-ballots.ts';
import { createTestEvent, demand, sealBallots, votePoll } from '#test/harness/elections.ts';
import { createTestAccount, startTestService, type TestService } from '#test/harness/test-service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ worker: false });
});
afterAll(() => service.stop());

test('confirmed ballots are announced from the counts, at most once in five seconds, and never by the confirm itself', async () => {
  const account = await createTestAccount(service);
  const event = await createTestEvent(service, account, {}, [
    { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] },
  ]);
  const endpoint = { url: 'https://receiver.example/hook', eventTypes: ['ballot.confirmed'] };
  demand(await service.call('POST', '/webhook-endpoints', endpoint, { key: account.write }), 201);
  const [position] = event.positions;
  const vote = () =>
    votePoll(service, account, event, [{ positionId: position?.id, candidateId: position?.candidates[0] }]);
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
  await Promise.all([announceBallots(db), announceBallots(db), announceBallots(db)]);
  expect(await announced()).toEqual([2]);
  await vote();
  await announceBallots(db);
  expect(await announced()).toEqual([2]);
  const passFiveSeconds = () =>
    db.execute(
      sql`UPDATE ballot_announcements SET announced_at = announced_at - 5000 WHERE voting_event_id = ${event.id}`,
    );
  await passFiveSeconds();
  await announceBallots(db);
  expect(await announced()).toEqual([2, 3]);
  // A ballot that moves into the log is no new one.
  await sealBallots(service, event.id);
  await passFiveSeconds();
  await announceBallots(db);
  expect(await announced()).toEqual([2, 3]);
});
