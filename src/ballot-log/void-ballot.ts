import type { Transaction } from '#src/database/client.ts';
import { insertVoid } from './repository.ts';

/**
 * SQL. Of a row `v` of `voided_ballots`: its `void` leaf stands behind the `close` leaf, or will. The final result keeps such
 * a ballot (completions 7.4). Nothing is ever void in a log that is not closed and void after its close at once: the
 * `close` leaf waits for every `void` leaf that is due.
 */
export const VOID_AFTER_CLOSE = `EXISTS (SELECT 1 FROM ballot_logs l WHERE l.voting_event_id = v.voting_event_id
  AND l.closed_size IS NOT NULL AND (v.leaf_index IS NULL OR v.leaf_index >= l.closed_size))`;

/** SQL. Of a ballot `b`: it became void in time not to count in the result. */
export const NOT_COUNTED = `EXISTS (SELECT 1 FROM voided_ballots v
  WHERE v.voting_event_id = b.voting_event_id AND v.code_tag = b.code_tag AND NOT ${VOID_AFTER_CLOSE})`;

/**
 * Makes a confirmed ballot void, because its payment was reversed: from here on it does not count, and a `void` leaf follows
 * its own into the log (completions 6.3). Doing it again changes nothing; a code that confirmed no ballot voids none.
 * @param codeTag SHA-256("code" ‖ confirmation code), 32 bytes
 */
export async function voidBallot(tx: Transaction, eventId: string, codeTag: Buffer): Promise<void> {
  await insertVoid(tx, eventId, codeTag);
}
