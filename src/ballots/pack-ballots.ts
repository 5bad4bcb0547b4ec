import { sql } from 'drizzle-orm';
import type { Database } from '#src/database/client.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';

/** A run goes on a minute later: it keeps no place from other jobs for long. */
const RUN_MS = 40_000;

/** True while a process of a version runs that would have to take blocks apart ballot by ballot. */
async function isEarlierVersionAlive(db: Database): Promise<boolean> {
  const { rows } = await db.execute<{ alive: boolean }>(
    sql`SELECT EXISTS (SELECT 1 FROM service_processes p WHERE NOT p.reads_blocks AND is_process_alive(p.id)) AS alive`,
  );
  return rows[0]?.alive === true;
}

async function listEventsWithRows(db: Database): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    SELECT e.id FROM voting_events e WHERE e.deleted_at IS NULL
      AND EXISTS (SELECT 1 FROM ballot_rows r WHERE r.voting_event_id = e.id) ORDER BY e.id`);
  return rows.map(({ id }) => id);
}

/** @returns how many ballots a block took, 0 where none is left, or another process is at the log */
async function packOnce(db: Database, eventId: string): Promise<number> {
  const { rows } = await db.execute<{ packed: number }>(sql`SELECT pack_ballots(${eventId}) AS packed`);
  return rows[0]?.packed ?? 0;
}

/**
 * Takes sealed ballots that an earlier version wrote, a row each, into blocks: up to 256 in a transaction, while votes go on. Stops
 * where it is when its time is over, and goes on there in the next run. Nothing happens while a process of an earlier version is
 * alive, and what cannot be moved holds up no other event.
 * @returns how many ballots were moved
 */
export async function packBallots({ db, log }: { readonly db: Database; readonly log: Log }): Promise<number> {
  const until = monotonicMs() + RUN_MS;
  if (await isEarlierVersionAlive(db)) return 0;
  let moved = 0;
  let failed = 0;
  for (const eventId of await listEventsWithRows(db)) {
    let ofEvent = 0;
    try {
      for (let packed = 1; packed > 0 && monotonicMs() < until; ofEvent += packed) packed = await packOnce(db, eventId);
    } catch (fault) {
      failed += 1;
      log.error(
        { event: eventId, fault: summariseFault(fault) },
        'ballots of an earlier version could not be moved into blocks',
      );
    }
    if (ofEvent > 0)
      log.info({ event: eventId, ballots: ofEvent }, 'ballots of an earlier version were moved into blocks');
    moved += ofEvent;
  }
  if (failed > 0) throw new Error(`ballots of ${failed} events could not be moved into blocks`);
  return moved;
}
