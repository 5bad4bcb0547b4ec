import type { z } from 'zod';
import { recordChange } from '#src/accounts/record-change.ts';
import type { Transaction } from '#src/database/client.ts';
import { refuse } from '#src/http/refusals.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { notFound } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { isAllowed } from '#src/voting-events/life.ts';
import { holdEvent } from '#src/voting-events/repository.ts';
import type { VoterDeps } from './create-voters.ts';
import { LIST_NOTIFIED, type ListNotified } from './list-notified-voters.ts';
import { countAudience, insertNotification } from './notification-repository.ts';
import type { notifyVotersBody } from './notification-schemas.ts';

/**
 * Has keys or reminders mailed to many voters (completions 10.2). The mails are jobs: this only counts whom they go to.
 * @throws ApiError 409 `not_an_election` in a poll, 409 `event_closed` once no one can vote any more
 */
export async function notifyVoters(
  tx: Transaction,
  deps: VoterDeps,
  organizer: Organizer,
  { audience, kind }: z.output<typeof notifyVotersBody>,
): Promise<{ readonly id: string; readonly queued: number }> {
  const event = await holdEvent(tx, organizer.event.id);
  if (event === undefined) throw notFound();
  if (event.type === 'poll') throw refuse('poll_without_keys');
  const nowMs = deps.clock.now();
  if (!isAllowed('mail_voters', event, nowMs)) throw refuse('mails_closed');
  const { total, due } = await countAudience(tx, event.id, audience, kind);
  // The next ID of a voter that anybody makes: later ones are none of this audience.
  const listUntil = deps.ids.sortable('vtr');
  const row = { votingEventId: event.id, id: deps.ids.sortable('ntf'), kind, audience, total, listUntil };
  const { id } = await insertNotification(tx, { ...row, rehearsal: event.rehearsalSince !== null, createdAt: nowMs });
  await enqueue<ListNotified>(tx, LIST_NOTIFIED, { eventId: event.id, notificationId: id }, { key: id });
  await recordChange(tx, deps, {
    accountId: event.accountId,
    votingEventId: event.id,
    keyId: organizer.caller.keyId,
    action: 'voters.notified',
    resource: id,
    after: { audience, kind, total },
  });
  return { id, queued: due };
}
