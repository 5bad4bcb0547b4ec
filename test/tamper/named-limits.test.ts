import { expect, test } from 'vitest';
import { createObserverKey } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, sealBallots, votesFor } from '#test/harness/elections.ts';
import { eventually } from '#test/harness/test-service.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';
import { useForgedElections } from './forged-election.ts';

// What SQL can do by a row that is there for a moment, as docs/security.md names it: a mend turns these red, and takes the name away.

const { service, account, sql, openElection, member, keyOf, cast, confirm } = await useForgedElections();

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
