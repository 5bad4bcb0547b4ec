import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { foldRolls } from '#src/voters/roll-sum.ts';
import { demand, PLURALITY, sealBallots, votesFor } from '#test/harness/elections.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';
import { useForgedElections } from './forged-election.ts';

// A ballot waits for the voter as the roll had the voter at the cast. What the organizer changed meanwhile drops it, or is refused while it
// is there; SQL takes its row away for that long, and puts it back (completions 3.4, 4.5, 6.7).

const { service, account, bySql, keepRows, check } = await useForgedElections();

interface Setting {
  readonly path: string;
  readonly voter: string;
  readonly groups: readonly string[];
}

const CHANGES: [string, (setting: Setting) => Promise<unknown>][] = [
  [
    'has another address',
    ({ path, voter }) => account.change(`${path}/voters/${voter}`, { email: `n-${randomUUID()}@club.example` }),
  ],
  [
    'has another address after a rejection',
    async ({ path, voter }) => {
      await account.change(`${path}/voters/${voter}`, { status: 'rejected' });
      await account.change(`${path}/voters/${voter}`, { status: 'approved' });
      await account.change(`${path}/voters/${voter}`, { email: `n-${randomUUID()}@club.example` });
    },
  ],
  [
    'is in another group',
    ({ path, voter, groups }) => account.change(`${path}/voters/${voter}`, { groupId: groups[1] }),
  ],
  ['weighs less', ({ path, voter }) => account.change(`${path}/voters/${voter}`, { weight: 1 })],
];

test.each(CHANGES)('is confirmed for no voter who %s since, where SQL puts it back', async (_, change) => {
  const event = await account.event({ type: 'election' }, PLURALITY, false);
  const path = `/voting-events/${event.id}`;
  const groups: string[] = [];
  for (const name of ['North', 'South']) groups.push((await account.make(`${path}/groups`, { name })).id);
  await account.change(`${path}/positions/${event.positions[0]?.id}`, { groupId: groups[0] });
  const rows = ['M-1', 'M-2', 'M-3'].map((voterId) => ({
    ...{ name: voterId, voterId, email: `${randomUUID()}@club.example`, groupId: groups[0], weight: 2 },
  }));
  const voters = await account.make(`${path}/voters/batch`, { voters: rows });
  const more = await account.make(`${path}/positions`, {
    title: 'Of the south',
    votingMethod: 'plurality',
    groupId: groups[1],
  });
  await account.make(`${path}/candidates`, { name: 'Cleo', positionIds: [more.id] });
  await account.change(path, { status: 'open' });
  await sealBallots(service, event.id, 1);
  const [{ id: voter }] = voters;
  const voterKey = await giveVoterKey(service, event.id, voter);
  const cast = await account.page(event, 'ballot/cast', { voterId: 'M-1', voterKey, votes: votesFor(event) });
  const { confirmationCode } = demand(cast, 201);
  const putBack = await keepRows({ event }, 'pending_ballots');
  await bySql({ event }, 'DELETE FROM pending_ballots WHERE voting_event_id = $1');
  await change({ path, voter, groups });
  await foldRolls(service.deps);
  await putBack();
  const confirmed = await account.page(event, 'ballot/confirm', { confirmationCode });
  const fault = await check({ event });

  expect([confirmed.status, confirmed.body.error?.details?.reason, fault]).toEqual([500, 'rows_disagree', undefined]);
});
