import { expect, test } from 'vitest';
import { checkLog, checkLogs } from '#src/ballot-log/check-log.ts';
import { sequenceLog } from '#src/ballot-log/seal-ballots.ts';
import { sealDeps } from '#src/work.ts';
import { createObserverKey, LogReader } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, sealBallots, votesFor } from '#test/harness/elections.ts';
import { eventually } from '#test/harness/test-service.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';
import { type Election, useForgedElections } from './forged-election.ts';

// What SQL can do by a row that is there for a moment, as docs/security.md names it: a mend turns these red, and takes the name away.

const forged = await useForgedElections();
const { service, account, sql, openElection, member, keyOf, cast, confirm, vote, codeOf, read, expectDisputed } =
  forged;
const seal = ({ event }: Election) => sequenceLog(sealDeps(service.deps), event.id, 1);
const check = ({ event }: Election) => checkLog(sealDeps(service.deps), event.id);

/** Changes a rule as SQL does, and waits until the service reads it. */
async function setBudget(eventId: string, points: number): Promise<void> {
  await sql.query('UPDATE positions SET cumulative_point_budget = $2 WHERE voting_event_id = $1', [eventId, points]);
  await sql.query('UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1', [eventId]);
  await eventually(async () => {
    const ballot = demand(await account.page({ id: eventId }, 'ballot'), 200);
    return ballot.positions[0].cumulativePointBudget === points ? true : undefined;
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
  const sequencer = await sql.connect();
  await sequencer.query("SELECT pg_advisory_lock(hashtextextended('seal ' || $1, 0))", [event.id]);
  await setBudget(event.id, 1_000);
  const { confirmationCode } = demand(await cast(election, member(election, 0), key, 0, choose(1_000)), 201);
  await setBudget(event.id, 10);
  sequencer.release(true);
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
  const one = demand(
    await account.post(`/voting-events/${id}/voters`, { name: 'One', voterId: 'ID-1', email: 'one@club.example' }),
    201,
  );
  const ballot = { voterId: 'ID-1', voterKey: await keyOf(election, one), votes: votesFor(election.event, 0) };
  const code = demand(await account.page(election.event, 'ballot/cast', ballot), 201).confirmationCode;
  await sql.query(`CREATE TABLE kept_ballot AS SELECT * FROM pending_ballots WHERE voting_event_id = '${id}'`);
  await sql.query('DELETE FROM pending_ballots WHERE voting_event_id = $1', [id]);
  expect((await account.delete(`/voting-events/${id}/voters/${one.id}`)).status).toBe(202);
  await eventually(async () =>
    (await sql.query('SELECT 1 FROM voters WHERE voting_event_id = $1 AND id = $2', [id, one.id])).rowCount === 0
      ? true
      : undefined,
  );
  const next = demand(await account.post(`/voting-events/${id}/voters`, { name: 'Next', voterId: 'ID-1' }), 201);
  await sql.query(
    `INSERT INTO pending_ballots SELECT (jsonb_populate_record(k, jsonb_build_object('participant', $1::text, 'participants', ARRAY[$1::text]))).* FROM kept_ballot k`,
    [next.id],
  );
  expect((await confirm(election, code)).status).toBe(200);
});

test('a seal that the owner of the database lets fail is an alarm, and goes on once it may', async () => {
  const election = await openElection();
  await sealBallots(service, election.event.id, 9);
  for (const at of [0, 1, 2, 3, 4]) await vote(election, member(election, at));
  await sql.query(`CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`);
  await sql.query(`CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON ballot_blocks DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION fails()`);
  await expect(seal(election)).rejects.toThrow('commit');
  await expectDisputed(election);
  await sql.query('DROP FUNCTION fails CASCADE');
  await sealBallots(service, election.event.id);
  expect(await check(election)).toBeUndefined();
});

test('a row that says an alarm shows an event as disputed until the next check', async () => {
  const election = await openElection();
  for (const at of [0, 1, 2, 3, 4]) await vote(election, member(election, at));
  await sealBallots(service, election.event.id);
  await sql.query("UPDATE voting_events SET alarm = 'rows_disagree' WHERE id = $1", [election.event.id]);
  await eventually(async () => ((await read(election)).disputed === true ? true : undefined));
  await checkLogs(sealDeps(service.deps), 0);
  await eventually(async () => ((await read(election)).disputed === false ? true : undefined));
});

test.each([
  ['names a position twice', 'number', 'position_ids || position_ids'],
  ['has a number in the thousands of millions', '2147483647', 'position_ids'],
  ['has a number that none begins with', '0', 'position_ids'],
])(
  'a candidate that SQL adds, and that %s, is not counted: nobody votes by it, and it stands in no leaf',
  async (_, number, positions) => {
    const election = await openElection();
    const {
      id,
      positions: [position],
    } = election.event;
    await vote(election, member(election, 0));
    await sealBallots(service, id);
    const { rows } = await sql.query(
      `INSERT INTO candidates SELECT (jsonb_populate_record(c, jsonb_build_object('id', 'cnd_forged', 'number',
        CASE WHEN $2 = 'number' THEN (c.number + 1000)::text ELSE $2 END, 'position_ids', CASE WHEN $3 = 'position_ids' THEN to_jsonb(c.position_ids)
        ELSE to_jsonb(c.position_ids || c.position_ids) END))).*
     FROM candidates c WHERE voting_event_id = $1 AND id = $4 RETURNING id`,
      [id, number, positions, position?.candidates[0]],
    );
    expect(rows).toHaveLength(1);
    await sql.query('UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1', [id]);
    await eventually(async () =>
      (await account.get(`/voting-events/${id}/results`)).status === 500 ? true : undefined,
    );
    await expect(seal(election)).rejects.toMatchObject({ details: { reason: 'rows_disagree' } });
    await expectDisputed(election);
    await sql.query('DELETE FROM candidates WHERE voting_event_id = $1 AND id = $2', [id, 'cnd_forged']);
    await sql.query('UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1', [id]);
    await sealBallots(service, id);
    expect(await check(election)).toBeUndefined();
  },
);

test('a leaf says a wrong roll where SQL changes the figures for a moment, and the next one says the right one', async () => {
  const election = await openElection();
  const { id } = election.event;
  const change = (by: number) =>
    sql.query(
      "UPDATE roll_figures SET heads = heads + $2 WHERE ctid = (SELECT ctid FROM roll_figures WHERE voting_event_id = $1 AND status = 'approved' LIMIT 1)",
      [id, by],
    );
  await change(10);
  await sealBallots(service, id, 9);
  await change(-10);
  const leaves = async () => await new LogReader(service, id, account.vote).leaves();
  expect((await leaves())[0]).toMatchObject({ t: 'open', roll: { heads: 16 } });
  for (const at of [0, 1, 2, 3, 4]) await vote(election, member(election, at));
  await sealBallots(service, id);
  expect((await leaves()).find(({ t }) => t === 'roll')).toMatchObject({ heads: 6 });
  await finishEvent(service, id);
  expect(await read(election)).toMatchObject({ disputed: false, finalAt: expect.any(Number) });
});

test('a ballot that its voter replaced is confirmed by its own code, where SQL puts it back', async () => {
  const election = await openElection();
  const [one] = [member(election, 0)];
  const key = await keyOf(election, one);
  const earlier = await codeOf(election, one, key, 0);
  const { rows } = await sql.query('SELECT to_jsonb(p) AS row FROM pending_ballots p WHERE voting_event_id = $1', [
    election.event.id,
  ]);
  const later = await codeOf(election, one, key, 1);
  expect((await confirm(election, earlier)).status).toBe(404);
  await sql.query('DELETE FROM pending_ballots WHERE voting_event_id = $1', [election.event.id]);
  await sql.query('INSERT INTO pending_ballots SELECT * FROM jsonb_populate_record(NULL::pending_ballots, $1)', [
    rows[0].row,
  ]);
  expect((await confirm(election, earlier)).status).toBe(200);
  expect((await confirm(election, later)).status).toBe(404);
});
