import { type ErrorCode, STATUS_BY_CODE } from '#src/platform/errors.ts';

interface RefusalRule {
  readonly code: ErrorCode;
  /** When it is given, as the API reference says it. */
  readonly when: string;
  /** The `details.reason`, where it is not the name of the case: one reason may come with two codes. */
  readonly reason?: string;
}

const forbidden = (when: string): RefusalRule => ({ code: 'forbidden', when });
const conflict = (when: string): RefusalRule => ({ code: 'conflict', when });
const invalid = (when: string): RefusalRule => ({ code: 'validation_error', when });

/**
 * Every refusal that a route may declare beyond those that all routes share: by `details.reason`, or by the code where
 * there is none (completions 1.6). The API document and the reference are made from this table, and tests refuse an answer
 * whose reason its route does not declare.
 */
export const REFUSAL_CASES = {
  event_not_open: forbidden('The event is not open yet.'),
  event_closed: forbidden('The event is closed.'),
  voter_key_invalid: forbidden('The voter key is wrong or has expired, or there is no such voter.'),
  voter_pending: forbidden('The voter waits for the approval of the organizers.'),
  voter_rejected: forbidden('The organizers have not approved the voter.'),
  registration_closed: forbidden('The event does not let people register themselves.'),
  download_link_invalid: forbidden('This address of a download was not given out here.'),
  download_link_expired: forbidden('The address of the download is older than five minutes. Ask for the export again.'),
  results_not_available: forbidden('The results are not public, or not yet.'),
  openings_not_available: forbidden('The ballots are not opened to this key, or not yet.'),
  plan_feature: forbidden('The plan of the account lacks the feature named in `details.feature`.'),
  role: forbidden('The account was invited to this event as a viewer, or the action belongs to the owner.'),
  already_voted: conflict('A ballot of this voter or visitor has already been confirmed.'),
  event_has_ballots: conflict('Ballots have been cast or paid for, and they depend on what would change.'),
  not_ready: conflict('Nobody could fill in a valid ballot yet: `details.missing` lists everything that is missing.'),
  not_open: conflict('A draft cannot be closed: it was never open.'),
  results_final: conflict(
    'The 15 minutes after the close are over: nothing that the result shows or depends on can be changed.',
  ),
  roll_closed: {
    code: 'conflict',
    reason: 'event_closed',
    when: 'The event is closed: its roll takes no new voter, and no change of status, weight or group.',
  },
  group_in_use: conflict('A position asks for this group.'),
  code_in_use: conflict('Another event has this code.'),
  name_in_use: conflict('Another group of this event has this name.'),
  voter_exists: conflict('Another voter of this event has this e-mail address or voter ID; see `details.field`.'),
  not_an_election: conflict('The event is a poll, and polls have no voter keys.'),
  no_email: conflict('The voter has no e-mail address.'),
  invite_exists: conflict('This address is invited already.'),
  invite_used: conflict('The invite was accepted by another account.'),
  invite_expired: conflict('The invite has expired. Ask for a new one.'),
  already_shared: conflict('The event is shared with this account by another invite.'),
  own_event: conflict('The event belongs to this account already.'),
  paid_pricing_set: conflict('A price is set, so the payment business cannot be unlinked.'),
  payment_failed: conflict('The payment has failed. Start a new one.'),
  payment_cancelled: conflict('The payment was cancelled; what was paid goes back to the payer.'),
  payment_expired: conflict('Nobody paid in time. Start a new payment.'),
  endpoint_disabled: conflict('The webhook endpoint is switched off.'),
  idempotency_in_progress: conflict('A request with the same Idempotency-Key is still running; see `Retry-After`.'),
  not_in_group: invalid('A position is not open to the group of the voter.'),
  insufficient_credits: invalid(
    'The ballot spends more quadratic credits than the visitor has: `details` tells `positionId`, `required` and `available`.',
  ),
  payment_provider_unavailable: {
    code: 'internal',
    when: 'The payment provider did not answer, or refused. Nothing is stored as paid; the call may be repeated.',
  },
  overloaded: {
    code: 'internal',
    when: 'Too many requests arrive at once. Nothing was done; the call may be repeated after `Retry-After`.',
  },
  not_found: { code: 'not_found', when: 'What the request names does not exist, or the key may not see it.' },
  plan_limit: {
    code: 'plan_limit',
    when: 'A limit of the plan or of an event is reached; `details` tells `limit` and `max`.',
  },
  rate_limited: { code: 'rate_limited', when: 'Too many requests; `Retry-After` tells how long to wait.' },
} as const satisfies Record<string, RefusalRule>;

export type RefusalCase = keyof typeof REFUSAL_CASES;

/** Cases that are a code alone and carry no `details.reason`. */
const WITHOUT_REASON: ReadonlySet<RefusalCase> = new Set(['not_found', 'plan_limit', 'rate_limited']);

export const hasReason = (name: RefusalCase): boolean => !WITHOUT_REASON.has(name);

/** The case that gives a reason with a status. */
export function caseOf(reason: string, status: number): RefusalRule | undefined {
  const rules: [string, RefusalRule][] = Object.entries(REFUSAL_CASES);
  return rules.find(([name, rule]) => (rule.reason ?? name) === reason && STATUS_BY_CODE[rule.code] === status)?.[1];
}

export function reasonOf(name: RefusalCase): string {
  const rule: RefusalRule = REFUSAL_CASES[name];
  return rule.reason ?? name;
}
