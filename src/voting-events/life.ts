import { type RefusalName, refuse } from '#src/http/refusals.ts';
import type { ApiError } from '#src/platform/errors.ts';
import { isFinalAt, type Lifecycle, shownStatusAt } from './lifecycle.ts';
import type { VotingEvent } from './voting-event.ts';

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
