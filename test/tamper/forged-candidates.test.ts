import { expect, test } from 'vitest';
import { checkLog } from '#src/ballot-log/check-log.ts';
import { sequenceLogs } from '#src/ballot-log/seal-ballots.ts';
import { sealDeps } from '#src/work.ts';
import { demand, sealBallots } from '#test/harness/elections.ts';
import { untilTrue } from '#test/harness/test-service.ts';
import { type Election, useForgedElections } from './forged-election.ts';

// While people vote, SQL adds a candidate such as the service never writes.

const { service, account, sql, openElection, member, keyOf, cast, vote, bySql, read } = await useForgedElections();

const FORGED = {
  'that names a position twice': 'position_ids = position_ids || position_ids',
  'with a number that no event comes to': 'number = 2147483647',
  'with a number below the first one': 'number = -1',
};

const addCandidate = async ({ event }: Election, set: string): Promise<void> => {
  await bySql({ event }, 'CREATE TABLE one_candidate AS SELECT * FROM candidates WHERE voting_event_id = $1 LIMIT 1');
  try {
    await sql.query(`UPDATE one_candidate SET id = 'can_forged', number = 77`);
    await sql.query(`UPDATE one_candidate SET ${set}`);
    await sql.query('INSERT INTO candidates SELECT * FROM one_candidate');
  } finally {
    await sql.query('DROP TABLE one_candidate');
  }
  await bySql({ event }, 'UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1');
};

const configurationsOf = async ({ event }: Election): Promise<number> =>
  (await bySql({ event }, 'SELECT 1 FROM log_configurations WHERE voting_event_id = $1')).rowCount ?? 0;

test.each(Object.entries(FORGED))('a candidate %s is in no log and takes no memory', async (_, set) => {
  const election = await openElection();
  const { id } = election.event;
  await vote(election, member(election, 0));
  await sealBallots(service, id, 1);
  const logged = await configurationsOf(election);
  await addCandidate(election, set);

  await untilTrue(async () => {
    await Promise.allSettled([sequenceLogs(sealDeps(service.deps))]);
    return (await read(election)).disputed === true;
  });
  expect(await configurationsOf(election)).toBe(logged);
  expect(await checkLog(sealDeps(service.deps), id)).toBe('what ballots depend on was changed');
  const one = member(election, 1);
  const key = await keyOf(election, one);
  await untilTrue(async () => (await cast(election, one, key)).status === 500);

  const before = process.memoryUsage().arrayBuffers;
  const results = await account.show(`/voting-events/${id}/results`);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1_024 * 1_024);
  expect(results.stats.ballots).toBe(1);
  expect(results.disputed).toBe(true);

  // What is in no log can be taken back.
  await sql.query(`DELETE FROM candidates WHERE voting_event_id = $1 AND id = 'can_forged'`, [id]);
  await sealBallots(service, id, 1);
  expect(await checkLog(sealDeps(service.deps), id)).toBeUndefined();
  demand(await cast(election, one, key), 201);
});
