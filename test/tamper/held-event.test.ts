import { expect, test } from 'vitest';
import { sealDeps } from '#src/work.ts';
import { demand, sealBallots, tendLog } from '#test/harness/elections.ts';
import { CLOSED, moveEnd } from '#test/harness/move-end.ts';
import { eventually } from '#test/harness/test-service.ts';
import { type Election, useForgedElections } from './forged-election.ts';

// Somebody who writes to the database holds a row while a request waits for it: the request has read what the service wrote, and is
// judged by what SQL wrote meanwhile, which is put back before anybody reads it again (completions 6.7).

const forged = await useForgedElections();
const { service, account, sql, openElection, member, keyOf, cast, confirm, codeOf, vote, register, pathOf } = forged;
const { bySql, keepRows, statusOf, check } = forged;

/** Holds the events until a statement of the request waits for them, and writes; undoes it as soon as the statement was judged. */
async function holdWhile<T>(
  { event }: Election,
  ask: () => Promise<T>,
  write: string,
  undo: string,
  ...values: unknown[]
): Promise<T> {
  // The event is in the memory of the process, as it is while people vote.
  await account.page(event, 'ballot');
  const client = await sql.connect();
  try {
    await client.query('BEGIN');
    await client.query('LOCK TABLE voting_events');
    const answer = ask();
    const isWaiting = async () => {
      const { rowCount } = await sql.query(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() AND query ~ '(check_cast|(cast|confirm)_ballots)'",
      );
      return (rowCount ?? 0) > 0 ? true : undefined;
    };
    await eventually(isWaiting);
    await client.query(write, [event.id, ...values]);
    await client.query('COMMIT');
    // As soon as the statement was judged.
    for (let turn = 0; turn < 2_000; turn += 1) {
      const { rowCount } = await client.query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query ~ '(check_cast|(cast|confirm)_ballots)' AND pid <> pg_backend_pid()",
      );
      if (rowCount === 0) break;
    }
    await client.query(undo, [event.id, ...values]);
    return await answer;
  } finally {
    client.release();
  }
}

const MANUAL = { voter: { selfRegistration: true, approval: 'manual' } };
const APPROVE = "UPDATE voting_events SET voter_approval = 'automatic' WHERE id = $1";
const ASK = "UPDATE voting_events SET voter_approval = 'manual' WHERE id = $1";

test('approves no registrant whom the organizer did not, where SQL says for the length of a cast that a key approves', async () => {
  const election = await openElection(MANUAL);
  await sealBallots(service, election.event.id, 1);
  const stranger = await register(election);
  const key = await keyOf(election, stranger);
  expect((await cast(election, stranger, key)).status).toBe(403);
  const answer = await holdWhile(election, () => cast(election, stranger, key), APPROVE, ASK);
  const confirmed =
    answer.status === 201 ? (await confirm(election, answer.body.data.confirmationCode)).status : answer.status;
  expect(await statusOf(election, stranger)).toBe('pending');
  expect(confirmed).not.toBe(200);
});

test('approves no registrant at a check of the key', async () => {
  const election = await openElection(MANUAL);
  await sealBallots(service, election.event.id, 1);
  const stranger = await register(election);
  const key = await keyOf(election, stranger);
  const ask = () => account.page(election.event, 'voter/check', { email: stranger.email, voterKey: key });
  await holdWhile(election, ask, APPROVE, ASK);
  expect(await statusOf(election, stranger)).toBe('pending');
});

test.each([
  [
    'the voter is approved',
    "UPDATE voters SET status = 'approved' WHERE voting_event_id = $1 AND id = $2",
    "UPDATE voters SET status = 'rejected' WHERE voting_event_id = $1 AND id = $2",
  ],
  [
    'the event is a poll',
    "UPDATE voting_events SET type = 'poll' WHERE id = $1 AND $2 <> ''",
    "UPDATE voting_events SET type = 'election' WHERE id = $1 AND $2 <> ''",
  ],
])(
  'confirms no ballot of a voter who was rejected, where SQL says for the length of a confirm that %s',
  async (_, write, undo) => {
    const election = await openElection();
    for (const at of [1, 2]) await vote(election, member(election, at));
    await sealBallots(service, election.event.id, 1);
    const one = member(election, 0);
    const code = await codeOf(election, one, await keyOf(election, one));
    const putBack = await keepRows(election, 'pending_ballots');
    await account.change(`${pathOf(election)}/voters/${one.id}`, { status: 'rejected' });
    await bySql(election, 'DELETE FROM pending_ballots WHERE voting_event_id = $1');
    await putBack();
    // What a poll would list of the participant.
    await bySql(election, "UPDATE pending_ballots SET visitor_id = 'vi_x' WHERE voting_event_id = $1");
    const plain = await confirm(election, code);
    expect(plain.status).toBe(403);
    const answer = await holdWhile(election, () => confirm(election, code), write, undo, one.id);
    // What the confirm of a poll lists.
    await bySql(election, "DELETE FROM voters WHERE voting_event_id = $1 AND source = 'poll'");
    const fault = await check(election);
    await moveEnd(service.deps, election.event.id, CLOSED);
    const read = () => account.show(`${pathOf(election)}/results`);
    const results = await eventually(async () => {
      await tendLog(sealDeps(service.deps), election.event.id, 1).catch(() => undefined);
      const shown = await read();
      return shown.final || shown.disputed ? shown : undefined;
    });
    expect([403, 500]).toContain(answer.status);
    expect({ fault, ballots: results.stats.ballots }).toEqual({ fault: undefined, ballots: 2 });
  },
);

test('counts no second ballot of a voter, where SQL says for the length of a confirm that votes may be repeated', async () => {
  const election = await openElection();
  const one = member(election, 0);
  const key = await keyOf(election, one);
  const first = await codeOf(election, one, key);
  const putBack = await keepRows(election, 'pending_ballots');
  const second = await codeOf(election, one, key, 1);
  demand(await confirm(election, second), 200);
  await sealBallots(service, election.event.id, 1);
  await putBack();
  const answer = await holdWhile(
    election,
    () => confirm(election, first),
    'UPDATE voting_events SET repeat_votes = true WHERE id = $1',
    'UPDATE voting_events SET repeat_votes = false WHERE id = $1',
  );
  expect([409, 500]).toContain(answer.status);
  expect(await check(election)).toBeUndefined();
});
