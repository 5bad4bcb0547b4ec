import { MINUTE_MS } from '#src/platform/clock.ts';
import { type ApiError, forbidden } from '#src/platform/errors.ts';
import type { EventStatus, PollIdentity, Secrecy, VotingEvent } from './types.ts';

/** A ballot cast before the close may be confirmed this long after it; only then are results final. */
export const CONFIRM_GRACE_MS = 15 * MINUTE_MS;

type Lifecycle = Pick<VotingEvent, 'startsAt' | 'endsAt' | 'openedAt' | 'closedAt' | 'ready'>;

/** When the event closed or will close, or null while nothing says so. */
export function closeTime(event: Lifecycle): number | null {
  if (event.closedAt === null) return event.endsAt;
  return event.endsAt === null ? event.closedAt : Math.min(event.closedAt, event.endsAt);
}

/** The status at a moment, from what is stored and the clock (completions 3, rule 1). The hot statements hold the same rule in SQL. */
export function statusAt(event: Lifecycle, nowMs: number): EventStatus {
  if (event.closedAt !== null) return 'closed';
  const started = event.openedAt !== null || (event.startsAt !== null && event.startsAt <= nowMs && event.ready);
  if (started) return event.endsAt !== null && event.endsAt <= nowMs ? 'closed' : 'open';
  if (event.startsAt === null) return 'draft';
  return event.endsAt !== null && event.endsAt <= nowMs ? 'closed' : 'scheduled';
}

/** Whether the close and the time for late confirmations are both over. */
export function isFinalAt(event: Lifecycle, nowMs: number): boolean {
  const closedAt = closeTime(event);
  return statusAt(event, nowMs) === 'closed' && closedAt !== null && nowMs >= closedAt + CONFIRM_GRACE_MS;
}

/** By what a poll tells two participants apart. */
export function pollIdentityOf(
  event: Pick<VotingEvent, 'type' | 'saveVoterInfo' | 'requireVoterId'>,
): PollIdentity | null {
  if (event.type === 'election') return null;
  if (event.saveVoterInfo) return 'email';
  return event.requireVoterId ? 'voter_id' : 'visitor_id';
}

export function secrecyOf(event: Pick<VotingEvent, 'type' | 'payToVote'>): Secrecy {
  if (event.type === 'election') return 'secret';
  return event.payToVote === null ? 'pseudonymous' : 'identified';
}

/** The refusal of a cast or confirm outside of the window (completions 1.6). */
export function notOpen(status: EventStatus): ApiError {
  return status === 'closed'
    ? forbidden('event_closed', 'This event is closed.')
    : forbidden('event_not_open', 'This event is not open yet.');
}

/**
 * When the results became public for good. With visibility `published` that is the organizer's word on a closed event,
 * or the close itself when the organizer had said it before.
 */
export function publishedTime(
  event: Lifecycle & Pick<VotingEvent, 'resultsVisibility' | 'resultsPublishedAt'>,
  nowMs: number,
): number | null {
  if (event.resultsVisibility !== 'published') return null;
  if (event.resultsPublishedAt !== null) return event.resultsPublishedAt;
  return statusAt(event, nowMs) === 'closed' ? closeTime(event) : null;
}
