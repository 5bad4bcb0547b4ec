import { recordChange } from '#src/accounts/changes.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { emailKey } from '#src/platform/email-address.ts';
import { summariseFault } from '#src/platform/log.ts';
import { reportForged } from '#src/voting-events/forged-rows.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { lockEvent } from '#src/voting-events/repository.ts';
import { aboutOf, type VotingEvent } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { REMOVE_DELETED_VOTERS } from './delete-voter.ts';
import { listEventsWithExpired, type Taken, takeExpired, takeRefused } from './registration-repository.ts';

export type ExpiryDeps = Pick<Deps, 'db' | 'ids' | 'clock' | 'secrets' | 'log'>;

/** Publishes registrations that were just marked as deleted, and writes their audit record, which names no API key. */
async function recordExpiry(
  tx: Transaction,
  deps: ExpiryDeps,
  event: VotingEvent,
  { ids, forged }: Taken,
  reason: 'address_not_confirmed' | 'address_refused',
): Promise<void> {
  for (const id of forged) await reportForged(deps, event.id, id);
  if (ids.length === 0) return;
  await enqueue(tx, REMOVE_DELETED_VOTERS, { eventId: event.id });
  const facts = ids.map((id) => ({ id }));
  await publish(tx, deps, aboutOf(event), 'voter.deleted', facts);
  await recordChange(tx, deps, {
    accountId: event.accountId,
    votingEventId: event.id,
    keyId: null,
    action: 'registrations.expired',
    resource: event.id,
    before: { reason, count: ids.length, voterIds: ids },
  });
}

/** Before the close, deletes unconfirmed registrations if approval is automatic, so that junk does not use up the plan's limit. */
export async function expireRegistrations(deps: ExpiryDeps): Promise<void> {
  for (const eventId of await listEventsWithExpired(deps.db)) {
    const expire = async (tx: Transaction): Promise<void> => {
      const event = await lockEvent(tx, eventId);
      if (event === undefined || event.voterApproval !== 'automatic') return;
      if (statusAt(event, event.lockedAt) === 'closed') return;
      await recordExpiry(tx, deps, event, await takeExpired(tx, deps.secrets, event), 'address_not_confirmed');
    };
    await inTransaction(deps.db, expire).catch((fault: unknown) =>
      deps.log.error({ event: eventId, fault: summariseFault(fault) }, 'registrations could not be expired'),
    );
  }
}

/** Deletes a registration whose mail was refused permanently, unless it was approved or its address was confirmed. */
export async function expireRefused(deps: ExpiryDeps, { id }: VotingEvent, voterId: string, to: string): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const event = await lockEvent(tx, id);
    if (event === undefined || statusAt(event, event.lockedAt) === 'closed') return;
    await recordExpiry(
      tx,
      deps,
      event,
      await takeRefused(tx, deps.secrets, event, voterId, emailKey(to)),
      'address_refused',
    );
  });
}
