import { expect, test } from 'vitest';
import { useForgedElections } from './forged-election.ts';

const { account, sql, openElection, member, vote } = await useForgedElections();

// Live results show at least five ballots at a time (completions 5.6), also to somebody who writes to the database.
test.each([
  [
    'is away for a moment',
    'DELETE FROM ballot_queue WHERE voting_event_id = $1 AND id = $2',
    'INSERT INTO ballot_queue SELECT * FROM kept_one',
  ],
  [
    'is said to be kept back',
    'UPDATE ballot_queue SET released = false WHERE voting_event_id = $1 AND id = $2',
    'UPDATE ballot_queue SET released = true WHERE voting_event_id = $1',
  ],
])('the live count tells no choice of a waiting ballot that %s', async (_, away, back) => {
  const election = await openElection({ results: { visibility: 'live' } });
  // Somebody who looks after each confirm sees whose row came. The database says as much by its transaction IDs until the ballots are shown.
  const whose = new Map<string, number>();
  for (const at of [0, 1, 2, 3, 4]) {
    await vote(election, member(election, at), at === 2 ? 1 : 0);
    const { rows } = await sql.query('SELECT id FROM ballot_queue WHERE voting_event_id = $1', [election.event.id]);
    for (const { id } of rows) if (!whose.has(id)) whose.set(id, at);
  }
  const counts = async (): Promise<number[]> =>
    (await account.page(election.event, 'results')).body.data.positions[0].candidates.map(
      ({ votesWon }: { votesWon: number }) => votesWon,
    );
  const before = await counts();
  expect(before).toEqual([4, 1]);
  const learnt = [];
  for (const [id, at] of whose) {
    await sql.query('DROP TABLE IF EXISTS kept_one');
    await sql.query(`CREATE TABLE kept_one AS SELECT * FROM ballot_queue WHERE id = '${id}'`);
    await sql.query(away, [election.event.id, id]);
    const [ada, bea] = await counts();
    learnt.push([at, (before[0] ?? 0) - (ada ?? 0), (before[1] ?? 0) - (bea ?? 0)]);
    await sql.query(back, back.includes('$1') ? [election.event.id] : []);
  }
  expect(learnt.find(([at]) => at === 2)).not.toEqual([2, 0, 1]);
});
