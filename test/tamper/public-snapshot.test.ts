import { expect, test } from 'vitest';
import { Disclosure } from '#src/results/disclosure.ts';
import { demand, sealBallots } from '#test/harness/elections.ts';
import { createKeyedElection, type KeyedElection, voteWith } from '#test/harness/keyed-elections.ts';
import { useKeyedService } from './keyed-service.ts';

// The public live count of an election is a stored snapshot (completions 5.6). Rows that SQL takes away, adds, changes or puts back move
// it by no ballot, or by five that came since at least: two looks never tell what one voter chose.

const { service, account, bySql } = await useKeyedService();
const { disclosure } = service.deps.counting;

async function openElection(votes: number): Promise<KeyedElection> {
  const weights = Array.from({ length: 24 }, () => 1);
  const election = await createKeyedElection(service, account, weights, true, { results: { visibility: 'live' } });
  await voteWith(service, election, range(0, votes));
  await disclosure.step(election.id);
  return election;
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index);

/** Ballots, and the votes of both candidates, as the public is shown them. */
async function look({ id }: KeyedElection): Promise<number[]> {
  const { stats, positions } = demand(await account.page({ id }, 'results'), 200);
  const votes = positions[0].candidates.map(({ totalVotes }: { totalVotes: number }) => totalVotes);
  return [stats.ballots, ...votes];
}

const ballotsShown = async (election: KeyedElection): Promise<number | undefined> => (await look(election))[0];

/** Rows as if some voters waited to be shown. */
function addWaiting(election: KeyedElection, from: number, to: number): Promise<unknown> {
  const ids = election.voters.slice(from, to).map(({ id }) => id);
  return bySql(election, 'INSERT INTO undisclosed_voters SELECT $1, v FROM unnest($2::text[]) AS v', ids);
}

test('a waiting ballot that is taken away and put back moves no public count', async () => {
  const election = await openElection(7);
  const before = await look(election);
  expect(before[0]).toBe(7);
  await service.query('CREATE TABLE taken AS SELECT * FROM ballot_queue LIMIT 0');
  await bySql(election, 'INSERT INTO taken SELECT * FROM ballot_queue WHERE voting_event_id = $1 LIMIT 1');
  await bySql(election, 'DELETE FROM ballot_queue q USING taken t WHERE q.voting_event_id = $1 AND q.id = t.id');
  expect(await look(election)).toEqual(before);
  await service.query('INSERT INTO ballot_queue SELECT * FROM taken');
  expect(await look(election)).toEqual(before);
});

test('ballots that move into the log meanwhile move no public count', async () => {
  const election = await openElection(7);
  const before = await look(election);
  await voteWith(service, election, range(7, 10));
  await sealBallots(service, election.id);
  expect(await look(election)).toEqual(before);
  await voteWith(service, election, range(10, 12));
  expect(await ballotsShown(election)).toBe(12);
});

test('rows of voters who wait to be shown make no step that five ballots do not', async () => {
  const election = await openElection(7);
  const before = await look(election);
  await voteWith(service, election, [7]);
  await addWaiting(election, 10, 16);
  await disclosure.step(election.id);
  expect(await look(election)).toEqual(before);
  // Nor is the voter shown, which would be as good.
  expect((await account.show(`/voting-events/${election.id}/voters?voted=true&limit=200`)).length).toBe(7);
});

test('ballots that SQL puts into the box make no step', async () => {
  const election = await openElection(7);
  await sealBallots(service, election.id);
  const before = await look(election);
  await voteWith(service, election, [7]);
  await addWaiting(election, 10, 16);
  // As the owner of the database, without its triggers.
  await service.query(`
    BEGIN; SET LOCAL session_replication_role = replica;
    INSERT INTO ballot_blocks SELECT voting_event_id, first_leaf + 100, ballots, entries, weights, decode(repeat('ab', 32 * ballots), 'hex'),
      array_fill(tag_head(decode(repeat('ab', 8), 'hex')), ARRAY[ballots]), salts, sealed_times
    FROM ballot_blocks WHERE voting_event_id = '${election.id}';
    COMMIT`);
  await disclosure.step(election.id);
  expect(await look(election)).toEqual(before);
});

test('a snapshot that SQL removes or puts back lets no process show fewer than five ballots more than it has', async () => {
  const election = await openElection(5);
  const first = await bySql(election, 'SELECT sealed FROM public_snapshots WHERE voting_event_id = $1');
  await voteWith(service, election, range(5, 10));
  expect(await ballotsShown(election)).toBe(10);
  const put = (sealed: unknown) =>
    bySql(election, 'UPDATE public_snapshots SET sealed = $2 WHERE voting_event_id = $1', sealed);
  await put(first[0]?.['sealed']);
  await voteWith(service, election, [10]);
  await addWaiting(election, 12, 18);
  await disclosure.step(election.id);
  expect(await ballotsShown(election)).toBe(5);
  await bySql(election, 'DELETE FROM public_snapshots WHERE voting_event_id = $1');
  await disclosure.step(election.id);
  expect(await ballotsShown(election)).toBe(0);
  await voteWith(service, election, range(11, 15));
  expect(await ballotsShown(election)).toBe(15);
});

test('a snapshot of other bytes, or of another event, shows nothing, and is an alarm at the next step', async () => {
  for (const forge of [
    'sha256(sealed)',
    '(SELECT s.sealed FROM public_snapshots s WHERE s.voting_event_id <> $1 LIMIT 1)',
  ]) {
    await openElection(5);
    const election = await openElection(6);
    await bySql(election, `UPDATE public_snapshots SET sealed = ${forge} WHERE voting_event_id = $1`);
    expect(await ballotsShown(election)).toBe(0);
    await voteWith(service, election, range(6, 11));
    expect(await ballotsShown(election)).toBe(11);
    const jobs = await bySql(election, `SELECT 1 FROM jobs WHERE key LIKE '%' || $1`);
    expect(jobs.length).toBeGreaterThan(0);
  }
});

test('its length is that of its ballots, whatever was marked', async () => {
  const lengthOf = async (candidates: readonly number[]): Promise<number> => {
    const election = await openElection(0);
    await voteWith(service, election, candidates);
    await disclosure.step(election.id);
    const rows = await bySql(
      election,
      'SELECT length(sealed) AS length FROM public_snapshots WHERE voting_event_id = $1',
    );
    return rows[0]?.['length'];
  };
  const lengths = [await lengthOf([0, 2, 4, 6, 8]), await lengthOf([1, 3, 5, 7, 9]), await lengthOf([0, 1, 2, 3, 4])];
  expect(new Set(lengths).size).toBe(1);
});

test('another process reads the snapshot that the first one stored', async () => {
  const election = await openElection(9);
  const other = new Disclosure({ ...service.deps });
  await voteWith(service, election, range(9, 12));
  await other.step(election.id);
  expect(await ballotsShown(election)).toBe(9);
  await voteWith(service, election, range(12, 14));
  await other.step(election.id);
  expect(await ballotsShown(election)).toBe(14);
});
