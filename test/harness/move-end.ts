import { sql } from 'drizzle-orm';
import { inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { findEventById } from '#src/voting-events/repository.ts';

/** As if the organizer had closed the event 16 minutes ago: nothing can be confirmed any more. */
export const CLOSED = 'closed_at = now_ms() - 16 * 60 * 1000';

/**
 * Moves the end of an event to where no request could: behind this moment. It stands in the event's log, as every end does.
 * @param change what of the event's row changes, in SQL
 */
export async function moveEnd(
  { db, endRecorder }: Pick<Deps, 'db' | 'endRecorder'>,
  eventId: string,
  change: string,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    await endRecorder.hold(tx, eventId);
    const set = sql.raw(`${change}, paper_version = paper_version + 1`);
    await tx.execute(sql`UPDATE voting_events SET ${set} WHERE id = ${eventId}`);
    const event = await findEventById(tx, eventId);
    if (event !== undefined) await endRecorder.record(tx, event);
  });
}
