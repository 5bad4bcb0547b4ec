import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { loadBallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { leafDataOf } from '#src/ballot-log/leaf-of-ballot.ts';
import { CompactRange, hashLeaf } from '#src/ballot-log/merkle-tree.ts';
import { findHead } from '#src/ballot-log/repository.ts';
import { dropSetBack } from '#src/ballot-log/set-back.ts';
import { appendLeaves } from '#src/ballot-log/tree-store.ts';
import { insertBallots } from '#src/ballots/box.ts';
import { ballotIdOf } from '#src/ballots/waiting-ballot.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import { sealDeps } from '#src/work.ts';
import { demand, finishEvent, tendLog } from '#test/harness/elections.ts';
import { type Election, useForgedElections } from './forged-election.ts';

// SQL writes whole heads, boxes and queues of its own, with the guards of the tables switched off. The service goes on from nothing
// that it has not signed, and misses the ballots that it has confirmed (completions 6.7).

const forged = await useForgedElections();
const { service, account, sql: client, lines, openElection, member, keyOf, confirm, codeOf, vote, read } = forged;
const { bySql } = forged;
const seal = sealDeps(service.deps);
const turn = ({ event }: Election, least: number) => tendLog(seal, event.id, least);
const HOUR_MS = 3_600_000;

const hasAlarm = ({ event }: Election, words: RegExp): boolean =>
  lines.some((line) => line['event'] === event.id && line['alarm'] !== undefined && words.test(String(line['reason'])));

/** Runs statements without the guards of the tables. */
const unguarded = (work: (tx: Transaction) => Promise<unknown>) =>
  inTransaction(service.deps.db, async (tx) => {
    await tx.execute(sql`SET LOCAL session_replication_role = replica`);
    await work(tx);
  });

/** Ballots for the first candidate, as the box has them: no key is needed for their form. */
const ownBallots = (count: number) =>
  Array.from({ length: count }, () => {
    const [salt, codeTag] = [randomBytes(32), randomBytes(32)];
    const packed = { entries: Buffer.from('0101010101', 'hex'), weightMicro: 1_000_000n, sealedTime: randomBytes(12) };
    const nobody = { voterId: null, countryCode: null, submittedAt: null };
    return { id: ballotIdOf(salt, codeTag), codeTag, salt, ...packed, ...nobody };
  });

/** Replaces all ballots by the attacker's: blocks, leaves, head, and a checkpoint row whose note bears no valid signature. */
async function writeBox({ event }: Election): Promise<void> {
  const definition = await loadBallotDefinition(service.deps.db, event.id);
  if (definition === undefined) throw new Error('the election is there');
  await unguarded(async (tx) => {
    for (const table of ['ballot_blocks', 'ballot_queue', 'log_tiles', 'log_checkpoints'])
      await tx.execute(sql`DELETE FROM ${sql.identifier(table)} WHERE voting_event_id = ${event.id}`);
    await tx.execute(sql`DELETE FROM log_leaves WHERE voting_event_id = ${event.id} AND leaf_index > 0`);
    const { rows } = await tx.execute<{ data: Buffer }>(
      sql`SELECT data FROM log_leaves WHERE voting_event_id = ${event.id}`,
    );
    const frontier = new CompactRange();
    for (const { data } of rows) frontier.append(hashLeaf(data));
    const ballots = ownBallots(5);
    await insertBallots(tx, event.id, 1, ballots);
    await appendLeaves(
      tx,
      event.id,
      frontier,
      ballots.map((ballot) => leafDataOf(definition, ballot)),
    );
    const note = `x/${event.id}\n${frontier.size}\n${Buffer.from(frontier.root()).toString('base64')}\nconfirmed 5\n\n— x AAAA\n`;
    await tx.execute(sql`INSERT INTO log_checkpoints (voting_event_id, size, root_hash, note, created_at)
      VALUES (${event.id}, ${frontier.size}, ${Buffer.from(frontier.root())}, ${note}, 1)`);
    await tx.execute(sql`UPDATE ballot_logs SET size = ${frontier.size}, frontier = ${frontier.toBytes()}, ballots = 5,
      confirmed = 0 WHERE voting_event_id = ${event.id}`);
  });
}

test.each(['waiting', 'sealed'] as const)(
  'a box of its own in place of ballots that are %s is never signed',
  async (state) => {
    const election = await openElection();
    await turn(election, 9);
    for (const at of [1, 2, 3, 4, 5]) await vote(election, member(election, at), 1);
    await turn(election, state === 'sealed' ? 5 : 9);
    const before = await findHead(service.deps.db, election.event.id);
    await writeBox(election);
    await expect(turn(election, 9)).rejects.toMatchObject({ reason: 'the head is not as it was signed' });
    expect((await findHead(service.deps.db, election.event.id))?.note).toBe(before?.note);
    expect((await read(election)).disputed).toBe(true);
  },
);

test('a log that SQL sets back, or has begin again, is found by what was signed last, though its row is still there', async () => {
  for (const goesBack of [true, false]) {
    const election = await openElection();
    const { id } = election.event;
    await turn(election, 9);
    await client.query(
      `CREATE TABLE kept_head_${goesBack} AS SELECT * FROM ballot_logs WHERE voting_event_id = '${id}'`,
    );
    for (const at of [1, 2, 3, 4, 5]) await vote(election, member(election, at), 1);
    await turn(election, 5);
    await unguarded(async (tx) => {
      await tx.execute(sql`DELETE FROM ballot_blocks WHERE voting_event_id = ${id}`);
      await tx.execute(sql`DELETE FROM log_leaves WHERE voting_event_id = ${id} AND leaf_index >= ${goesBack ? 1 : 0}`);
      await tx.execute(sql`DELETE FROM ballot_logs WHERE voting_event_id = ${id}`);
      if (goesBack) await tx.execute(sql`INSERT INTO ballot_logs SELECT * FROM kept_head_true`);
    });
    await expect(turn(election, 1)).rejects.toMatchObject({ alarm: 'ballot_log_set_back' });
    expect((await read(election)).disputed).toBe(true);
  }
});

// With no ballot confirmed, so the head said, what is frozen with the first ballot could be changed for the moment of a cast.
test('a head that says of a moment that nothing was confirmed has no ballot cast under another definition', async () => {
  const election = await openElection();
  await turn(election, 9);
  for (const at of [1, 2, 3, 4, 5]) await vote(election, member(election, at), 1);
  await turn(election, 5);
  const key = await keyOf(election, member(election, 0));
  await unguarded(async (tx) => {
    await tx.execute(sql`UPDATE ballot_logs SET confirmed = 0 WHERE voting_event_id = ${election.event.id}`);
    for (const number of [sql`-number`, sql`3 + number`])
      await tx.execute(sql`UPDATE candidates SET number = ${number} WHERE voting_event_id = ${election.event.id}`);
    await tx.execute(sql`UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = ${election.event.id}`);
  });
  service.deps.events.forgetAll();
  const email = member(election, 0).email;
  const other = await service.another();
  const { status, body } = await other.call(
    'POST',
    `/public/voting-events/${election.event.id}/ballot/cast`,
    {
      email,
      voterKey: key,
      votes: [{ positionId: election.event.positions[0]?.id, candidateId: election.event.positions[0]?.candidates[0] }],
    },
    { key: account.vote },
  );
  await other.stop();
  expect([status, body.error?.details?.reason]).toEqual([500, 'rows_disagree']);
});

/** Takes a confirmed ballot that waits out of the database, with all that says that its voter took part. */
async function takeAway({ event }: Election, ballotId: string, voterId: string): Promise<void> {
  await bySql({ event }, 'DELETE FROM ballot_queue WHERE voting_event_id = $1 AND id = $2', ballotId);
  for (const [table, column] of [
    ['participation', 'participant'],
    ['undisclosed_voters', 'voter_id'],
  ])
    await bySql({ event }, `DELETE FROM ${table} WHERE voting_event_id = $1 AND ${column} = $2`, voterId);
}

const waiting = async ({ event }: Election): Promise<string[]> =>
  (await bySql({ event }, 'SELECT id FROM ballot_queue WHERE voting_event_id = $1')).rows.map(({ id }) => id);

// Another ballot that is confirmed meanwhile makes the numbers agree.
test('a ballot that was signed for is missed where SQL takes it with the participation of its voter', async () => {
  const election = await openElection({ endsAt: Date.now() + HOUR_MS });
  await vote(election, member(election, 1), 1);
  const [victim = ''] = await waiting(election);
  await vote(election, member(election, 2));
  await turn(election, 5);
  await service.deps.acknowledged.look(service.deps);
  expect((await read(election)).disputed).toBe(false);
  await vote(election, member(election, 3));
  await takeAway(election, victim, member(election, 1).id);
  await turn(election, 5);
  await service.deps.acknowledged.look(service.deps);
  expect((await read(election)).disputed).toBe(true);
  expect(hasAlarm(election, /^1 confirmed ballots are neither in the log nor waiting/)).toBe(true);
});

test('a ballot that SQL takes is missed also after an operator has dropped a row that SQL had added', async () => {
  const election = await openElection({ endsAt: Date.now() + HOUR_MS });
  await vote(election, member(election, 1), 1);
  await bySql(
    election,
    `INSERT INTO ballot_queue SELECT q.voting_event_id, 'bal_' || md5(q.id), sha256(q.code_tag), q.entries, q.weight_micro, q.salt,
       q.sealed_time, q.voter_id, q.country_code, q.submitted_at, q.due_at, true FROM ballot_queue q WHERE voting_event_id = $1`,
  );
  expect((await dropSetBack(service.deps, election.event.id))?.ballots).toBe(1);
  const before = await waiting(election);
  await vote(election, member(election, 2));
  const [victim = ''] = (await waiting(election)).filter((id) => !before.includes(id));
  await takeAway(election, victim, member(election, 2).id);
  await vote(election, member(election, 3));
  await service.deps.acknowledged.look(service.deps);
  expect(hasAlarm(election, /^1 confirmed ballots are neither in the log nor waiting/)).toBe(true);
});

test('a confirmed ballot that an operator dropped, because SQL had changed it, is not missed', async () => {
  const election = await openElection({ endsAt: Date.now() + HOUR_MS });
  await vote(election, member(election, 1), 1);
  await bySql(
    election,
    'UPDATE ballot_queue SET weight_micro = weight_micro + 1, set_back = true WHERE voting_event_id = $1',
  );
  expect((await dropSetBack(service.deps, election.event.id))?.ballots).toBe(1);
  await service.deps.acknowledged.look(service.deps);
  expect(hasAlarm(election, /neither in the log nor waiting/)).toBe(false);
});

test('nothing is missed through sealing, a rehearsal with its end, and the deletion of an event', async () => {
  const sealed = await openElection();
  for (const at of [0, 1, 2, 3, 4]) await vote(sealed, member(sealed, at));
  await turn(sealed, 5);
  await vote(sealed, member(sealed, 5));
  const deleted = await openElection();
  await vote(deleted, member(deleted, 0));
  const rehearsed = await openElection({}, false);
  const change = (status: string) => account.patch(`/voting-events/${rehearsed.event.id}`, { status });
  demand(await change('rehearsal'), 200);
  await vote(rehearsed, member(rehearsed, 0));
  demand(await change('open'), 200);
  await vote(rehearsed, member(rehearsed, 1));
  const at = `/voting-events/${deleted.event.id}?force=true`;
  expect((await account.delete(at)).status).toBe(204);
  await service.deps.acknowledged.look(service.deps);
  await finishEvent(service, sealed.event.id);
  await service.deps.acknowledged.look(service.deps);
  for (const election of [sealed, deleted, rehearsed]) expect(hasAlarm(election, /./)).toBe(false);
});

// Its key was right at the cast, so the confirm says, and approves the voter: a voter who never had one was approved by another's.
test('a ballot of somebody else approves no voter who waits for a key', async () => {
  const election = await openElection({ voter: { selfRegistration: true, approval: 'automatic' } });
  const { id } = election.event;
  const person = { name: 'New', email: 'new@mail.example' };
  const { id: registrant } = demand(await account.page(election.event, 'register/voter', person), 201);
  const one = member(election, 0);
  const code = await codeOf(election, one, await keyOf(election, one));
  const key = "INSERT INTO voter_keys (voting_event_id, voter_id, key_hash) VALUES ($1, $2, sha256('junk'))";
  await client.query(key, [id, registrant]);
  await client.query(
    'UPDATE pending_ballots SET participant = $2, participants = ARRAY[$2] WHERE voting_event_id = $1',
    [id, registrant],
  );
  expect((await confirm(election, code)).status).toBe(500);
  const { rows } = await client.query('SELECT status FROM voters WHERE voting_event_id = $1 AND id = $2', [
    id,
    registrant,
  ]);
  expect(rows).toEqual([{ status: 'pending' }]);
});
