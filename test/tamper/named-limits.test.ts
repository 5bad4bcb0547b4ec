import { expect, test } from 'vitest';
import { checkLogs } from '#src/ballot-log/check-log.ts';
import { sequenceLogs } from '#src/ballot-log/seal-ballots.ts';
import { reportForged } from '#src/voting-events/forged-rows.ts';
import { sealDeps } from '#src/work.ts';
import { createObserverKey } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, sealBallots, votesFor } from '#test/harness/elections.ts';
import { holdLog } from '#test/harness/hold-log.ts';
import { CLOSED, moveEnd } from '#test/harness/move-end.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';
import { useForgedElections } from './forged-election.ts';

// What SQL can do by a row that is there for a moment, as docs/security.md names it: a mend turns these red, and takes the name away.

const { service, account, sql, lines, openElection, member, keyOf, cast, confirm, codeOf, vote, read } =
  await useForgedElections();

/** Changes a rule as SQL does, and waits until the service reads it. */
async function setBudget(eventId: string, points: number): Promise<void> {
  await sql.query('UPDATE positions SET cumulative_point_budget = $2 WHERE voting_event_id = $1', [eventId, points]);
  await sql.query('UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1', [eventId]);
  await untilTrue(async () => {
    const ballot = demand(await account.page({ id: eventId }, 'ballot'), 200);
    return ballot.positions[0].cumulativePointBudget === points;
  });
}

test('a ballot is taken by a rule that SQL changed before the first confirm, and the verifier names it', async () => {
  const plan = [{ votingMethod: 'cumulative', candidates: ['Ada', 'Bea'], settings: { cumulativePointBudget: 10 } }];
  const election = await openElection({ ballot: { opening: 'observer' } }, true, plan);
  const { event } = election;
  await sealBallots(service, event.id, 9);
  const choose = (value: number) => [{ ...votesFor(event, 0)[0], value }];
  const key = await keyOf(election, member(election, 0));
  // SQL can keep the log from recording the rule while it stands: a log that records it is held against the next one.
  const release = await holdLog(service.deps, event.id);
  await setBudget(event.id, 1_000);
  const { confirmationCode } = demand(await cast(election, member(election, 0), key, 0, choose(1_000)), 201);
  await setBudget(event.id, 10);
  await release();
  const other = member(election, 1);
  const right = demand(await cast(election, other, await keyOf(election, other), 0, choose(10)), 201);
  for (const code of [right.confirmationCode, confirmationCode]) demand(await confirm(election, code), 200);
  await finishEvent(service, event.id);
  const read = readOverHttp(`http://127.0.0.1:${service.port}`, await createObserverKey(service, account, event.id));
  expect((await verifyLog({ read, event: event.id })).verified).toBe('no');
});

test('a ballot that waits is confirmed for another voter who got its voter ID, where SQL puts it back', async () => {
  const election = await openElection();
  const { id } = election.event;
  const one = await account.make(`/voting-events/${id}/voters`, {
    name: 'One',
    voterId: 'ID-1',
    email: 'one@club.example',
  });
  const ballot = { voterId: 'ID-1', voterKey: await keyOf(election, one), votes: votesFor(election.event, 0) };
  const code = demand(await account.page(election.event, 'ballot/cast', ballot), 201).confirmationCode;
  await sql.query(`CREATE TABLE kept_ballot AS SELECT * FROM pending_ballots WHERE voting_event_id = '${id}'`);
  await sql.query('DELETE FROM pending_ballots WHERE voting_event_id = $1', [id]);
  expect((await account.delete(`/voting-events/${id}/voters/${one.id}`)).status).toBe(202);
  await untilTrue(
    async () =>
      (await sql.query('SELECT 1 FROM voters WHERE voting_event_id = $1 AND id = $2', [id, one.id])).rowCount === 0,
  );
  const next = await account.make(`/voting-events/${id}/voters`, { name: 'Next', voterId: 'ID-1' });
  await sql.query(
    `INSERT INTO pending_ballots SELECT (jsonb_populate_record(k, jsonb_build_object('participant', $1::text, 'participants', ARRAY[$1::text]))).* FROM kept_ballot k`,
    [next.id],
  );
  expect((await confirm(election, code)).status).toBe(200);
});

test('a row in `alarm`, or a job that reports forged rows, disputes an event until the next check', async () => {
  const election = await openElection();
  const { id } = election.event;
  await sealBallots(service, id, 1);
  const isDisputed = async (is: boolean) => ((await read(election)).disputed === is ? true : undefined);
  for (const cry of [
    () => sql.query(`UPDATE voting_events SET alarm = 'rows_disagree' WHERE id = $1`, [id]),
    () => reportForged(service.deps, id),
  ]) {
    await cry();
    await eventually(() => isDisputed(true));
    await checkLogs(sealDeps(service.deps), 0);
    expect(await isDisputed(false)).toBe(true);
  }
});

test('a ballot that its voter replaced is confirmed by its own code, where SQL puts it back', async () => {
  const election = await openElection();
  const { id } = election.event;
  const one = member(election, 0);
  const key = await keyOf(election, one);
  const earlier = await codeOf(election, one, key, 0);
  await sql.query(`CREATE TABLE replaced_ballot AS SELECT * FROM pending_ballots WHERE voting_event_id = '${id}'`);
  const later = await codeOf(election, one, key, 1);
  expect((await confirm(election, earlier)).status).toBe(404);
  await sql.query('DELETE FROM pending_ballots WHERE voting_event_id = $1', [id]);
  await sql.query('INSERT INTO pending_ballots SELECT * FROM replaced_ballot');
  expect((await confirm(election, later)).status).toBe(404);
  demand(await confirm(election, earlier), 200);
});

test('a leaf says a wrong roll by the figures of its moment, and the next one the right roll', async () => {
  const election = await openElection();
  const { id } = election.event;
  const headsOf = async (): Promise<number> => {
    await sealBallots(service, id, 1);
    const { rows } = await sql.query(
      `SELECT data FROM log_leaves WHERE voting_event_id = $1 AND position('"t":"roll"'::bytea IN data) > 0
       ORDER BY leaf_index DESC LIMIT 1`,
      [id],
    );
    return JSON.parse(rows[0].data.toString('utf8')).heads;
  };
  await sealBallots(service, id, 1);
  const change = async (email: string): Promise<void> => {
    await account.change(`/voting-events/${id}/voters/${member(election, 5).id}`, { email });
  };
  const invent = (heads: number) =>
    sql.query(
      `INSERT INTO roll_figures (voting_event_id, group_id, status, source, heads, weight_micro, voted, voted_weight_micro)
       VALUES ($1, '', 'approved', 'organizer', $2, $2::bigint * 1000000, 0, 0)`,
      [id, heads],
    );
  await invent(7);
  await change('one@else.example');
  expect(await headsOf()).toBe(13);
  await invent(-7);
  await change('two@else.example');
  expect(await headsOf()).toBe(6);
});

test('a seal that SQL makes fail at its commit leaves its ballots in dead rows, and is an alarm the second time', async () => {
  const election = await openElection();
  const { id } = election.event;
  await sealBallots(service, id, 1);
  await sql.query(`CREATE FUNCTION fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'connection_failure'; END $$`);
  await sql.query(`CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON ballot_blocks DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.voting_event_id = '${id}') EXECUTE FUNCTION fail_at_commit()`);
  await sql.query('CREATE EXTENSION IF NOT EXISTS pageinspect');
  const isAlarmed = () => lines.some(({ alarm, event }) => alarm === 'ballot_log_untended' && event === id);
  try {
    for (const at of [0, 1, 2, 3, 4, 5]) await vote(election, member(election, at));
    await moveEnd(service.deps, id, CLOSED);
    await untilTrue(async () => {
      await Promise.allSettled([sequenceLogs(sealDeps(service.deps))]);
      return isAlarmed();
    });
    expect((await sql.query('SELECT 1 FROM ballot_blocks WHERE voting_event_id = $1', [id])).rowCount).toBe(0);
    const { rows } = await sql.query(
      `SELECT count(*)::int AS dead FROM heap_page_items(get_raw_page('ballot_blocks', 0)) WHERE position($1::bytea IN t_data) > 0`,
      [Buffer.from(id)],
    );
    expect(rows[0].dead).toBeGreaterThan(0);
  } finally {
    await sql.query('DROP TRIGGER fails ON ballot_blocks');
    await sql.query('DROP FUNCTION fail_at_commit');
  }
  await Promise.allSettled([sequenceLogs(sealDeps(service.deps))]);
});
