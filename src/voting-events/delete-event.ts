import { z } from 'zod';
import { changeBy } from '#src/accounts/changes.ts';
import { giveEventBack } from '#src/accounts/repository.ts';
import type { Database, Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { inChunks } from '#src/database/in-chunks.ts';
import { refuse } from '#src/http/refusals.ts';
import { defineJob, enqueue, type Job, PutOff } from '#src/jobs/queue.ts';
import { SECOND_MS } from '#src/platform/clock.ts';
import { retireEndpoints } from '#src/webhooks/change-endpoint.ts';
import { recordEvent } from '#src/webhooks/record-event.ts';
import type { Organizer } from './access.ts';
import type { EventDeps } from './create-event.ts';
import { endRehearsal, lockForEnd } from './rehearsal.ts';
import {
  hasConfirmedBallots,
  hasPayments,
  isRollBeingCopied,
  markDeleted,
  payEverythingBack,
  payWaitingBallotsBack,
  removeEventRows,
} from './repository.ts';

const payload = z.strictObject({ eventId: z.string() });
const REMOVE_DELETED_EVENT = {
  name: 'remove_deleted_event',
  maxAttempts: 25,
  group: 'deletions',
  payload,
} as const;

/** Time limit of one run: a large event then queues again behind other deletions. */
const REMOVING_MS = 1_000;
/** Pause before the next run while another event still copies the voters. */
const LOOK_AGAIN_MS = 2 * SECOND_MS;

/** Removes the rows of a deleted event in chunks. After an interruption, the next run continues. */
export const removeDeletedEventJob = (db: Database): Job<z.output<typeof payload>> =>
  defineJob({
    ...REMOVE_DELETED_EVENT,
    async work({ eventId }) {
      if (await isRollBeingCopied(db, eventId)) throw new PutOff((await readNow(db)) + LOOK_AGAIN_MS);
      const more = await inChunks((maxRows) => removeEventRows(db, eventId, maxRows), REMOVING_MS);
      if (more) await enqueue(db, REMOVE_DELETED_EVENT, { eventId });
    },
  });

/** Deletes an event. Payments that bought nothing, or an unconfirmed ballot, are always refunded. @throws ApiError 409 without `force` */
export async function deleteVotingEvent(
  tx: Transaction,
  deps: EventDeps,
  organizer: Organizer,
  { force, keepsPayments }: { readonly force: boolean; readonly keepsPayments: boolean },
): Promise<void> {
  const locked = await lockForEnd(tx, organizer.event);
  const event = locked.rehearsalSince === null ? locked : await endRehearsal(tx, deps, locked);
  if (!force && ((await hasConfirmedBallots(tx, event.id)) || (await hasPayments(tx, event.id)))) {
    throw refuse('delete_needs_force');
  }
  // An unconfirmed ballot was paid for by a fulfilled payment, as everything that was bought: without `force` there is none.
  if (force) await (keepsPayments ? payWaitingBallotsBack : payEverythingBack)(tx, event.id);
  await markDeleted(tx, event.id);
  await deps.ballotKeys.retire(tx, event.id);
  await enqueue(tx, REMOVE_DELETED_EVENT, { eventId: event.id });
  await giveEventBack(tx, event.accountId);
  const { id, code, title } = event;
  await retireEndpoints(tx, id, event.lockedAt);
  await recordEvent(tx, deps, {
    type: 'voting_event.deleted',
    data: { id, code, title },
    change: changeBy(organizer, 'voting_event.deleted', id, { before: { title, code } }),
  });
}
