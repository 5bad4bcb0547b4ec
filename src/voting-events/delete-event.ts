import { giveEventBack } from '#src/accounts/repository.ts';
import type { Transaction } from '#src/database/client.ts';
import { refuse } from '#src/http/refusals.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { recordEvent } from '#src/webhooks/record-event.ts';
import { retireEndpoints } from '#src/webhooks/retire-endpoints.ts';
import type { Organizer } from './access.ts';
import type { EventDeps } from './create-event.ts';
import { endRehearsal, lockForEnd } from './rehearsal.ts';
import { REMOVE_DELETED_EVENT } from './remove-deleted-event.ts';
import { hasConfirmedBallots, hasPayments, markDeleted, payWaitingBallotsBack } from './repository.ts';

/** Deletes an event with everything in it. @throws ApiError 409 `event_has_ballots` once a ballot is confirmed, unless forced */
export async function deleteVotingEvent(
  tx: Transaction,
  deps: EventDeps,
  organizer: Organizer,
  force: boolean,
): Promise<void> {
  const locked = await lockForEnd(tx, organizer.event);
  const event = locked.rehearsalSince === null ? locked : await endRehearsal(tx, locked);
  if (!force && ((await hasConfirmedBallots(tx, event.id)) || (await hasPayments(tx, event.id)))) {
    throw refuse('delete_needs_force');
  }
  await payWaitingBallotsBack(tx, event.id);
  await markDeleted(tx, event.id);
  await deps.ballotKeys.retire(tx, event.id);
  await enqueue(tx, REMOVE_DELETED_EVENT, { eventId: event.id });
  await giveEventBack(tx, event.accountId);
  const { id, code, title } = event;
  await retireEndpoints(tx, id, event.lockedAt);
  await recordEvent(tx, deps, {
    type: 'voting_event.deleted',
    data: { id, code, title },
    change: {
      accountId: event.accountId,
      votingEventId: id,
      keyId: organizer.caller.keyId,
      action: 'voting_event.deleted',
      resource: id,
      before: { title, code },
    },
  });
}
