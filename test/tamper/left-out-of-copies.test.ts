import { expect, test } from 'vitest';
import { checkLog } from '#src/ballot-log/check-log.ts';
import { sealDeps } from '#src/work.ts';
import { sealBallots } from '#test/harness/elections.ts';
import { untilTrue } from '#test/harness/test-service.ts';
import { useForgedElections } from './forged-election.ts';

const { service, account, sql, openElection, member, read } = await useForgedElections();

// Marks of a voter's row that bear no tag: a copy goes by them (completions 10.4), and nothing holds them against anything.
test.each([
  ['approved by a first key', 'approved_by_key = true'],
  ['erased', 'erased_at = 1'],
  ['of a rehearsal', `before_rehearsal = '{"new": true}'`],
])('a member whom SQL marks as %s is in the copy of a roll, or is found', async (_, set) => {
  const election = await openElection();
  await sealBallots(service, election.event.id, 1);
  await sql.query(`UPDATE voters SET ${set} WHERE voting_event_id = $1 AND id = $2`, [
    ...[election.event.id, member(election, 0).id],
  ]);
  const path = `/voting-events/${election.event.id}`;
  const copy = await account.make(`${path}/copy`, { title: 'Copy', withVoters: true });
  await untilTrue(async () => {
    const shown = await account.show(`/voting-events/${copy.id}`);
    return shown.copy === null || shown.copy.done === shown.copy.total;
  });
  const copied = (await account.show(`/voting-events/${copy.id}/voters`)).length;
  const fault = await checkLog(sealDeps(service.deps), election.event.id);
  expect(copied === 6 || fault !== undefined || (await read(election)).disputed).toBe(true);
});
