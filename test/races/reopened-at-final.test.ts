import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import { demand, PLURALITY, votesFor } from '#test/harness/elections.ts';
import { moveEnd } from '#test/harness/move-end.ts';
import { useService } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

// Without jobs: what the final result brings runs where the test says so.
const service = await useService({ worker: false });
const account = await service.account();

/** An election in which one voter has voted and one has cast a ballot, closed by hand, whose confirm time ends in a moment. */
async function createClosed() {
  const event = await account.event({ type: 'election' }, PLURALITY);
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
  await of.change('', { status: 'closed' });
  await moveEnd(service.deps, event.id, 'closed_at = now_ms() - 15 * 60000 + 1500');
  return { event, of, voted, waiting };
}

/** Opens the event again, and lets something run after its confirm time is over, before the opening commits. */
async function openBeside(of: ReturnType<typeof account.of>, what: () => Promise<unknown>): Promise<void> {
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
  demand(await of.patch('', { status: 'open' }), 200);
  await going;
  expect(held.mock.calls.length).toBeGreaterThan(0);
}

test('an event that is opened again at the end of its confirm time keeps the ballots that wait for their confirm', async () => {
  const { event, of, waiting } = await createClosed();
  await openBeside(of, () => dropAllExpiredBallots(service.deps));
  expect((await of.show('')).status).toBe('open');
  demand(await account.page(event, 'ballot/confirm', { confirmationCode: waiting.code }), 200);
});

test('an event that is opened again at the end of its confirm time shows no single voter to have voted', async () => {
  const { event, of, voted } = await createClosed();
  await openBeside(of, () => service.deps.counting.disclosure.step(event.id));
  expect((await of.show('')).status).toBe('open');
  expect((await of.show(`/voters/${voted.id}`)).hasVoted).toBe(false);
  expect(await service.query('SELECT 1 FROM undisclosed_voters WHERE voting_event_id = $1', [event.id])).toHaveLength(
    1,
  );
});
