import { and, asc, desc, eq, gt, gte, lt, lte, sql } from 'drizzle-orm';
import { type BallotToSeal, findSealedLeaf, type RowOf, withWeight } from '#src/ballots/box.ts';
import { type Executor, firstOf, isTrue, readNumber, type Transaction } from '#src/database/client.ts';
import { CompactRange } from './merkle-tree.ts';
import { ballotLogs, logCheckpoints, logLeaves } from './tables.ts';

type HeadRow = typeof ballotLogs.$inferSelect;

export interface LogHead extends Readonly<Omit<HeadRow, 'votingEventId' | 'size' | 'frontier'>> {
  readonly frontier: CompactRange;
}

const headOf = (row: HeadRow): LogHead => ({ ...row, frontier: CompactRange.fromBytes(row.frontier) });

/** Takes the transaction lock of a log's sequencer; false if another process holds it. */
export const takeSequencer = (tx: Transaction, eventId: string): Promise<boolean> =>
  isTrue(tx, sql`SELECT pg_try_advisory_xact_lock(hashtextextended(${`seal ${eventId}`}, 0))`);

/** Waits for the lock of `takeSequencer`. Call before locking the event's row: the sequencer locks in this order. */
export async function waitForSequencer(tx: Transaction, eventId: string): Promise<void> {
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`seal ${eventId}`}, 0))`);
}

export async function findHead(executor: Executor, eventId: string): Promise<LogHead | undefined> {
  const [row] = await executor.select().from(ballotLogs).where(eq(ballotLogs.votingEventId, eventId));
  return row === undefined ? undefined : headOf(row);
}

export async function lockHead(tx: Transaction, eventId: string): Promise<LogHead | undefined> {
  const [row] = await tx.select().from(ballotLogs).where(eq(ballotLogs.votingEventId, eventId)).for('update');
  return row === undefined ? undefined : headOf(row);
}

function headColumns(head: LogHead) {
  const { frontier, ...rest } = head;
  return { ...rest, size: frontier.size, frontier: frontier.toBytes() };
}

export async function insertHead(tx: Transaction, eventId: string, head: LogHead): Promise<void> {
  await tx.insert(ballotLogs).values({ votingEventId: eventId, ...headColumns(head) });
}

export async function updateHead(tx: Transaction, eventId: string, head: LogHead): Promise<void> {
  await tx.update(ballotLogs).set(headColumns(head)).where(eq(ballotLogs.votingEventId, eventId));
}

/** The data of leaves `from` to before `to`, in order. */
export async function readLeaves(executor: Executor, eventId: string, from: number, to: number): Promise<Buffer[]> {
  const rows = await executor
    .select({ data: logLeaves.data })
    .from(logLeaves)
    .where(and(eq(logLeaves.votingEventId, eventId), gte(logLeaves.leafIndex, from), lt(logLeaves.leafIndex, to)))
    .orderBy(asc(logLeaves.leafIndex));
  return rows.map(({ data }) => data);
}

export async function findLastClose(executor: Executor, eventId: string, size: number): Promise<number | undefined> {
  const { rows } = await executor.execute<{ index: string }>(sql`
    SELECT leaf_index AS index FROM log_leaves WHERE voting_event_id = ${eventId} AND leaf_index < ${size}
      AND position('"t":"close"'::bytea IN data) > 0 ORDER BY leaf_index DESC LIMIT 1`);
  return rows[0] && Number(rows[0].index);
}

export type StoredCheckpoint = Readonly<Pick<typeof logCheckpoints.$inferSelect, 'size' | 'rootHash' | 'note'>>;

const checkpointColumns = { size: logCheckpoints.size, rootHash: logCheckpoints.rootHash, note: logCheckpoints.note };

/** The newest checkpoint, with the last note signed at its size: the note is renewed when more ballots are confirmed. */
export const findLastCheckpoint = (executor: Executor, eventId: string): Promise<StoredCheckpoint | undefined> =>
  firstOf(
    executor
      .select({ ...checkpointColumns, note: ballotLogs.note })
      .from(logCheckpoints)
      .innerJoin(ballotLogs, eq(ballotLogs.votingEventId, logCheckpoints.votingEventId))
      .where(eq(logCheckpoints.votingEventId, eventId))
      .orderBy(desc(logCheckpoints.size))
      .limit(1),
  );

/** The checkpoint of a size, with the last note signed at that size: the head may have been signed again, also by another key. */
export function findCheckpointAt(executor: Executor, eventId: string, size: number) {
  const { votingEventId } = logCheckpoints;
  return firstOf(
    executor
      .select({ ...checkpointColumns, note: sql<string>`coalesce(${ballotLogs.note}, ${logCheckpoints.note})` })
      .from(logCheckpoints)
      .leftJoin(ballotLogs, and(eq(ballotLogs.votingEventId, votingEventId), eq(ballotLogs.size, logCheckpoints.size)))
      .where(and(eq(votingEventId, eventId), eq(logCheckpoints.size, size))),
  );
}

/** Checkpoints of sizes above `from` and up to `to`, in order. */
export async function listCheckpoints(
  executor: Executor,
  eventId: string,
  from: number,
  to: number,
): Promise<StoredCheckpoint[]> {
  return executor
    .select(checkpointColumns)
    .from(logCheckpoints)
    .where(and(eq(logCheckpoints.votingEventId, eventId), gt(logCheckpoints.size, from), lte(logCheckpoints.size, to)))
    .orderBy(asc(logCheckpoints.size));
}

const QUEUED = sql`id, code_tag AS "codeTag", entries, weight_micro AS "weightMicro", salt, sealed_time AS "sealedTime",
  voter_id AS "voterId", country_code AS "countryCode", submitted_at::float8 AS "submittedAt", due_at::float8 AS "dueAt"`;

/** A queued ballot as its row has it, not verified. */
export interface QueuedBallot extends BallotToSeal {
  readonly dueAt: number;
}

/**
 * Deletes up to `limit` ballots with the smallest IDs above `after` from the queue, if at least `least` are there. IDs are random. `after`
 * avoids scanning the dead rows of earlier calls. Rows are deleted by ctid, because to delete by ID the planner may read the whole queue.
 * @returns the deleted rows in ID order; none if fewer than `least` are there
 */
export async function takeQueue(
  tx: Transaction,
  eventId: string,
  { after, least, limit }: { readonly after: string; readonly least: number; readonly limit: number },
): Promise<QueuedBallot[]> {
  const waiting = (most: number) =>
    sql`SELECT ctid FROM ballot_queue WHERE voting_event_id = ${eventId} AND id > ${after} AND NOT set_back ORDER BY id LIMIT ${most}`;
  const { rows } = await tx.execute<RowOf<QueuedBallot>>(sql`
    WITH taken AS (
      DELETE FROM ballot_queue WHERE ctid = ANY (ARRAY(${waiting(limit)}))
        AND (SELECT count(*) FROM (${waiting(least)}) AS waiting) >= ${least}
      RETURNING ${QUEUED})
    SELECT * FROM taken ORDER BY id`);
  return rows.map(withWeight);
}

const QUEUED_OF = { all: sql``, waiting: sql`AND NOT set_back`, 'set back': sql`AND set_back` };

/** Queued ballots with IDs above `after`, in ID order. */
export async function readQueue(
  executor: Executor,
  eventId: string,
  after: string,
  limit: number,
  which: keyof typeof QUEUED_OF,
): Promise<QueuedBallot[]> {
  const { rows } = await executor.execute<RowOf<QueuedBallot>>(sql`
    SELECT ${QUEUED} FROM ballot_queue
    WHERE voting_event_id = ${eventId} AND id > ${after} ${QUEUED_OF[which]} ORDER BY id LIMIT ${limit}`);
  return rows.map(withWeight);
}

/** A confirmed ballot's leaf; null while queued, undefined for an unknown code. @param waitingTag undefined once none can be queued */
export async function findBallotLeaf(
  executor: Executor,
  eventId: string,
  waitingTag: Buffer | undefined,
  codeTag: Buffer,
): Promise<{ leafIndex: number | null } | undefined> {
  // Search the queue first: a ballot that moves between the two queries is then found in the box.
  if (waitingTag !== undefined) {
    const queued = await executor.execute(
      sql`SELECT 1 FROM ballot_queue WHERE voting_event_id = ${eventId} AND code_tag = ${waitingTag}`,
    );
    if (queued.rows.length > 0) return { leafIndex: null };
  }
  const leafIndex = await findSealedLeaf(executor, eventId, codeTag);
  return leafIndex === undefined ? undefined : { leafIndex };
}

export const countQueue = (executor: Executor, eventId: string): Promise<number> =>
  readNumber(executor, sql`SELECT count(*) FROM ballot_queue WHERE voting_event_id = ${eventId}`);
