import { z } from 'zod';
import type { Database } from '#src/database/client.ts';
import { defineJob, type Job } from '#src/jobs/queue.ts';
import { removeDeleted } from './repository.ts';

const payload = z.strictObject({ kind: z.enum(['positions', 'candidates', 'groups']), eventId: z.string() });
export type RemoveDeletedRows = z.output<typeof payload>;

export const REMOVE_DELETED_ROWS = {
  name: 'remove_deleted_rows',
  maxAttempts: 25,
  group: 'deletions',
  payload,
} as const;

/** Takes rows whose deletion was answered 202 out of the database. */
export function removeDeletedRowsJob(db: Database): Job<RemoveDeletedRows> {
  return defineJob({ ...REMOVE_DELETED_ROWS, work: ({ kind, eventId }) => removeDeleted(db, kind, eventId) });
}
