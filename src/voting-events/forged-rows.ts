import { z } from 'zod';
import type { Deps } from '#src/deps.ts';
import { refuse } from '#src/http/refusals.ts';
import { enqueue } from '#src/jobs/queue.ts';
import type { ApiError } from '#src/platform/errors.ts';

const payload = z.strictObject({ eventId: z.string() });
/** The job that marks an event as disputed (`ballot-log/restore-end.ts`). */
export const NOTE_FORGED_ROWS = { name: 'note_forged_rows', maxAttempts: 25, payload } as const;

/** Raises the alarm for a row of an event, for example a voter, that other SQL wrote or changed (completions 1.6, `rows_disagree`). */
export async function reportForged(
  { db, log }: Pick<Deps, 'db' | 'log'>,
  eventId: string,
  voterId?: string,
): Promise<void> {
  log.error(
    { alarm: 'rows_disagree', event: eventId, voter: voterId },
    'a row of an election was changed from outside',
  );
  await enqueue(db, NOTE_FORGED_ROWS, { eventId }, { key: eventId });
}

/** Raises the same alarm. @returns the refusal of a request that would use the forged row */
export async function refuseForged(
  deps: Parameters<typeof reportForged>[0],
  eventId: string,
  voterId?: string,
): Promise<ApiError> {
  await reportForged(deps, eventId, voterId);
  return refuse('rows_disagree');
}
