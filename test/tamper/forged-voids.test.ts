import { expect, test } from 'vitest';
import { sealBallots } from '#test/harness/elections.ts';
import { useForgedElections } from './forged-election.ts';

// A ballot of a poll is void once its payment was reversed. No row makes one of an election void (completions 6.7).

const { service, account, openElection, member, vote, pathOf, bySql, check } = await useForgedElections();

test.each([
  ['waits', 'SELECT voting_event_id, code_tag FROM ballot_queue WHERE voting_event_id = $1 LIMIT 2'],
  ['is sealed', 'SELECT voting_event_id, substr(tags, 1, 32) FROM ballot_blocks WHERE voting_event_id = $1 LIMIT 1'],
])('a ballot that %s counts although SQL says that it is void, and the row is found', async (where, which) => {
  const election = await openElection({ results: { visibility: 'live' } });
  for (const at of [0, 1, 2, 3, 4]) await vote(election, member(election, at));
  await sealBallots(service, election.event.id, where === 'waits' ? 6 : 1);
  const published = async () => (await account.page(election.event, 'results')).body.data?.stats.ballots;
  const counted = async () => (await account.show(`${pathOf(election)}/results`)).stats.ballots;
  expect([await counted(), await published()]).toEqual([5, 5]);
  expect(await check(election)).toBeUndefined();
  await bySql(election, `INSERT INTO voided_ballots (voting_event_id, code_tag) ${which}`);
  // A sixth ballot waits alone: the public count does not show it, whatever SQL says of the others.
  await vote(election, member(election, 5));
  expect([await counted(), await published()]).toEqual([6, 5]);
  expect(await check(election)).toContain('void');
});
