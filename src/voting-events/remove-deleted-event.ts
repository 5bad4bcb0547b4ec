import { z } from 'zod';
import type { Database } from '#src/database/client.ts';
import { inChunks } from '#src/database/in-chunks.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { removeEventRows } from './repository.ts';

const payload = z.strictObject({ eventId: z.string() });
export const REMOVE_DELETED_EVENT = {
  name: 'remove_deleted_event',
  maxAttempts: 25,
  group: 'deletions',
  payload,
} as const;

/** The most of one run. A large event then queues up again behind other deletions, which wait no longer than this. */
const REMOVING_MS = 1_000;

/** Removes what a deleted event left, in chunks. A run that is cut off is followed by one that goes on behind it. */
export function removeDeletedEventJob(db: Database): Job<z.output<typeof payload>> {
  return defineJob({
    ...REMOVE_DELETED_EVENT,
    async work({ eventId }) {
      const more = await inChunks((maxRows) => removeEventRows(db, eventId, maxRows), REMOVING_MS);
      if (more) await enqueue(db, REMOVE_DELETED_EVENT, { eventId });
    },
  });
}
