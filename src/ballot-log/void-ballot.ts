import { and, eq, sql } from 'drizzle-orm';
import type { Executor, Transaction } from '#src/database/client.ts';
import { voidedBallots } from './tables.ts';

/**
 * SQL condition on a row `v` of `voided_ballots`: its `void` leaf comes after the `close` leaf. The final result keeps such a
 * ballot (completions 7.4). A ballot that became void before the close never meets this condition, because the `close` leaf
 * waits for its `void` leaf.
 */
export const VOID_AFTER_CLOSE = `EXISTS (SELECT 1 FROM ballot_logs l WHERE l.voting_event_id = v.voting_event_id
  AND l.closed_size IS NOT NULL AND (v.leaf_index IS NULL OR v.leaf_index >= l.closed_size))`;

/** SQL condition on a ballot `b`: it became void before the close, and so does not count in the result. */
export const NOT_COUNTED = `EXISTS (SELECT 1 FROM voided_ballots v
  WHERE v.voting_event_id = b.voting_event_id AND v.code_tag = b.code_tag AND NOT ${VOID_AFTER_CLOSE})`;

/**
 * Voids a confirmed ballot whose payment was reversed. The ballot gets a `void` leaf after its own leaf (completions 6.3), and no
 * longer counts, unless the log is already closed. Idempotent; does nothing for a code that confirmed no ballot.
 * @param codeTag SHA-256("code" ‖ confirmation code), 32 bytes
 */
export async function voidBallot(tx: Transaction, eventId: string, codeTag: Buffer): Promise<void> {
  await tx.execute(sql`
    INSERT INTO voided_ballots (voting_event_id, code_tag)
    SELECT ${eventId}, ${codeTag} WHERE
      EXISTS (SELECT 1 FROM ballot_queue WHERE voting_event_id = ${eventId} AND code_tag = ${codeTag}) OR
      (SELECT leaf_index FROM find_sealed(${eventId}, ${codeTag})) IS NOT NULL
    ON CONFLICT DO NOTHING`);
}

/** Void ballots per statement, which looks up each in a block of the box: more than ten thousand would take three seconds. */
export const VOIDS_TOGETHER = 512;

/** Up to `VOIDS_TOGETHER` void ballots that have a leaf in the log, but no `void` leaf yet. */
export async function listVoidsToLog(executor: Executor, eventId: string) {
  for (let after: Buffer = Buffer.alloc(0); ; ) {
    const { rows } = await executor.execute<{ codeTag: Buffer; leafIndex: number | null }>(sql`
      SELECT v.code_tag AS "codeTag", b.leaf_index::float8 AS "leafIndex" FROM (
        SELECT w.code_tag FROM voided_ballots w WHERE w.voting_event_id = ${eventId} AND w.leaf_index IS NULL AND w.code_tag > ${after}
          AND NOT EXISTS (SELECT 1 FROM ballot_queue q WHERE q.voting_event_id = w.voting_event_id AND q.code_tag = w.code_tag)
        ORDER BY w.code_tag LIMIT ${VOIDS_TOGETHER}) AS v
      LEFT JOIN LATERAL find_sealed(${eventId}, v.code_tag) AS b ON true ORDER BY v.code_tag`);
    const found = rows.flatMap(({ codeTag, leafIndex }) => (leafIndex === null ? [] : [{ codeTag, leafIndex }]));
    const last = rows.at(-1);
    if (found.length > 0 || last === undefined || rows.length < VOIDS_TOGETHER) return found;
    // No ballot of this page has a leaf any more, because an operator dropped them all: go on to the next page.
    after = last.codeTag;
  }
}

export async function noteVoidLeaf(
  tx: Transaction,
  eventId: string,
  codeTag: Buffer,
  leafIndex: number,
): Promise<void> {
  await tx
    .update(voidedBallots)
    .set({ leafIndex })
    .where(and(eq(voidedBallots.votingEventId, eventId), eq(voidedBallots.codeTag, codeTag)));
}
