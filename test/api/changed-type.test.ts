import { expect, test } from 'vitest';
import { checkLog } from '#src/ballot-log/check-log.ts';
import { createObserverKey, LogReader } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, sealBallots, votePoll, votesFor } from '#test/harness/elections.ts';
import { createKeyedElection, type KeyedElection, voteWith } from '#test/harness/keyed-elections.ts';
import { type TestAccount, useService } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';

/**
 * An open event may become another type until its first ballot (completions 2.4). What it is then decides: its ballots count, its
 * log has the roll of an election and none of a poll, and everything verifies.
 */

let account: TestAccount;

// Each step of the log is made where it is asked for: which rolls are recorded depends on when.
const service = await useService({ worker: false });

/** Changes the type of an event whose log has begun. */
async function become(event: { readonly id: string }, type: string): Promise<void> {
  await sealBallots(service, event.id);
  demand(await account.patch(`/voting-events/${event.id}`, { type }), 200);
  await sealBallots(service, event.id);
}

async function requireRight(event: KeyedElection, ballots: number): Promise<void> {
  await finishEvent(service, event.id);
  const path = `/voting-events/${event.id}`;
  demand(await account.patch(path, { results: { visibility: 'published' } }), 200);
  const results = demand(await account.get(`${path}/results`), 200);
  expect(results).toMatchObject({ final: true, disputed: false, stats: { ballots } });
  expect(await checkLog(service.deps, event.id)).toBeUndefined();
  const key = await createObserverKey(service, account, event.id);
  const report = await verifyLog({ read: readOverHttp(`http://127.0.0.1:${service.port}`, key), event: event.id });
  expect(report.checks.filter(({ status }) => status !== 'verified' && status !== 'not_asked')).toEqual([]);
}

const leaves = async (event: { readonly id: string }) =>
  (await new LogReader(service, event.id, account.vote).leaves()).map(({ t, heads }) => (t === 'roll' ? heads : t));

test('a poll that becomes an election takes ballots of its voters, and its log verifies', async () => {
  account = await service.account();
  const poll = await createKeyedElection(service, account, [], true, { type: 'poll' });
  await become(poll, 'election');
  const voters = [];
  for (const email of ['a@voters.example', 'b@voters.example', 'c@voters.example']) {
    const path = `/voting-events/${poll.id}/voters`;
    const { id } = demand(await account.post(path, { name: email, email }), 201);
    voters.push({ id, email, voterKey: await giveVoterKey(service, poll.id, id) });
  }
  await voteWith(service, { ...poll, voters }, [0, 1]);
  await requireRight({ ...poll, voters }, 2);
  expect(await leaves(poll)).toEqual(['open', 'config', 0, 'config', 3, 'ballot', 'ballot', 'close']);
});

test('an election that becomes a poll takes ballots of visitors, more than it had voters, and its log verifies', async () => {
  account = await service.account();
  const election = await createKeyedElection(service, account, [1, 1]);
  await become(election, 'poll');
  const votes = votesFor(election);
  for (let visitors = 0; visitors < 3; visitors += 1) await votePoll(service, account, election, votes);
  await requireRight(election, 3);
  expect(await leaves(election)).toEqual(['open', 'config', null, 'config', 'ballot', 'ballot', 'ballot', 'close']);
});

test('an event that changes its type and back has the roll that it had', async () => {
  account = await service.account();
  const election = await createKeyedElection(service, account, [1, 1]);
  await become(election, 'poll');
  await become(election, 'election');
  await voteWith(service, election, [0]);
  await requireRight(election, 1);
  expect(await leaves(election)).toEqual(['open', 'config', null, 'config', 2, 'config', 'ballot', 'close']);
});
