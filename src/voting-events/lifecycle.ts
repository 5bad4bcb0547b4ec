import { refuse } from '#src/http/refusals.ts';
import { MINUTE_MS } from '#src/platform/clock.ts';
import type { ApiError } from '#src/platform/errors.ts';
import type { EventStatus, PollIdentity, Secrecy, ShownStatus, VotingEvent } from './voting-event.ts';

/** A ballot cast before the close may be confirmed this long after it; only then are results final. */
export const CONFIRM_GRACE_MS = 15 * MINUTE_MS;

export type Lifecycle = Pick<VotingEvent, 'startsAt' | 'endsAt' | 'openedAt' | 'closedAt' | 'ready' | 'rehearsalSince'>;

/** SQL. What the rules of `event-status.sql` ask of the row `e` of an event. */
export const lifeOf = (e: string): string =>
  ['starts_at', 'ends_at', 'opened_at', 'closed_at', 'rehearsal_since', 'ready']
    .map((name) => `${e}.${name}`)
    .join(', ');

/** When the event closed or will close, or null while nothing says so. */
export function closeTime(event: Lifecycle): number | null {
  if (event.closedAt === null) return event.endsAt;
  return event.endsAt === null ? event.closedAt : Math.min(event.closedAt, event.endsAt);
}

/**
 * The end by which a ballot is judged, or the rehearsal that it is of, and the rules that its statement reads from the event's row:
 * `event_ends` of the database, which a ballot is written under. What SQL says for the length of a statement is another one.
 */
export function endsOf(
  event: Pick<VotingEvent, 'rehearsalSince' | 'rehearsalNumber' | 'endsAt' | 'closedAt'> &
    Pick<VotingEvent, 'type' | 'voterApproval' | 'repeatVotes' | 'requireVoterId'>,
): string {
  const { rehearsalSince, rehearsalNumber, endsAt, closedAt } = event;
  const end = rehearsalSince === null ? `${endsAt ?? 0} ${closedAt ?? 0}` : `rehearsal ${rehearsalNumber}`;
  // Short: each cast of a batch sends it.
  const rules = [event.type[0], event.voterApproval[0], Number(event.repeatVotes), Number(event.requireVoterId)];
  return `${end} ${rules.join('')}`;
}

/** What a ballot is judged by and written under: the version of the definition, and the end. */
export const paperOf = (event: Pick<VotingEvent, 'definitionVersion'> & Parameters<typeof endsOf>[0]): string =>
  `${event.definitionVersion} ${endsOf(event)}`;

/** The status at a moment, from what is stored and the clock (completions 3, rule 1). The hot statements hold the same rule in SQL. */
export function statusAt(event: Lifecycle, nowMs: number): EventStatus {
  if (event.closedAt !== null) return 'closed';
  // A rehearsal takes ballots as an open event does. From its start on it takes none until it is wiped: real ballots wait.
  if (event.rehearsalSince !== null) return isRehearsalOver(event, nowMs) ? 'scheduled' : 'open';
  if (wasOpened(event, nowMs)) return event.endsAt !== null && event.endsAt <= nowMs ? 'closed' : 'open';
  // Not ready when its start came, it is a draft again.
  return event.startsAt === null || event.startsAt <= nowMs ? 'draft' : 'scheduled';
}

/** The start that came while the event was not ready, as long as no change has written it down; null for none (completions 3, rule 1). */
export function missedStart(event: Lifecycle, nowMs: number): number | null {
  const { startsAt, closedAt, rehearsalSince } = event;
  if (startsAt === null || startsAt > nowMs || closedAt !== null || rehearsalSince !== null) return null;
  return wasOpened(event, nowMs) ? null : startsAt;
}

/** Whether an event was opened, by the organizer's word or by the clock once it was ready, whatever became of it since. */
export function wasOpened({ openedAt, startsAt, ready }: Lifecycle, nowMs: number): boolean {
  return openedAt !== null || (startsAt !== null && startsAt <= nowMs && ready);
}

/** Whether an event is in a rehearsal that its start has ended, and that is still to be wiped (completions 10.5). */
export function isRehearsalOver({ rehearsalSince, startsAt }: Lifecycle, nowMs: number): boolean {
  return rehearsalSince !== null && startsAt !== null && startsAt <= nowMs;
}

/** The status as organizers see it: voters see a rehearsal as `open`. */
export function shownStatusAt(event: Lifecycle, nowMs: number): ShownStatus {
  const status = statusAt(event, nowMs);
  return event.rehearsalSince !== null && status !== 'scheduled' ? 'rehearsal' : status;
}

/** Whether the close and the time for late confirmations are both over. */
export function isFinalAt(event: Lifecycle, nowMs: number): boolean {
  const final = finalTime(event);
  return statusAt(event, nowMs) === 'closed' && final !== null && nowMs >= final;
}

/** Whether an event keeps back who voted: a secret one, until its result is final (completions 5.6). The database has it as `keeps_back`. */
export function keepsBack(event: Lifecycle & Pick<VotingEvent, 'type'>, nowMs: number): boolean {
  return event.type === 'election' && !isFinalAt(event, nowMs);
}

/** By what a poll distinguishes two participants. */
export function pollIdentityOf(
  event: Pick<VotingEvent, 'type' | 'saveVoterInfo' | 'requireVoterId'>,
): PollIdentity | null {
  if (event.type === 'election') return null;
  if (event.saveVoterInfo) return 'email';
  return event.requireVoterId ? 'voter_id' : 'visitor_id';
}

/** A poll that somebody has paid to vote in stays `identified` when its price goes: the attempts keep their codes. */
export function secrecyOf(event: Pick<VotingEvent, 'type' | 'payToVote' | 'paidVotes'>): Secrecy {
  if (event.type === 'election') return 'secret';
  return event.payToVote === null && !event.paidVotes ? 'pseudonymous' : 'identified';
}

/** The refusal of a cast or confirm outside of the window (completions 1.6). */
export function notOpen(status: EventStatus): ApiError {
  return refuse(status === 'closed' ? 'event_closed' : 'event_not_open');
}

/**
 * Since when the results are public. With visibility `published` they are so once the time for confirmations is over: a
 * mistaken close can be undone until then. Said by the organizer later, they are public from that moment.
 */
export function publishedTime(
  event: Lifecycle & Pick<VotingEvent, 'resultsVisibility' | 'resultsPublishedAt'>,
  nowMs: number,
): number | null {
  if (event.resultsVisibility !== 'published' || !isFinalAt(event, nowMs)) return null;
  return event.resultsPublishedAt ?? finalTime(event);
}

/** When the time for confirmations is or will be over; null while nothing says so. */
export function finalTime(event: Lifecycle): number | null {
  const closedAt = closeTime(event);
  // A round of a rehearsal is final at once (completions 10.5).
  return closedAt === null ? null : closedAt + (event.rehearsalSince === null ? CONFIRM_GRACE_MS : 0);
}
