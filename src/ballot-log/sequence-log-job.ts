import { z } from 'zod';
import { defineJob, type Job } from '#src/jobs/queue.ts';
import { FULL_QUEUE, type SealDeps, sequenceLog } from './seal-ballots.ts';

const payload = z.strictObject({ eventId: z.string() });
/** Enqueued by the database with every opening, change and close, and when a process saw a full queue go by. */
export const SEQUENCE_LOG = { name: 'tend_ballot_log', maxAttempts: 5, payload } as const;

export function sequenceLogJob(deps: SealDeps): Job<z.output<typeof payload>> {
  return defineJob({ ...SEQUENCE_LOG, work: ({ eventId }) => sequenceLog(deps, eventId, FULL_QUEUE) });
}
