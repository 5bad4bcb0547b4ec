import { expect, test } from 'vitest';
import { openBallot } from '#src/ballots/waiting-ballot.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { sealDeps } from '#src/work.ts';
import { demand, finishEvent, tendLog, votesFor } from '#test/harness/elections.ts';
import { cast, confirm, createKeyedElection, type KeyedElection, voteWith } from '#test/harness/keyed-elections.ts';
import { CLOSED, moveEnd } from '#test/harness/move-end.ts';
import { useAccount } from '#test/harness/test-service.ts';

// What moves ballots into the log is called here.
const { service, account } = await useAccount({ worker: false });

const query = (text: string, values: unknown[]) => service.deps.db.$client.query(text, values);
const seal = (eventId: string) => tendLog(sealDeps(service.deps), eventId, 1);

async function close(eventId: string): Promise<void> {
  await moveEnd(service.deps, eventId, CLOSED);
  await seal(eventId);
}

async function resultsOf({ id }: KeyedElection) {
  return await account.show(`/voting-events/${id}/results`);
}

/** What is sealed with each ballot of a table, in millionths, beside what its row says. */
async function weightsIn(table: string, { id }: KeyedElection): Promise<{ sealed: bigint | undefined; row: bigint }[]> {
  const event = await findEventById(service.deps.db, id);
  const secrets = event === undefined ? undefined : await service.deps.ballotKeys.find(event);
  if (secrets === undefined) throw new Error('an open election has a key');
  const { rows } = await query(`SELECT code_tag, entries, weight_micro FROM ${table} WHERE voting_event_id = $1`, [id]);
  return rows.map(({ code_tag: tag, entries, weight_micro: row }) => ({
    sealed: openBallot(secrets, { id, type: 'election' }, tag, entries).sealed?.weightMicro,
    row: BigInt(row),
  }));
}

test('a ballot is sealed with the weight of its voter, the usual one or any other', async () => {
  const election = await createKeyedElection(service, account, [1, 7.25, 1_000_000]);
  for (const voter of [0, 1, 2]) demand(await cast(service, election, voter, `weighed-${election.id}-${voter}`), 201);
  const byWeight = (one: { row: bigint }, other: { row: bigint }) => Number(one.row - other.row);
  const expected = [1_000_000n, 7_250_000n, 1_000_000_000_000n].map((weight) => ({ sealed: weight, row: weight }));
  expect((await weightsIn('pending_ballots', election)).toSorted(byWeight)).toEqual(expected);
  // A repeat of the request that had to seal twice is a repeat all the same.
  const again = await cast(service, election, 1, `weighed-${election.id}-1`);
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
});

test('the weight that counts is the one at the cast, after a change before it', async () => {
  const election = await createKeyedElection(service, account, [3]);
  const path = `/voting-events/${election.id}/voters/${election.voters[0]?.id}`;
  await account.change(path, { weight: 4 });
  await voteWith(service, election, [0]);
  expect(await weightsIn('ballot_queue', election)).toEqual([{ sealed: 4_000_000n, row: 4_000_000n }]);
});

/** Weights of Ada and of Bea. */
const weightsWon = ({ positions }: { positions: { candidates: { name: string; weightWon: string }[] }[] }) =>
  ['Ada', 'Bea'].map((name) => positions[0]?.candidates.find((one) => one.name === name)?.weightWon);

test('weights that are swapped between two waiting ballots are found when these are sealed: the others are, and the results say so', async () => {
  const election = await createKeyedElection(service, account, [1, 9, 1, 1, 1]);
  await voteWith(service, election, [0, 1, 2, 3, 4]);
  await query(
    `UPDATE ballot_queue q SET weight_micro = o.weight_micro FROM ballot_queue o
     WHERE q.voting_event_id = $1 AND o.voting_event_id = $1 AND q.weight_micro + o.weight_micro = 10000000
       AND q.id IN (SELECT id FROM ballot_queue WHERE voting_event_id = $1 ORDER BY weight_micro DESC, id LIMIT 2)
       AND o.id IN (SELECT id FROM ballot_queue WHERE voting_event_id = $1 ORDER BY weight_micro DESC, id LIMIT 2)`,
    [election.id],
  );
  await seal(election.id);
  const { rows } = await query(
    `SELECT (SELECT count(*)::int FROM sealed_ballots($1)) AS sealed,
       (SELECT count(*)::int FROM ballot_queue WHERE voting_event_id = $1 AND set_back) AS waiting,
       (SELECT count(alarm)::int FROM voting_events WHERE id = $1) AS alarms`,
    [election.id],
  );
  expect(rows).toEqual([{ sealed: 3, waiting: 2, alarms: 1 }]);
  // Who confirmed is counted, with the weight of the cast: it stands under the key of the election, and no row decides it.
  const results = await resultsOf(election);
  expect(results).toMatchObject({ final: false, disputed: true, stats: { ballots: 5 } });
  expect(weightsWon(results)).toEqual(['3', '10']);
});

test('the weight of a pending ballot that is changed before its confirm is found as well', async () => {
  const election = await createKeyedElection(service, account, [1, 1]);
  const { confirmationCode } = demand(await cast(service, election, 0), 201);
  await query('UPDATE pending_ballots SET weight_micro = 5000000 WHERE voting_event_id = $1', [election.id]);
  demand(await confirm(service, election, confirmationCode), 200);
  await seal(election.id);
  expect((await resultsOf(election)).disputed).toBe(true);
  await close(election.id);
  const results = await resultsOf(election);
  expect(results).toMatchObject({ final: false, disputed: true, stats: { ballots: 1 } });
  expect(weightsWon(results)).toEqual(['1', '0']);
});

test('a waiting ballot whose seal was damaged keeps its event from being final, and no other', async () => {
  const [damaged, well] = [
    await createKeyedElection(service, account, [1]),
    await createKeyedElection(service, account, [1]),
  ];
  for (const election of [damaged, well]) await voteWith(service, election, [0]);
  await query(
    'UPDATE ballot_queue SET entries = set_byte(entries, 40, get_byte(entries, 40) # 1) WHERE voting_event_id = $1',
    [damaged.id],
  );
  await close(damaged.id);
  expect(await resultsOf(damaged)).toMatchObject({ final: false, disputed: true });
  await finishEvent(service, well.id);
  expect(await resultsOf(well)).toMatchObject({ final: true, disputed: false });
});

test('a ballot of a poll that waits with another weight than everybody’s is not sealed', async () => {
  const poll = await account.event();
  await account.votePoll(poll, votesFor(poll));
  await query('UPDATE ballot_queue SET weight_micro = 2000000 WHERE voting_event_id = $1', [poll.id]);
  await seal(poll.id);
  const { rows } = await query('SELECT set_back FROM ballot_queue WHERE voting_event_id = $1', [poll.id]);
  expect(rows).toEqual([{ set_back: true }]);
  expect((await account.show(`/voting-events/${poll.id}`)).disputed).toBe(true);
});
