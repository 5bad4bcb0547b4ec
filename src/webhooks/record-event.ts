import { type SQL, sql } from 'drizzle-orm';
import { type Change, changeInsert } from '#src/accounts/changes.ts';
import { isTrue, type Transaction } from '#src/database/client.ts';
import { createdAt, type JobRun, markOf } from '#src/jobs/queue.ts';
import type { Clock } from '#src/platform/clock.ts';
import { type Ids, idOfThing } from '#src/platform/ids.ts';

export interface RecordDeps {
  readonly ids: Ids;
  readonly clock: Clock;
}

/** An event: a change for the audit trail, and a message for webhooks. */
interface DomainEvent {
  readonly change: Change;
  readonly type: EventType;
  /** The object that the API also returns. It must not contain a voter key, a confirmation code or a choice. */
  readonly data: unknown;
}

/** Writes an event to the audit trail, and queues its message for every subscribed endpoint, in the caller's transaction. */
export async function recordEvent(tx: Transaction, deps: RecordDeps, event: DomainEvent): Promise<void> {
  const message = queueMessages(deps, event.change, event.type, [event.data]);
  await tx.execute(sql`WITH change AS ${changeInsert(tx, deps, event.change)} ${message}`);
}

type About = Pick<Change, 'accountId' | 'votingEventId'>;

/** The statement that queues a message about each fact to every subscribed endpoint. */
function queueMessages(
  { ids }: Pick<RecordDeps, 'ids'>,
  about: About,
  type: EventType,
  facts: readonly unknown[],
  message?: string,
): SQL {
  const messages = sql.param(facts.map(() => message ?? ids.sortable('msg')));
  const data = sql.param(facts.map((fact) => JSON.stringify(fact)));
  return sql`
    SELECT record_webhook_events(${about.accountId}, ${about.votingEventId}, ${type}, ${messages}::text[], ${data}::text[])`;
}

/** Whether an endpoint has subscribed to a type, by the same rule as in `record_webhook_events`. */
const hasSubscriber = (tx: Transaction, { accountId, votingEventId }: About, type: EventType) =>
  isTrue(
    tx,
    sql`SELECT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.account_id = ${accountId}
      AND (e.voting_event_id IS NULL OR e.voting_event_id = ${votingEventId}) AND ${type} = ANY (e.event_types))`,
  );

/** Facts per statement. 200 endpoints may have subscribed to each, and a statement may take three seconds. */
const PUBLISHED_TOGETHER = 250;
/** Fewer facts per statement if persons were deleted, because each may be in several messages to each endpoint. */
const DELETED_TOGETHER = 50;

/** The message ID of a job's run. It is the same for each attempt, so that receivers recognise a message that is sent again. */
export async function messageOfRun(tx: Transaction, run: JobRun): Promise<string> {
  return idOfThing('msg', await createdAt(tx, run), markOf(run));
}

/**
 * Publishes facts of one type. Many facts are serialised only if an endpoint has subscribed to the type, or if they are deletions of voters
 * or candidates: then the earlier messages about these persons are erased.
 * @param message if there is only one fact: the ID of its message (`messageOfRun`); by default a new ID
 */
export async function publish(
  tx: Transaction,
  deps: RecordDeps,
  about: About,
  type: EventType,
  facts: readonly unknown[],
  message?: string,
): Promise<void> {
  if (facts.length === 0) return;
  const erases = type === 'voter.deleted' || type === 'candidate.deleted';
  if (facts.length > 1 && !erases && !(await hasSubscriber(tx, about, type))) return;
  const together = erases ? DELETED_TOGETHER : PUBLISHED_TOGETHER;
  for (let from = 0; from < facts.length; from += together)
    await tx.execute(queueMessages(deps, about, type, facts.slice(from, from + together), message));
}

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
  'ballot.confirmed': 'The voting event and how many ballots were confirmed in it: no voter, no choice, no code',
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

/** Type of the test message. Endpoints cannot subscribe to it. */
export const TEST_EVENT_TYPE = 'webhook_endpoint.test';
