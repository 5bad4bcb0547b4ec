/** Every type of event that an endpoint may subscribe to, and what its `data` is (completions 8.1). */
export const EVENT_TYPES = {
  'voting_event.created': 'A voting event, as GET /voting-events/:idOrCode gives it',
  'voting_event.updated': 'A voting event, as GET /voting-events/:idOrCode gives it',
  'voting_event.deleted': 'The id, code and title of a voting event',
  'voting_event.opened': 'A voting event, as GET /voting-events/:idOrCode gives it',
  'voting_event.not_opened': 'A voting event, as GET /voting-events/:idOrCode gives it',
  'voting_event.closing': 'A voting event, as GET /voting-events/:idOrCode gives it',
  'voting_event.closed': 'A voting event, as GET /voting-events/:idOrCode gives it',
  'candidate.created': 'A candidate, as GET …/candidates/:id gives it',
  'candidate.updated': 'A candidate, as GET …/candidates/:id gives it',
  'candidate.deleted': 'The id and name of a candidate',
  'voter.created':
    'A voter who was added, imported or registered, as GET …/voters/:id gives it; not the participants of a poll',
  'voter.updated': 'A voter, as GET …/voters/:id gives it',
  'voter.deleted': 'The id of a voter',
  'voter.mail_failed':
    'A voter, as GET …/voters/:id gives it; after the mail of a voter key its `keyStatus` is `failed`',
  'ballot.confirmed': 'The voting event and how many ballots it has: no voter, no choice, no code',
  'payment.succeeded': 'A payment attempt, as GET …/payments/:id gives it, without its confirmation code',
  'payment.fulfilled': 'A payment attempt, as GET …/payments/:id gives it, without its confirmation code',
  'payment.failed': 'A payment attempt, as GET …/payments/:id gives it, without its confirmation code',
  'payment.cancelled': 'A payment attempt, as GET …/payments/:id gives it, without its confirmation code',
  'payment.refunded': 'A payment attempt, as GET …/payments/:id gives it, without its confirmation code',
  'payment.refund_failed': 'A payment attempt, as GET …/payments/:id gives it, without its confirmation code',
  'payment.needs_attention': 'A payment attempt, as GET …/payments/:id gives it, without its confirmation code',
  'payment.reversed': 'A payment attempt, as GET …/payments/:id gives it, without its confirmation code',
  'results.published': 'The voting event and when its results were published',
  'log.checkpoint': 'The voting event, the size and root of its log, and the checkpoint as a signed note',
  'webhook_endpoint.disabled': 'A webhook endpoint, as GET /webhook-endpoints/:id gives it',
} as const;

export type EventType = keyof typeof EVENT_TYPES;
export const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as EventType[];

export function isEventType(text: string): text is EventType {
  return Object.hasOwn(EVENT_TYPES, text);
}

/** Sent only when somebody asks an endpoint to be tried out; it cannot be subscribed to. */
export const TEST_EVENT_TYPE = 'webhook_endpoint.test';
