import { type RefusalName, refuse } from '#src/http/refusals.ts';
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

/**
 * Where an event stands in its life. `confirming` and `final` are both shown as `closed`: for 15 minutes after the close, ballots
 * cast before it may still be confirmed. `rehearsed` is a rehearsal whose round is closed, and final at once.
 */
export const PHASES = ['draft', 'scheduled', 'rehearsal', 'rehearsed', 'open', 'confirming', 'final'] as const;
type Phase = (typeof PHASES)[number];

type LifeRefusal =
  | 'event_not_open'
  | 'mails_early'
  | 'event_closed'
  | 'event_has_ballots'
  | 'results_final'
  | 'not_open'
  | 'was_open'
  | 'not_visible';

/** `yes`, or the reason of the refusal. `unless_ballots`: yes until a ballot was cast or a payment depends on it, then `event_has_ballots`. */
export type LifeAnswer = 'yes' | 'unless_ballots' | LifeRefusal;

const UNLESS = 'unless_ballots';
const NO_BALLOTS_YET = row(UNLESS, UNLESS, UNLESS, 'results_final', UNLESS, UNLESS, 'results_final');

/**
 * What may be done to an event, and when (completions 3, rules 1 to 4; completions 1.6). The guards of the organizer's
 * routes decide by it, and a test compares the guide's table with it. The first four rows say what others decide: casts and
 * confirms `cast.sql` and `confirm.sql`, under the event's lock; registrations the operations that register. A rehearsal freezes what ballots
 * depend on as they do later, and the result of a closed round stands until the next one begins or the rehearsal ends.
 */
export const LIFE = {
  cast: row('not_visible', 'event_not_open', 'yes', 'event_closed', 'yes', 'event_closed', 'event_closed'),
  confirm: row('not_visible', 'event_not_open', 'yes', 'event_closed', 'yes', 'yes', 'event_closed'),
  register_voter: row('not_visible', 'yes', 'yes', 'event_closed', 'yes', 'event_closed', 'event_closed'),
  register_candidate: row('not_visible', 'yes', 'yes', 'event_closed', 'yes', 'event_closed', 'event_closed'),
  /** `status: "open"`, or a later `endsAt`. */
  open: row('yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'results_final'),
  /** `status: "rehearsal"`. */
  rehearse: row('yes', 'yes', 'yes', 'yes', 'was_open', 'was_open', 'was_open'),
  /** `status: "closed"`. */
  close: row('not_open', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'),
  /** A change of `startsAt` after which the event is a draft or scheduled again, or would be without having been opened by hand. */
  take_back: row('yes', 'yes', 'yes', 'results_final', UNLESS, UNLESS, 'results_final'),
  /** `type`, `voter.requireVoterId`, `voter.saveVoterInfo`. */
  change_identity_rules: NO_BALLOTS_YET,
  /** Title, times, registration, ballot settings, prices: what results and reports show, and what the log commits to. */
  change_settings: row('yes', 'yes', 'yes', 'results_final', 'yes', 'yes', 'results_final'),
  /** Description, code, visibility, who reads the log, sponsors, webhook endpoints. */
  change_words: row('yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'),
  /** Everything of positions but their description; of candidates that are or were on the ballot all but description and status; deletions. */
  change_ballot_rules: NO_BALLOTS_YET,
  /** A candidate's status, new candidates, every field of a candidate who never was on the ballot, and names of groups. */
  change_names: row('yes', 'yes', 'yes', 'results_final', 'yes', 'yes', 'results_final'),
  add_voters: row('yes', 'yes', 'yes', 'event_closed', 'yes', 'event_closed', 'event_closed'),
  /** Mails and letters to voters. A scheduled event that is ready takes `beforeOpening: true`. */
  mail_voters: row('mails_early', 'mails_early', 'yes', 'event_closed', 'yes', 'event_closed', 'event_closed'),
  /** A voter's status, weight or group; `event_has_ballots` for one who voted. */
  change_standing: row(UNLESS, UNLESS, UNLESS, 'event_closed', UNLESS, 'event_closed', 'event_closed'),
  /** A voter's e-mail address or voter ID. */
  change_identity: row('yes', 'yes', 'yes', 'results_final', 'yes', 'yes', 'results_final'),
  /** Before the end it takes the voter off the roll; afterwards it erases the person and keeps every figure. */
  delete_voter: row(UNLESS, UNLESS, UNLESS, 'event_closed', UNLESS, 'event_closed', 'yes'),
} as const satisfies Record<string, Readonly<Record<Phase, LifeAnswer>>>;

export type LifeAction = keyof typeof LIFE;

function row<
  Draft extends LifeAnswer,
  Scheduled extends LifeAnswer,
  Rehearsal extends LifeAnswer,
  Rehearsed extends LifeAnswer,
  Open extends LifeAnswer,
  Confirming extends LifeAnswer,
  Final extends LifeAnswer,
>(
  draft: Draft,
  scheduled: Scheduled,
  rehearsal: Rehearsal,
  rehearsed: Rehearsed,
  open: Open,
  confirming: Confirming,
  final: Final,
) {
  return { draft, scheduled, rehearsal, rehearsed, open, confirming, final };
}

export function phaseAt(event: Lifecycle, nowMs: number): Phase {
  const status = shownStatusAt(event, nowMs);
  const isFinal = isFinalAt(event, nowMs);
  if (status === 'rehearsal' && isFinal) return 'rehearsed';
  if (status !== 'closed') return status;
  return isFinal ? 'final' : 'confirming';
}

/** How the reasons are refused. */
const WORDED = {
  event_not_open: 'event_not_open',
  mails_early: 'mails_early',
  event_closed: 'roll_closed',
  event_has_ballots: 'event_has_ballots',
  results_final: 'results_final',
  not_open: 'not_open',
  was_open: 'was_open',
  not_visible: 'still_draft',
} as const satisfies Readonly<Record<LifeRefusal, RefusalName>>;

export const isAllowed = (action: LifeAction, event: Lifecycle, nowMs: number): boolean =>
  LIFE[action][phaseAt(event, nowMs)] === 'yes';

export const lifeRefusal = (reason: LifeRefusal, { rehearsalSince }: Pick<Lifecycle, 'rehearsalSince'>): ApiError =>
  refuse(WORDED[reason], rehearsalSince === null ? {} : { rehearsal: true });

/**
 * Refuses an action that the event's phase does not allow.
 * @param hasBallots asked only where the answer depends on it
 * @throws ApiError 409 with the reason of `LIFE`
 */
export async function requirePhase(
  action: LifeAction,
  event: Lifecycle,
  nowMs: number,
  hasBallots: () => Promise<boolean>,
): Promise<void> {
  const answer: LifeAnswer = LIFE[action][phaseAt(event, nowMs)];
  if (answer === 'yes') return;
  if (answer !== 'unless_ballots') throw lifeRefusal(answer, event);
  if (await hasBallots()) throw refuse('event_has_ballots');
}

/**
 * Refuses mails and letters to voters where none of them can vote: before the opening, unless the organizer says that it is meant.
 * @throws ApiError 409 `event_not_open`, `not_ready`, `event_closed`
 */
export function requireMailable(event: VotingEvent, nowMs: number, beforeOpening: boolean): void {
  const phase = phaseAt(event, nowMs);
  const answer = LIFE.mail_voters[phase];
  if (answer === 'yes') return;
  if (answer === 'event_closed') throw refuse('mails_closed');
  if (phase !== 'scheduled' || !beforeOpening) throw refuse(answer);
  if (event.missing.length > 0) throw refuse('not_ready', { missing: event.missing });
}
