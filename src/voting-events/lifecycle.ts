import { type RefusalName, refuse } from '#src/http/refusals.ts';
import { MINUTE_MS } from '#src/platform/clock.ts';
import type { ApiError } from '#src/platform/errors.ts';
import type { EventStatus, PollIdentity, Secrecy, ShownStatus, VotingEvent } from './voting-event.ts';

/** A ballot that was cast before the close may be confirmed until this long after the close. Then the results are final. */
export const CONFIRM_GRACE_MS = 15 * MINUTE_MS;

export type Lifecycle = Pick<VotingEvent, 'startsAt' | 'endsAt' | 'openedAt' | 'closedAt' | 'ready' | 'rehearsalSince'>;

/** SQL: the columns of an event's row `e` that the functions of `event-status.sql` take. */
export const lifeOf = (e: string): string =>
  ['starts_at', 'ends_at', 'opened_at', 'closed_at', 'rehearsal_since', 'ready']
    .map((name) => `${e}.${name}`)
    .join(', ');

/** When the event closed or will close; null if neither `closedAt` nor `endsAt` is set. */
export function closeTime(event: Lifecycle): number | null {
  if (event.closedAt === null) return event.endsAt;
  return event.endsAt === null ? event.closedAt : Math.min(event.closedAt, event.endsAt);
}

/**
 * A text with the end of an event, or the number of its rehearsal, and the rules that a cast reads from the event. The statement that
 * writes a ballot compares it with `event_ends` of the row, so that other SQL cannot change these columns for one statement.
 */
export function endsOf(
  event: Pick<VotingEvent, 'rehearsalSince' | 'rehearsalNumber' | 'endsAt' | 'closedAt'> &
    Pick<VotingEvent, 'type' | 'voterApproval' | 'repeatVotes' | 'requireVoterId'>,
): string {
  const { rehearsalSince, rehearsalNumber, endsAt, closedAt } = event;
  const end = rehearsalSince === null ? `${endsAt ?? 0} ${closedAt ?? 0}` : `rehearsal ${rehearsalNumber}`;
  // Kept short, because every cast of a batch sends the text to the database.
  const rules = [event.type[0], event.voterApproval[0], Number(event.repeatVotes), Number(event.requireVoterId)];
  return `${end} ${rules.join('')}`;
}

/** A text with the definition's version, end and rules. A ballot is stored only if the text is the same as at the ballot's validation. */
export const paperOf = (event: Pick<VotingEvent, 'definitionVersion'> & Parameters<typeof endsOf>[0]): string =>
  `${event.definitionVersion} ${endsOf(event)}`;

/** The status at a moment, by the stored columns and the time (completions 3, rule 1). In SQL: `event_status`. */
export function statusAt(event: Lifecycle, nowMs: number): EventStatus {
  if (event.closedAt !== null) return 'closed';
  // A rehearsal accepts ballots like an open event. From the start of the event until the wipe, no ballot is accepted.
  if (event.rehearsalSince !== null) return isRehearsalOver(event, nowMs) ? 'scheduled' : 'open';
  if (wasOpened(event, nowMs)) return event.endsAt !== null && event.endsAt <= nowMs ? 'closed' : 'open';
  // An event that was not ready at its start becomes a draft again.
  return event.startsAt === null || event.startsAt <= nowMs ? 'draft' : 'scheduled';
}

/** The start at which the event was not ready; null otherwise, and once `lockEvent` has stored it as missed (completions 3, rule 1). */
export function missedStart(event: Lifecycle, nowMs: number): number | null {
  const { startsAt, closedAt, rehearsalSince } = event;
  if (startsAt === null || startsAt > nowMs || closedAt !== null || rehearsalSince !== null) return null;
  return wasOpened(event, nowMs) ? null : startsAt;
}

/** Whether an event was ever opened, by the organizer or by its start while it was ready. In SQL: `was_opened`. */
export function wasOpened({ openedAt, startsAt, ready }: Lifecycle, nowMs: number): boolean {
  return openedAt !== null || (startsAt !== null && startsAt <= nowMs && ready);
}

/** Whether the start of an event has ended its rehearsal, but the rehearsal is not wiped yet (completions 10.5). */
export function isRehearsalOver({ rehearsalSince, startsAt }: Lifecycle, nowMs: number): boolean {
  return rehearsalSince !== null && startsAt !== null && startsAt <= nowMs;
}

/** The status that organizers see. Voters see a rehearsal as `open`. */
export function shownStatusAt(event: Lifecycle, nowMs: number): ShownStatus {
  const status = statusAt(event, nowMs);
  return event.rehearsalSince !== null && status !== 'scheduled' ? 'rehearsal' : status;
}

/** Whether the close and the time for late confirmations have passed. */
export function isFinalAt(event: Lifecycle, nowMs: number): boolean {
  const final = finalTime(event);
  return statusAt(event, nowMs) === 'closed' && final !== null && nowMs >= final;
}

/** Whether an event hides who has voted. An election does until its result is final (completions 5.6). In SQL: `keeps_back`. */
export function keepsBack(event: Lifecycle & Pick<VotingEvent, 'type'>, nowMs: number): boolean {
  return event.type === 'election' && !isFinalAt(event, nowMs);
}

/** The identity by which a poll distinguishes participants; null for an election. */
export function pollIdentityOf(
  event: Pick<VotingEvent, 'type' | 'saveVoterInfo' | 'requireVoterId'>,
): PollIdentity | null {
  if (event.type === 'election') return null;
  if (event.saveVoterInfo) return 'email';
  return event.requireVoterId ? 'voter_id' : 'visitor_id';
}

/** A poll with paid votes stays `identified` when its price is removed, because payment attempts keep the codes of their ballots. */
export function secrecyOf(event: Pick<VotingEvent, 'type' | 'payToVote' | 'paidVotes'>): Secrecy {
  if (event.type === 'election') return 'secret';
  return event.payToVote === null && !event.paidVotes ? 'pseudonymous' : 'identified';
}

/** The refusal of a cast or confirm while the event does not accept it (completions 1.6). */
export function notOpen(status: EventStatus): ApiError {
  return refuse(status === 'closed' ? 'event_closed' : 'event_not_open');
}

/**
 * Since when the results are public; null if they are not. Visibility `published` makes them public when late confirmations end,
 * because a mistaken close can be undone until then. If the organizer sets `published` later, they become public at once.
 */
export function publishedTime(
  event: Lifecycle & Pick<VotingEvent, 'resultsVisibility' | 'resultsPublishedAt'>,
  nowMs: number,
): number | null {
  if (event.resultsVisibility !== 'published' || !isFinalAt(event, nowMs)) return null;
  return event.resultsPublishedAt ?? finalTime(event);
}

/** When late confirmations end or have ended; null for an event without an end. */
export function finalTime(event: Lifecycle): number | null {
  const closedAt = closeTime(event);
  // A round of a rehearsal is final as soon as it is closed (completions 10.5).
  return closedAt === null ? null : closedAt + (event.rehearsalSince === null ? CONFIRM_GRACE_MS : 0);
}

/**
 * The phases of an event. `confirming` and `final` are both shown as `closed`: `confirming` is the 15 minutes after the close, in
 * which ballots cast before the close may still be confirmed. `rehearsed` is a rehearsal whose round is closed, and so final.
 */
export const PHASES = ['draft', 'scheduled', 'rehearsal', 'rehearsed', 'open', 'confirming', 'final'] as const;
type Phase = (typeof PHASES)[number];

type LifeRefusal = keyof typeof WORDED;

/** `yes`, or the reason of the refusal. `unless_ballots`: `event_has_ballots` once a ballot was cast or a payment begun (`hasBallots`). */
export type LifeAnswer = 'yes' | 'unless_ballots' | LifeRefusal;

const UNLESS = 'unless_ballots';
const NO_BALLOTS_YET = row(UNLESS, UNLESS, UNLESS, 'results_final', UNLESS, UNLESS, 'results_final');

/**
 * What each phase allows (completions 3, rules 1 to 4; completions 1.6). The organizer's routes enforce this table, and a test
 * compares it with the guide's table. Other code enforces the first four rows: `cast.sql` and `confirm.sql` under the event's lock, and
 * the operations that register. Ballots of a rehearsal freeze the same settings as real ballots. The result of a closed round stays until
 * the next round begins or the rehearsal ends.
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
  /** A change of `startsAt` that makes the event a draft or scheduled again, or would do so if it had not been opened by hand. */
  take_back: row('yes', 'yes', 'yes', 'results_final', UNLESS, UNLESS, 'results_final'),
  /** `type`, `voter.requireVoterId`, `voter.saveVoterInfo`. */
  change_identity_rules: NO_BALLOTS_YET,
  /** Title, times, registration, ballot settings, prices: settings that results and reports show, and to which the log commits. */
  change_settings: row('yes', 'yes', 'yes', 'results_final', 'yes', 'yes', 'results_final'),
  /** Description, code, visibility, readers of the log, sponsors, webhook endpoints. */
  change_words: row('yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'),
  /** Positions, and candidates who are or were on the ballot: deletion, and all fields except descriptions and a candidate's status. */
  change_ballot_rules: NO_BALLOTS_YET,
  /** A candidate's status, new candidates, any field of a candidate who was never on the ballot, and names of groups. */
  change_names: row('yes', 'yes', 'yes', 'results_final', 'yes', 'yes', 'results_final'),
  add_voters: row('yes', 'yes', 'yes', 'event_closed', 'yes', 'event_closed', 'event_closed'),
  /** Mails and letters to voters. For a scheduled event that is ready, `beforeOpening: true` allows them. */
  mail_voters: row('mails_early', 'mails_early', 'yes', 'event_closed', 'yes', 'event_closed', 'event_closed'),
  /** A voter's status, weight or group; `event_has_ballots` for a voter who has voted. */
  change_standing: row(UNLESS, UNLESS, UNLESS, 'event_closed', UNLESS, 'event_closed', 'event_closed'),
  /** A voter's e-mail address or voter ID. Drops a ballot that waits for its confirm; the voter can cast again only before the close. */
  change_identity: row('yes', 'yes', 'yes', 'results_final', 'yes', UNLESS, 'results_final'),
  /** Before the end, takes the voter off the roll. Afterwards, erases the personal data and keeps every figure. */
  delete_voter: row(UNLESS, UNLESS, UNLESS, 'event_closed', UNLESS, 'event_closed', 'yes'),
} as const satisfies Record<string, Readonly<Record<Phase, LifeAnswer>>>;

export type LifeAction = keyof typeof LIFE;

function row<Answer extends LifeAnswer>(
  ...[draft, scheduled, rehearsal, rehearsed, open, confirming, final]: Row<Answer>
) {
  return { draft, scheduled, rehearsal, rehearsed, open, confirming, final };
}

/** One answer for each of `PHASES`. */
type Row<Answer> = [Answer, Answer, Answer, Answer, Answer, Answer, Answer];

export function phaseAt(event: Lifecycle, nowMs: number): Phase {
  const status = shownStatusAt(event, nowMs);
  const isFinal = isFinalAt(event, nowMs);
  if (status === 'rehearsal' && isFinal) return 'rehearsed';
  if (status !== 'closed') return status;
  return isFinal ? 'final' : 'confirming';
}

/** The name of the refusal for each reason in `LIFE`. */
const WORDED = {
  event_not_open: 'event_not_open',
  mails_early: 'mails_early',
  event_closed: 'roll_closed',
  event_has_ballots: 'event_has_ballots',
  results_final: 'results_final',
  not_open: 'not_open',
  was_open: 'was_open',
  not_visible: 'still_draft',
} as const satisfies Readonly<Record<string, RefusalName>>;

export const isAllowed = (action: LifeAction, event: Lifecycle, nowMs: number): boolean =>
  LIFE[action][phaseAt(event, nowMs)] === 'yes';

export const lifeRefusal = (reason: LifeRefusal, { rehearsalSince }: Pick<Lifecycle, 'rehearsalSince'>): ApiError =>
  refuse(WORDED[reason], rehearsalSince === null ? {} : { rehearsal: true });

/** Refuses an action as `LIFE` says. @param hasBallots called only if the answer depends on ballots @throws ApiError 409 */
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

/** Refuses mails while no voter can vote, unless `beforeOpening`. @throws ApiError 409 `event_not_open`, `not_ready`, `event_closed` */
export function requireMailable(
  event: Lifecycle & Pick<VotingEvent, 'missing'>,
  nowMs: number,
  beforeOpening: boolean,
): void {
  const phase = phaseAt(event, nowMs);
  const answer = LIFE.mail_voters[phase];
  if (answer === 'yes') return;
  if (answer === 'event_closed') throw refuse('mails_closed');
  if (phase !== 'scheduled' || !beforeOpening) throw refuse(answer);
  if (event.missing.length > 0) throw refuse('not_ready', { missing: event.missing });
}
