import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { type Closing, closing, isClosing, MAIL_CLOSING, realStatusAt } from './mail-owner.ts';
import { holdEvent } from './repository.ts';
import { type VotingEvent, viewEvent } from './voting-event.ts';

const PUBLISH_CLOSING = { name: 'announce_event_closing', maxAttempts: 10, payload: closing } as const;

const NOTICE_MS = DAY_MS;

/** What an event was before a change that may schedule its end. */
type Before = Pick<VotingEvent, 'startsAt' | 'endsAt' | 'openedAt' | 'closedAt' | 'ready'>;

/**
 * Has the end of an event announced 24 hours ahead (completions 3, rule 2), or at once where it is nearer: once for each end
 * that is set, and for a draft once it is a draft no more.
 */
export async function scheduleClosing(
  tx: Transaction,
  before: Before | undefined,
  event: VotingEvent,
  nowMs: number,
): Promise<void> {
  const { id: eventId, endsAt } = event;
  if (endsAt === null || endsAt <= nowMs || realStatusAt(event, nowMs) === 'draft') return;
  const isNewEnd = before?.endsAt !== endsAt;
  if (!isNewEnd && before !== undefined && realStatusAt(before, nowMs) !== 'draft') return;
  const options = { key: `announce:${eventId}:closing`, runAtMs: endsAt - NOTICE_MS };
  await enqueue(tx, PUBLISH_CLOSING, { eventId, endsAt }, options);
}

export function publishClosingJob(deps: Pick<Deps, 'db' | 'ids' | 'clock'>): Job<Closing> {
  return defineJob({
    ...PUBLISH_CLOSING,
    work: (end) =>
      inTransaction(deps.db, async (tx) => {
        const event = await holdEvent(tx, end.eventId);
        const nowMs = await readNow(tx);
        if (event === undefined || !isClosing(event, end.endsAt, nowMs)) return;
        const about = { accountId: event.accountId, votingEventId: event.id };
        await publish(tx, deps, about, 'voting_event.closing', [viewEvent(event, nowMs)]);
        await enqueue(tx, MAIL_CLOSING, end);
      }),
  });
}
