import { eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import { changeBy } from '#src/accounts/changes.ts';
import { giveEventBack } from '#src/accounts/repository.ts';
import { type Database, type Executor, isTrue, readNumber, type Transaction, valuesOf } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { inChunks } from '#src/database/in-chunks.ts';
import { refuse } from '#src/http/refusals.ts';
import { defineJob, enqueue, type Job, PutOff } from '#src/jobs/queue.ts';
import { HOUR_MS, SECOND_MS } from '#src/platform/clock.ts';
import { retireEndpoints } from '#src/webhooks/change-endpoint.ts';
import { recordEvent } from '#src/webhooks/record-event.ts';
import type { Organizer } from './access.ts';
import type { EventDeps } from './create-event.ts';
import { endRehearsal, lockForEnd } from './rehearsal.ts';
import { hasConfirmedBallots, hasPayments } from './repository.ts';
import { eventInvites } from './tables.ts';

const payload = z.strictObject({ eventId: z.string() });
const REMOVE_DELETED_EVENT = {
  name: 'remove_deleted_event',
  maxAttempts: 25,
  group: 'deletions',
  payload,
} as const;

/** Time limit of one run. After it, a large event queues again behind other deletions. */
const REMOVING_MS = 1_000;
/** Pause before the next run while another event still copies the voters. */
const LOOK_AGAIN_MS = 2 * SECOND_MS;

/** After its deletion, an event keeps its voters at most this long for a copy that is being made. */
const COPYING_HOURS = 24;

/** Whether another event still copies the voters of a deleted event. Until then, the event must not be removed. */
function isRollBeingCopied(executor: Executor, id: string): Promise<boolean> {
  const copied = sql`SELECT EXISTS (SELECT 1 FROM roll_copies c JOIN voting_events e ON e.id = c.source_id
    WHERE c.source_id = ${id} AND e.deleted_at > now_ms() - ${COPYING_HOURS * HOUR_MS}::bigint)`;
  return isTrue(executor, copied);
}

/** Removes the rows of a deleted event in chunks. After an interruption, the next run continues. */
export const removeDeletedEventJob = (db: Database): Job<z.output<typeof payload>> =>
  defineJob({
    ...REMOVE_DELETED_EVENT,
    async work({ eventId }) {
      if (await isRollBeingCopied(db, eventId)) throw new PutOff((await readNow(db)) + LOOK_AGAIN_MS);
      // The event's own row is removed last.
      const remove = (maxRows: number) => readNumber(db, sql`SELECT delete_event_rows(${eventId}, ${maxRows})`);
      const more = await inChunks(remove, REMOVING_MS);
      if (more) await enqueue(db, REMOVE_DELETED_EVENT, { eventId });
    },
  });

/**
 * Hides an event from all readers at once, and frees its code. Its row stays until a job has removed all rows that refer to it.
 * `closed_at = 0` puts the final time into the past, so that every cast and confirm is refused. Call with the event locked.
 */
async function markDeleted(tx: Transaction, id: string): Promise<void> {
  await tx.execute(sql`
    UPDATE voting_events SET deleted_at = now_ms(), code_key = 'deleted/' || id, closed_at = 0, payment_business_id = NULL
    WHERE id = ${id}`);
  await tx.delete(eventInvites).where(eq(eventInvites.votingEventId, id));
}

/** Payments per statement, so that each statement stays below the statement timeout. */
const PAID_BACK_TOGETHER = 2_000;

/** Refunds the payments for unconfirmed ballots of an event that is being deleted, because these ballots will never count. */
async function payWaitingBallotsBack(tx: Transaction, eventId: string): Promise<void> {
  for (let last: string | null = ''; last !== null; )
    [last = null] = await valuesOf<string | null>(
      tx,
      sql`SELECT max(id) FROM (
        SELECT b.payment_attempt_id AS id, give_back_ballot(b.voting_event_id, b.payment_attempt_id) FROM pending_ballots b
        WHERE b.voting_event_id = ${eventId} AND b.payment_attempt_id > ${last}
        ORDER BY b.payment_attempt_id LIMIT ${PAID_BACK_TOGETHER}) AS given`,
    );
}

/** Refunds the fulfilled payments of a deleted event: 500 here, the others by jobs. */
async function payEverythingBack(tx: Transaction, eventId: string): Promise<void> {
  await tx.execute(sql`SELECT give_event_back(${eventId}, '')`);
}

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
  // Any purchase, even of an unconfirmed ballot, has a fulfilled payment. Without `force`, `hasPayments` has found none.
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
