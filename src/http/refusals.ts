import { ApiError, type ErrorCode, type ErrorDetails, STATUS_BY_CODE } from '#src/platform/errors.ts';

type Sentence = string | ((details: ErrorDetails) => string);

interface Rule {
  readonly code: ErrorCode;
  /** The error's message; left out if the code that throws the error writes it, such as issues of a body. */
  readonly says?: Sentence;
  /** When the error occurs: text for the API reference. */
  readonly when: string;
  /** The `details.reason`, if it is not the rule's name. Two rules may share a reason with different codes. */
  readonly reason?: string;
  /** Sent as `Retry-After`, whole seconds. */
  readonly retryAfterSeconds?: number;
}

type More = Pick<Rule, 'reason' | 'retryAfterSeconds'>;

/** If `when` is left out, the message also serves as the text of the API reference. */
const refusal =
  <Code extends ErrorCode>(code: Code) =>
  (
    ...[says, when = String(says), more = {}]:
      | [says: string, when?: string | undefined, more?: More]
      | [says: Sentence, when: string, more?: More]
  ) => ({ code, says, when, ...more });
const forbidden = refusal('forbidden');
const conflict = refusal('conflict');
const internal = refusal('internal');

const soon = (retryAfterSeconds: number): More => ({ retryAfterSeconds });

const nextRound = (rehearsal: unknown): string =>
  rehearsal === true ? ' Begin the next round of the rehearsal first, or end it.' : '';

/**
 * Every error that an operation may declare beyond the common ones: by `details.reason`, or by the code if it has no reason
 * (completions 1.6). The errors themselves, the API document and the reference are made from this table; tests reject an
 * answer whose reason its operation does not declare.
 */
export const REFUSALS = {
  event_not_open: forbidden('This event is not open yet.'),
  event_closed: forbidden('This event is closed.'),
  voter_key_invalid: forbidden('This voter key is wrong or has expired. Ask for a new one.'),
  voter_pending: forbidden('This voter still waits for the approval of the organizers.'),
  voter_rejected: forbidden('The organizers have not approved this voter.'),
  registration_closed: forbidden('Voters cannot register themselves for this event.'),
  download_link_invalid: forbidden('This download link is not one that was given out here.'),
  download_link_expired: forbidden(
    'This download link has expired. Ask for the export again.',
    'The address of the download is older than five minutes. Ask for the export again.',
  ),
  results_not_available: forbidden('The results of this event are not public.'),
  openings_not_available: forbidden('The ballots of this event are not opened to this key.'),
  weights_kept_back: conflict('A weight of these ballots has so few voters that it would show whose a ballot is.'),
  plan_feature: forbidden(
    'The plan of this account does not include this feature.',
    'The plan of the account lacks the feature named in `details.feature`.',
  ),
  role: forbidden(
    ({ role, required }) => `This event is shared with you as ${role}; this takes the ${required}.`,
    'The account was invited to this event as a viewer, or the action belongs to the owner.',
  ),
  already_voted: conflict(
    'This participant has voted: a ballot is confirmed, or is paid for and waits for its confirmation.',
  ),
  event_has_ballots: conflict('Ballots were cast or paid for: what they depend on can no longer be changed.'),
  not_ready: conflict('Nobody could fill in a valid ballot yet: `details.missing` lists what is missing.'),
  not_a_draft: conflict('Only a draft is made what a file says.'),
  not_open: conflict('This event cannot be closed: it was never open.'),
  was_open: conflict('This event has been open: only what never opened is rehearsed.'),
  results_final: conflict(
    ({ rehearsal }) =>
      `The result is final: nothing that it shows or depends on can be changed.${nextRound(rehearsal)}`,
    'The 15 minutes after the close are over, or a round of a rehearsal is closed: nothing that the result shows or depends on can be changed.',
  ),
  roll_closed: conflict(
    ({ rehearsal }) => `This event is closed: its roll no longer changes.${nextRound(rehearsal)}`,
    'The event, or the round of its rehearsal, is closed: its roll takes no new voter, and no change of status, weight or group.',
    { reason: 'event_closed' },
  ),
  mails_early: conflict(
    'This event is not open yet. To mail its voters before, schedule it and send `beforeOpening: true`.',
    'The event is not open yet, and `beforeOpening` is not true; or it is a draft.',
    { reason: 'event_not_open' },
  ),
  mails_closed: conflict(
    'This event is closed: nobody can vote in it any more.',
    'The event, or the round of its rehearsal, is closed: nobody can vote any more, so that nobody is mailed.',
    { reason: 'event_closed' },
  ),
  group_in_use: conflict('Positions are open to this group alone. Change or delete them first.'),
  code_in_use: conflict('This code is already used by another event.'),
  name_in_use: conflict('This event already has a group of this name.'),
  voter_exists: conflict(
    ({ field }) => `${field}: is already used by another voter of this event`,
    'Another voter of this event has this e-mail address or voter ID; see `details.field`.',
  ),
  not_an_election: conflict('Polls have no voter keys: send a visitorId.'),
  letters_under_way: conflict('These letters are still being printed.', undefined, soon(5)),
  already_downloaded: conflict('This file was downloaded, and is gone. Print new letters where they are lost.'),
  letters_dropped: conflict(
    'These letters were not downloaded in time, and are gone. Print new ones.',
    'The letters are older than 24 hours, or their event or rehearsal is over: they are gone.',
  ),
  no_email: conflict('This voter has no e-mail address to send a key to.'),
  invite_exists: conflict('This address is invited already.'),
  invite_used: conflict('This invite was accepted by another account. Ask for one of your own.'),
  invite_expired: conflict('This invite has expired. Ask for a new one.'),
  already_shared: conflict('This event is shared with your account already: its owner takes that back first.'),
  own_event: conflict('This event is your own.'),
  nothing_to_refund: conflict(
    'There is nothing to give back: nothing was paid, or it went back already.',
    'The payment is neither `succeeded` nor `fulfilled`, or it went back at the provider.',
  ),
  nothing_to_settle: conflict('There is nothing to settle: nobody has to look at this payment.'),
  paid_pricing_set: conflict('Prices are set: take them away before the payment business is unlinked.'),
  payment_failed: conflict('This payment has failed. Start a new one.'),
  payment_cancelled: conflict('This payment was cancelled. What was paid goes back to the payer.'),
  payment_expired: conflict(
    'The payment page ended before anybody paid. Start a new payment.',
    'The payment page ended before anybody paid: it was too late, or the payer had begun another payment.',
  ),
  endpoint_disabled: conflict('This endpoint is switched off. Switch it on first.'),
  busy: conflict('Another change of this event is under way. Nothing was done. Retry.', undefined, soon(1)),
  log_disputed: conflict(
    'The ballot log of this event is not what was signed. Its end can change once the operator has mended it.',
  ),
  idempotency_in_progress: conflict('A request with this Idempotency-Key is still running.', undefined, soon(1)),
  not_in_group: { code: 'validation_error', when: 'A position is not open to the group of the voter.' },
  insufficient_credits: {
    code: 'validation_error',
    when: 'The ballot spends more quadratic credits than the visitor has: `details` tells `positionId`, `required` and `available`.',
  },
  payment_provider_unavailable: internal(
    'The payment provider cannot be asked now. Nothing was charged by this call. Retry.',
    undefined,
    soon(2),
  ),
  payment_unavailable: forbidden(
    'The payment provider does not take this payment. The organizer has to look at the payment business.',
    'The payment provider refuses for a reason that the payer cannot mend, or the payment business cannot take payments: the organizer has to look at it.',
  ),
  ballot_key_unavailable: internal(
    'The keys of elections cannot be read or written now. Nothing was done. Retry.',
    'A folder with the keys of elections cannot be read or written: no election opens, none gets voters, and what needs a key that cannot be read is refused. Nothing was done; the call may be repeated after `Retry-After`.',
    soon(5),
  ),
  rows_disagree: internal(
    'A row that this request depends on was changed from outside of the service, and is not used. The operator was alarmed.',
    'A row that decides who may vote or change an event, or the API key itself, was changed in the database from outside of the service. It is not used; the alarm is raised, and the event is `disputed`. To mend a voter, delete it and add it again.',
  ),
  overloaded: internal('Too many requests arrive at once. Retry.', undefined, soon(1)),
  too_many_at_once: {
    code: 'rate_limited',
    says: 'Too many requests of this account are under way at once. Send them one after another.',
    when: 'The account has as many costly reads, changes or body bytes under way as it may. Nothing was done; the call may be repeated after `Retry-After`.',
    retryAfterSeconds: 1,
  },
  not_found: { code: 'not_found', when: 'What the request names does not exist, or the key may not see it.' },
  plan_limit: {
    code: 'plan_limit',
    when: 'A limit of the plan or of an event is reached; `details` tells `limit` and `max`.',
  },
  rate_limited: { code: 'rate_limited', when: 'Too many requests; `Retry-After` tells how long to wait.' },
} as const satisfies Record<string, Rule>;

export type RefusalCase = keyof typeof REFUSALS;

/** More specific messages for refusals of the table; code and reason stay the same. */
const WORDINGS = {
  candidate_registration_closed: ['registration_closed', 'Candidates cannot register themselves for this event.'],
  download_link_outdated: ['download_link_invalid', 'This download link is not one that is given out here.'],
  download_key_ended: ['download_link_expired', 'The key that asked for this export is no longer valid.'],
  openings_before_close: ['openings_not_available', 'Ballots are opened after the close.'],
  openings_before_final: ['openings_not_available', 'Ballots are opened once the result is final.'],
  owner_changes_code: ['role', 'Only the owner of an event changes its code.'],
  delete_needs_force: [
    'event_has_ballots',
    'Ballots were confirmed or paid for in this event. To delete it with them, add ?force=true.',
  ],
  paid_registration: ['event_has_ballots', 'A registration that was paid for, or is being paid for, depends on it.'],
  paid_registrations: ['event_has_ballots', 'A registration that was paid for depends on one of them.'],
  no_contest: ['not_ready', 'This event has no position with candidates yet.'],
  still_draft: ['not_open', 'This event is a draft.'],
  voter_just_added: ['voter_exists', 'A voter with this e-mail or voter ID was just added.'],
  poll_without_keys: ['not_an_election', 'Polls have no voter keys.'],
  sandbox_elsewhere: ['payment_unavailable', 'This payment business belongs to the sandbox, which does not run here.'],
  too_many_ballots: ['overloaded', 'Too many ballots arrive at once. Retry.'],
} as const satisfies Record<string, readonly [like: RefusalCase, says: Sentence]>;

type Said = { [Name in RefusalCase]: (typeof REFUSALS)[Name] extends { readonly says: Sentence } ? Name : never };
/** The rules and wordings that have a message. */
export type RefusalName = Said[RefusalCase] | keyof typeof WORDINGS;

const isWording = (name: RefusalName): name is keyof typeof WORDINGS => Object.hasOwn(WORDINGS, name);

/** Makes the error: code, message and `details.reason` come from the table. */
export function refuse(name: RefusalName, details: ErrorDetails = {}): ApiError {
  const [like, wording]: readonly [RefusalCase, Sentence?] = isWording(name) ? WORDINGS[name] : [name];
  const rule: Rule = REFUSALS[like];
  const says = wording ?? rule.says ?? rule.when;
  const message = typeof says === 'string' ? says : says(details);
  return new ApiError(rule.code, message, { reason: reasonOf(like), ...details }, rule.retryAfterSeconds);
}

/** Cases that are a code alone and carry no `details.reason`. */
const WITHOUT_REASON: ReadonlySet<RefusalCase> = new Set(['not_found', 'plan_limit', 'rate_limited']);

export const hasReason = (name: RefusalCase): boolean => !WITHOUT_REASON.has(name);

export function caseOf(reason: string, status: number): Rule | undefined {
  const rules: [string, Rule][] = Object.entries(REFUSALS);
  return rules.find(([name, rule]) => (rule.reason ?? name) === reason && STATUS_BY_CODE[rule.code] === status)?.[1];
}

export function reasonOf(name: RefusalCase): string {
  const rule: Rule = REFUSALS[name];
  return rule.reason ?? name;
}

/** A retry of the request goes to the account's new cell, once that cell has all rows. */
export const accountMoves = (): ApiError =>
  new ApiError('internal', 'The account is moving to another database. Retry.', undefined, 1);
