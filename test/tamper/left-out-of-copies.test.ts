import { expect, test } from 'vitest';
import { sealBallots } from '#test/harness/elections.ts';
import { untilTrue } from '#test/harness/test-service.ts';
import { useForgedElections } from './forged-election.ts';

const { service, account, openElection, member, pathOf, change, check, read } = await useForgedElections();

// Marks of a voter's row that bear no tag: a copy goes by them (completions 10.4), and nothing holds them against anything.
test.each([
  ['approved by a first key', 'approved_by_key = true'],
  ['erased', 'erased_at = 1'],
  ['of a rehearsal', `before_rehearsal = '{"new": true}'`],
])('a member whom SQL marks as %s is in the copy of a roll, or is found', async (_, set) => {
  const election = await openElection();
  await sealBallots(service, election.event.id, 1);
  await change(set, election, member(election, 0));
  const copy = await account.make(`${pathOf(election)}/copy`, { title: 'Copy', withVoters: true });
  await untilTrue(async () => {
    const shown = await account.show(`/voting-events/${copy.id}`);
    return shown.copy === null || shown.copy.done === shown.copy.total;
  });
  const copied = (await account.show(`/voting-events/${copy.id}/voters`)).length;
  const fault = await check(election);
  expect(copied === 6 || fault !== undefined || (await read(election)).disputed).toBe(true);
});
