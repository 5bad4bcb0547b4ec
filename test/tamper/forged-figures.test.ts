import { expect, test } from 'vitest';
import { allJobs } from '#src/work.ts';
import { demand, finishEvent, tendLog } from '#test/harness/elections.ts';
import { cast, createKeyedElection, type KeyedElection, keyFiles, voteWith } from '#test/harness/keyed-elections.ts';
import { CLOSED, moveEnd } from '#test/harness/move-end.ts';
import { useKeyedService } from './keyed-service.ts';

// Figures, marks and names beside the rows that decide: SQL that writes them changes no result, has no ballot sealed alone, keeps no key
// from being destroyed and no other event from being tended (completions 6.7).

const { keys, service, account, seal, read, results, bySql, check, tend } = await useKeyedService();
const sealedOf = async (election: KeyedElection): Promise<number> =>
  Number((await bySql(election, 'SELECT ballots FROM ballot_logs WHERE voting_event_id = $1'))[0]?.['ballots'] ?? 0);

/** Seven voters, of whom so many have voted. */
async function votedElection(votes: number, settings: object = {}): Promise<KeyedElection> {
  const election = await createKeyedElection(service, account, [1, 1, 1, 1, 1, 1, 1], true, settings);
  await voteWith(service, election, [0, 1, 2, 3, 4, 5].slice(0, votes));
  return election;
}

test('an end beyond all numbers is refused: every job that reckons with the end of all events would fail', async () => {
  const election = await votedElection(0);
  for (const column of ['starts_at', 'ends_at', 'opened_at', 'closed_at', 'rehearsal_since', 'final_at'])
    for (const value of ['9223372036854775807', '-9223372036854775808'])
      await expect(bySql(election, `UPDATE voting_events SET ${column} = ${value} WHERE id = $1`)).rejects.toThrow(
        'voting_events_times',
      );
});

test('a waiting ballot cannot be named so that nothing takes it', async () => {
  const election = await votedElection(1);
  await expect(bySql(election, `UPDATE ballot_queue SET id = '' WHERE voting_event_id = $1`)).rejects.toThrow(
    'ballot_queue_id_check',
  );
});

test('rows that SQL puts beside a ballot do not have it sealed alone', async () => {
  const election = await votedElection(1);
  await tend(election, 5);
  await bySql(
    election,
    `INSERT INTO ballot_queue SELECT q.voting_event_id, 'bal_junk_' || n, sha256(int4send(n)), q.entries, q.weight_micro, q.salt, q.sealed_time,
       q.voter_id, q.country_code, q.submitted_at, q.due_at FROM ballot_queue q, generate_series(1, 4) AS n WHERE q.voting_event_id = $1`,
  );
  await tend(election, 5);
  expect(await sealedOf(election)).toBe(0);
  const waiting = await bySql(
    election,
    'SELECT set_back, count(*)::int AS ballots FROM ballot_queue WHERE voting_event_id = $1 GROUP BY 1 ORDER BY 1',
  );
  expect(waiting).toEqual([
    { set_back: false, ballots: 1 },
    { set_back: true, ballots: 4 },
  ]);
  // It is sealed with the next ones.
  await voteWith(service, election, [1, 2, 3, 4]);
  await tend(election, 5);
  expect(await sealedOf(election)).toBe(5);
});

test('a small election is sealed once, whatever the figures of its roll say', async () => {
  const election = await votedElection(5, { endsAt: Date.now() + 3_600_000 });
  await bySql(election, 'UPDATE roll_figures SET heads = heads + 100 WHERE voting_event_id = $1');
  await tend(election, 5).catch(() => undefined);
  expect(await sealedOf(election)).toBe(0);
});

test('what a close is counted against is the roll as it was checked, whatever SQL makes of its figures meanwhile', async () => {
  const election = await votedElection(2);
  await moveEnd(service.deps, election.id, CLOSED);
  const figures = `INSERT INTO roll_figures (voting_event_id, group_id, status, source, heads, weight_micro, voted, voted_weight_micro)
    VALUES ($1, '', 'approved', 'organizer', -3, -3000000, 0, 0)`;
  const countFinally: typeof seal.countFinally = async (...given) => {
    await bySql(election, figures);
    await bySql(election, `UPDATE ballot_logs SET roll_heads = 4, roll_weight = '4' WHERE voting_event_id = $1`);
    return seal.countFinally(...given);
  };
  await tendLog({ ...seal, countFinally }, election.id, 1).catch(() => undefined);
  expect(await results(election)).toMatchObject({ final: false });
  expect((await read(election)).finalAt).toBeNull();
});

test('a key of a rehearsal is none of the election, and who votes does so under one name', async () => {
  const election = await votedElection(0);
  const own = await bySql(election, 'SELECT ballot_key FROM voting_events WHERE id = $1');
  await bySql(election, `UPDATE voting_events SET ballot_key = 'an-earlier-one' WHERE id = $1`);
  service.deps.events.forget(election.id);
  expect((await cast(service, election, 0)).status).toBe(500);
  await bySql(election, 'UPDATE voting_events SET ballot_key = $2 WHERE id = $1', own[0]?.['ballot_key']);
  service.deps.events.forget(election.id);
  const { confirmationCode } = demand(await cast(service, election, 0), 201);
  await bySql(election, `UPDATE pending_ballots SET participants = '{}' WHERE voting_event_id = $1`);
  const confirmed = await account.page(election, 'ballot/confirm', { confirmationCode });
  expect([confirmed.status, confirmed.body.error.code]).toEqual([500, 'internal']);
});

test('a key goes with its files, also where SQL says that it stands in the database', async () => {
  const election = await votedElection(2);
  await bySql(election, `UPDATE ballot_keys SET wrapped = 'x' WHERE voting_event_id = $1`);
  await finishEvent(service, election.id);
  await service.deps.ballotKeys.destroyRetired();
  expect(keyFiles(keys, election.id)).toEqual([]);
});

test('voters stay in a group that a position asks for, although SQL deleted it', async () => {
  const draft = await createKeyedElection(service, account, [1, 1], false);
  const group = await account.make(`/voting-events/${draft.id}/groups`, { name: 'North' });
  const [voter] = draft.voters;
  await account.change(`/voting-events/${draft.id}/voters/${voter?.id}`, { groupId: group.id });
  const [position] = draft.positions;
  await account.change(`/voting-events/${draft.id}/positions/${position?.id}`, { groupId: group.id });
  await bySql(draft, 'UPDATE groups SET deleted_at = 1 WHERE voting_event_id = $1');
  const job = allJobs(service.deps).find(({ name }) => name === 'remove_deleted_rows');
  await (job as { work(payload: object): Promise<void> } | undefined)?.work({ kind: 'groups', eventId: draft.id });
  const rows = await bySql(draft, 'SELECT group_id FROM voters WHERE voting_event_id = $1 AND id = $2', voter?.id);
  expect(rows).toEqual([{ group_id: group.id }]);
});

test('the roll is scattered at the end, although SQL says that it will be', async () => {
  const election = await votedElection(5);
  await tend(election, 5);
  await bySql(
    election,
    'UPDATE ballot_logs SET roll_scattered_at = 9e15, roll_mixed_at = 9e15 WHERE voting_event_id = $1',
  );
  await finishEvent(service, election.id);
  expect(await bySql(election, 'SELECT 1 FROM voter_keys WHERE voting_event_id = $1')).toEqual([]);
  expect(await check(election)).toBeUndefined();
});
