import { sql } from 'drizzle-orm';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { type BallotToSeal, listSealed } from '#src/ballots/box.ts';
import { isMaskedTime, openWaiting, openWaitingTime } from '#src/ballots/waiting-ballot.ts';
import { atOneMoment, type Database, type Executor, inTransaction, type Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { MINUTE_MS } from '#src/platform/clock.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { unlessSpoilt } from '#src/platform/errors.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { acceptRoll, dropForgedParticipations } from '#src/voters/check-roll.ts';
import type { BallotKeys } from '#src/voting-events/ballot-keys.ts';
import { lockEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { RecordDeps } from '#src/webhooks/record-event.ts';
import { recordGrown } from './checkpoint.ts';
import { noteDropped } from './dropped-ballots.ts';
import { SALT_BYTES } from './leaf.ts';
import { recordDrop, recordWaitingChange } from './record-configuration.ts';
import { lockHead, type QueuedBallot, readQueue, updateHead, waitForSequencer } from './repository.ts';

// A queue row that the service did not write is marked `set_back`: it stays in the queue and does not count, and the log continues with
// the other rows. The event is disputed and does not become final until an operator drops the row (completions 6.7).

/** Decrypts a queued ballot, ready for the box; undefined if the service did not write the row, or if its weight was changed. */
function openQueued(secrets: Secrets, event: VotingEvent, row: QueuedBallot): BallotToSeal | undefined {
  // Only a confirm encrypts the times: without this check direct SQL could move a cast but unconfirmed ballot into the queue.
  if (event.type === 'election' && isMaskedTime(row.sealedTime)) return undefined;
  return unlessSpoilt(() => {
    const { entries, sealed } = openWaiting(secrets, event, row.codeTag, row.entries);
    const { masked: sealedTime } = openWaitingTime(secrets, event.id, row.codeTag, row.sealedTime);
    // All ballots of a poll have weight 1.
    const weightMicro = sealed?.weightMicro ?? MICRO;
    const { salt } = sealed ?? row;
    if (weightMicro !== row.weightMicro || salt.length !== SALT_BYTES) return undefined;
    const { dueAt: _, ...ballot } = row;
    return { ...ballot, entries, sealedTime, ...sealed, weightMicro };
  });
}

/** When a ballot must be sealed; never if forged. Elections use the encrypted time: SQL could change the column to get it sealed alone. */
export function dueOf(secrets: Secrets | undefined, event: VotingEvent, row: QueuedBallot): number {
  if (event.type === 'poll') return row.dueAt;
  const opened = secrets && unlessSpoilt(() => openWaitingTime(secrets, event.id, row.codeTag, row.sealedTime));
  return opened?.dueMs ?? Number.POSITIVE_INFINITY;
}

/** Splits queue rows into genuine ballots, decrypted, and rows that are forged or repeat a ballot of the box. */
export async function judgeQueued(
  executor: Executor,
  secrets: Secrets | undefined,
  event: VotingEvent,
  rows: readonly QueuedBallot[],
): Promise<{ readonly genuine: BallotToSeal[]; readonly forged: QueuedBallot[] }> {
  const opened = rows.map((row) => (secrets === undefined ? undefined : openQueued(secrets, event, row)));
  const tags = opened.flatMap((ballot) => ballot?.codeTag ?? []);
  const copies = new Set((await listSealed(executor, event.id, tags)).map((tag) => tag.toString('hex')));
  const genuine: BallotToSeal[] = [];
  const forged: QueuedBallot[] = [];
  for (const [place, row] of rows.entries()) {
    const ballot = opened[place];
    if (ballot === undefined || copies.has(ballot.codeTag.toString('hex'))) forged.push(row);
    else genuine.push(ballot);
  }
  return { genuine, forged };
}

/** Puts rows back into the queue. @param marked whether to mark them `set_back`, so that the sequencer does not take them again */
export async function putBack(
  tx: Transaction,
  eventId: string,
  rows: readonly QueuedBallot[],
  marked: boolean,
): Promise<void> {
  for (const row of rows)
    await tx.execute(sql`
      INSERT INTO ballot_queue (voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code,
        submitted_at, due_at, set_back)
      VALUES (${eventId}, ${row.id}, ${row.codeTag}, ${row.entries}, ${row.weightMicro.toString()}, ${row.salt}, ${row.sealedTime},
        ${row.voterId}, ${row.countryCode}, ${row.submittedAt}, ${row.dueAt}, ${marked})`);
}

/** Rows read at a time, to bound memory. */
const PAGE = 1_000;

/** Unmarks genuine ballots that direct SQL marked `set_back`. @returns their number, at most 1,000 */
export async function unmark(tx: Transaction, ballotKeys: BallotKeys, event: VotingEvent): Promise<number> {
  const rows = await readQueue(tx, event.id, '', PAGE, 'set back');
  if (rows.length === 0) return 0;
  const { forged } = await judgeQueued(tx, await ballotKeys.find(event), event, rows);
  const marked = new Set(rows.map(({ id }) => id)).difference(new Set(forged.map(({ id }) => id)));
  await tx.execute(sql`
    UPDATE ballot_queue SET set_back = false WHERE voting_event_id = ${event.id} AND id = ANY (${sql.param([...marked])}::text[])`);
  return marked.size;
}

/** Tolerance between the due time by the clock of the process (encrypted) and by the clock of the database (column). */
const DUE_WITHIN_MS = MINUTE_MS;

/** Whether the queue has a row that the service did not write, already marked or not. */
export function hasForgedBallots(db: Database, secrets: Secrets | undefined, event: VotingEvent): Promise<boolean> {
  // One snapshot: a ballot sealed between two reads would otherwise be seen in the queue and in the box, as a forged copy.
  return atOneMoment(db, async (tx) => {
    let after = '';
    for (;;) {
      const rows = await readQueue(tx, event.id, after, PAGE, 'all');
      if ((await judgeQueued(tx, secrets, event, rows)).forged.length > 0) return true;
      if (rows.some((row) => Math.abs(dueOf(secrets, event, row) - row.dueAt) > DUE_WITHIN_MS)) return true;
      if (rows.length < PAGE) return false;
      after = rows.at(-1)?.id ?? '';
    }
  });
}

/** The IDs of rows marked `set_back`, at most 1,000. */
export const listSetBack = async (executor: Executor, eventId: string): Promise<string[]> =>
  (await readQueue(executor, eventId, '', PAGE, 'set back')).map(({ id }) => id);

type DropDeps = RecordDeps & Pick<Deps, 'db' | 'secrets' | 'ballotKeys' | 'definitions' | 'logKey' | 'checkpoints'>;

/** Deletes up to 1,000 rows marked `set_back` and forged participations, and logs how many. @returns undefined without a log */
export async function dropSetBack(deps: DropDeps, eventId: string) {
  const done = await inTransaction(deps.db, async (tx) => {
    await waitForSequencer(tx, eventId);
    // Excludes concurrent changes of the roll while `acceptRoll` runs.
    await lockEvent(tx, eventId);
    const definition = await deps.definitions.getForUpdate(tx, eventId);
    const head = await lockHead(tx, eventId);
    if (definition === undefined || head === undefined) return undefined;
    const { event } = definition;
    const secrets = await deps.ballotKeys.find(event);
    const rows = await readQueue(tx, eventId, '', PAGE, 'set back');
    const { forged } = await judgeQueued(tx, secrets, event, rows);
    const gone = forged.map(({ id }) => id);
    await tx.execute(
      sql`DELETE FROM ballot_queue WHERE voting_event_id = ${eventId} AND id = ANY (${sql.param(gone)}::text[])`,
    );
    await noteDropped(tx, deps.secrets, eventId, gone);
    await tx.execute(sql`
      UPDATE ballot_queue SET set_back = false
      WHERE voting_event_id = ${eventId} AND id = ANY (${sql.param(rows.map(({ id }) => id))}::text[])`);
    if (event.type === 'election') await acceptRoll(tx, deps.secrets, event);
    const dropped = {
      ballots: forged.length,
      /** Genuine ballots that had been marked and are queued again. */
      kept: rows.length - forged.length,
      participations: event.type === 'poll' ? 0 : await dropForgedParticipations(tx, secrets, eventId),
    };
    const author = { event, caller: { keyId: null } };
    await recordChange(tx, deps, changeBy(author, 'ballots.set_back_dropped', eventId, { after: dropped }));
    if (forged.length === 0) return { dropped, note: undefined };
    const current = head.closedSize === null ? await recordWaitingChange(deps, tx, event, head) : head;
    const after = await recordDrop(tx, event, current, forged.length);
    await updateHead(tx, eventId, after);
    const note = await recordGrown(tx, deps, event, after);
    // Only the real log's checkpoints are remembered outside of the database: the log of a rehearsal is wiped.
    return { dropped, note: event.rehearsalSince === null ? note : undefined };
  });
  if (done?.note !== undefined) await deps.checkpoints.remember(eventId, done.note);
  return done?.dropped;
}
