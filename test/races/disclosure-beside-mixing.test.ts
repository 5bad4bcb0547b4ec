import { expect, test } from 'vitest';
import { countWaiting } from '#test/harness/count-waiting.ts';
import { demand, PLURALITY, votesFor } from '#test/harness/elections.ts';
import { untilTrue, useAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

// Without jobs: voters are disclosed, and the roll is mixed, where the test says so.
const { service, account } = await useAccount({ worker: false });

test.each([false, true])(
  'voters whom a first key approved are disclosed with their approval, while a process mixes the roll: %s',
  async (mixes) => {
    const settings = { type: 'election', voter: { selfRegistration: true, approval: 'automatic' } };
    const event = await account.event(settings, PLURALITY);
    for (const at of [1, 2, 3, 4, 5]) {
      const email = `v${at}@club.example`;
      const { id } = demand(await account.page(event, 'register/voter', { name: `Voter ${at}`, email }), 201);
      const voterKey = await giveVoterKey(service, event.id, id);
      await account.ballot(event, { email, voterKey, votes: votesFor(event) });
    }
    expect(
      await service.query('SELECT 1 FROM voters WHERE voting_event_id = $1 AND approved_by_key', [event.id]),
    ).toHaveLength(5);
    const { db, counting } = service.deps;
    const client = await db.$client.connect();
    try {
      await client.query('BEGIN');
      // What `mixRolls` runs while the event is open.
      if (mixes) await client.query('SELECT scatter_voters($1, $2, 250)', [event.id, '']);
      const step = counting.disclosure.stepToEnd(event.id);
      if (mixes) await untilTrue(async () => (await countWaiting(service, '%disclose_voters%')) > 0);
      await client.query('COMMIT');
      await step;
    } finally {
      client.release();
    }
    const of = account.of(event);
    const voters = await of.show('/voters');
    const shown = voters.map(({ hasVoted, status }: { hasVoted: boolean; status: string }) => [hasVoted, status]);
    expect(shown).toEqual(Array.from({ length: 5 }, () => [true, 'approved']));
    // Each of these voters gets a letter, and a webhook reports the approval.
    expect(demand(await of.post('/voters/letters', { audience: 'all' }), 202).total).toBe(5);
    const told = "SELECT 1 FROM jobs WHERE name = 'announce_approved_voters' AND payload ->> 'eventId' = $1";
    expect(await service.query(told, [event.id])).toHaveLength(1);
  },
);
