import { z } from 'zod';
import type { Database } from '#src/database/client.ts';
import { vacuumTables } from '#src/database/vacuum.ts';
import { defineJob, type Job } from '#src/jobs/queue.ts';
import type { Log } from '#src/platform/log.ts';

const payload = z.strictObject({});
/** Enqueued when the roll of a finished election was rewritten. */
export const REMOVE_DEAD_ROWS = { name: 'remove_dead_rows', maxAttempts: 10, group: 'deletions', payload } as const;

/** Several elections that end together are one vacuum. */
export const REMOVED_AFTER_MS = 5_000;

/** Tables whose dead rows join voters with ballots, or show the order in which people voted. */
export const JOINING_TABLES = [
  'pending_ballots',
  'waiting_participants',
  'ballot_queue',
  'participation',
  'undisclosed_voters',
  'undisclosed_ballots',
  'idempotency_keys',
  'voters',
  'voter_keys',
] as const;

export function removeDeadRowsJob(deps: { readonly db: Database; readonly log: Log }): Job<z.output<typeof payload>> {
  return defineJob({ ...REMOVE_DEAD_ROWS, work: () => vacuumTables(deps.db, deps.log, JOINING_TABLES) });
}
