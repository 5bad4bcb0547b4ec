import { sql } from 'drizzle-orm';
import { inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { setEventIn } from './genuine-rows.ts';

/** As if the organizer had closed the event 16 minutes ago: nothing can be confirmed any more. */
export const CLOSED = 'closed_at = now_ms() - 16 * 60 * 1000';

/**
 * Moves the end of an event to where no request could: behind this moment. It stands in the event's log, as every end does.
 * @param change what of the event's row changes, in SQL
 */
export async function moveEnd(
  { db, logRecorder, secrets }: Pick<Deps, 'db' | 'logRecorder' | 'secrets'>,
  eventId: string,
  change: string,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    await logRecorder.hold(tx, eventId);
    const set = sql.raw(`${change}, paper_version = paper_version + 1`);
    await logRecorder.record(tx, await setEventIn(tx, secrets, eventId, set));
  });
}
