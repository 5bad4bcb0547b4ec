import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { expect, test, vi } from 'vitest';
import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import type { Database } from '#src/database/client.ts';
import { refusalOf } from '#test/harness/answers.ts';
import { demand, PLURALITY, votesFor } from '#test/harness/elections.ts';
import { setEventIn } from '#test/harness/genuine-rows.ts';
import { moveEnd } from '#test/harness/move-end.ts';
import { type Requests, type TestAnswer, useAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

// Without jobs: what the final result brings runs where the test says so.
const { service, account } = await useAccount({ worker: false });

/** An election in which one voter has voted and one has cast a ballot, whose confirm time ends in a moment. It is closed by hand unless said otherwise. */
async function createClosed(settings: object = { status: 'closed' }, end = 'closed_at = now_ms() - 15 * 60000 + 1500') {
  const event = await account.event({ type: 'election', results: { visibility: 'published' } }, PLURALITY);
  const of = account.of(event);
  const cast = async (name: string) => {
    const email = `${name}@club.example`;
    const { id } = await of.make('/voters', { name, email });
    const voterKey = await giveVoterKey(service, event.id, id);
    const ballot = { email, voterKey, votes: votesFor(event) };
    return { id, code: demand(await account.page(event, 'ballot/cast', ballot), 201).confirmationCode };
  };
  const [voted, waiting] = [await cast('ada'), await cast('bo')];
  demand(await account.page(event, 'ballot/confirm', { confirmationCode: voted.code }), 200);
  await of.change('', settings);
  await moveEnd(service.deps, event.id, end);
  return { event, of, voted, waiting };
}

/** Sends the opening, and lets something run after the confirm time is over, before the opening has its answer. */
async function openBeside(of: Requests, what: () => Promise<unknown>): Promise<TestAnswer> {
  const { ballotKeys } = service.deps;
  const prepare = ballotKeys.prepare.bind(ballotKeys);
  let going: Promise<unknown> | undefined;
  using held = vi.spyOn(ballotKeys, 'prepare').mockImplementationOnce(async (...order) => {
    await delay(2_000);
    going = what();
    // Perhaps it waits for the opening.
    await Promise.race([going, delay(500)]);
    return prepare(...order);
  });
  const answer = await of.patch('', { status: 'open' });
  await going;
  expect(held.mock.calls.length).toBeGreaterThan(0);
  return answer;
}

// A reader between the end of the confirm time and the commit sees the event as final, with all that a final event shows.
test('an event that is opened again so late that it is read as final before stays closed', async () => {
  const { of, voted } = await createClosed();
  let seen: unknown;
  const opened = await openBeside(of, async () => {
    seen = (await of.show(`/voters/${voted.id}`)).hasVoted;
  });
  expect([seen, refusalOf(opened)]).toEqual([true, [409, 'results_final']]);
  expect([(await of.show('')).status, (await of.show(`/voters/${voted.id}`)).hasVoted]).toEqual(['closed', true]);
});

test('an end that is put off so late that the event is read as final before is refused', async () => {
  const { of, voted } = await createClosed(
    { endsAt: Date.now() + 3_600_000 },
    'ends_at = now_ms() - 15 * 60000 + 1500, closed_at = NULL',
  );
  const later = await of.patch('', { endsAt: Date.now() + 3_600_000 });
  expect(refusalOf(later)).toEqual([409, 'results_final']);
  expect((await of.show(`/voters/${voted.id}`)).hasVoted).toBe(false);
});

/** Opens an event again in time, in a transaction that commits after its confirm time, as where a standby keeps the commit waiting. */
async function commitLate(eventId: string, what: () => Promise<unknown>): Promise<void> {
  const client = await service.deps.db.$client.connect();
  try {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM voting_events WHERE id = $1 FOR UPDATE', [eventId]);
    const set = sql`closed_at = NULL, paper_version = paper_version + 1`;
    await setEventIn(drizzle(client) as unknown as Database, service.deps.secrets, eventId, set);
    await delay(2_000);
    const going = what();
    await Promise.race([going, delay(500)]);
    await client.query('COMMIT');
    await going;
  } finally {
    client.release();
  }
}

test('an opening whose commit comes after the confirm time keeps the ballots that wait for their confirm', async () => {
  const { event, waiting } = await createClosed();
  await commitLate(event.id, () => dropAllExpiredBallots(service.deps));
  demand(await account.page(event, 'ballot/confirm', { confirmationCode: waiting.code }), 200);
});

test('an opening whose commit comes after the confirm time leaves who voted undisclosed', async () => {
  const { event, of, voted } = await createClosed();
  await commitLate(event.id, () => service.deps.counting.disclosure.stepToEnd(event.id));
  expect((await of.show(`/voters/${voted.id}`)).hasVoted).toBe(false);
  expect(await service.query('SELECT 1 FROM undisclosed_voters WHERE voting_event_id = $1', [event.id])).toHaveLength(
    1,
  );
});
