import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { defineJob, endJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { publish, type RecordDeps } from '#src/webhooks/record-event.ts';
import { renewMissing } from './guard-change.ts';
import { finalTime, type Lifecycle, missedStart, publishedTime, shownStatusAt } from './lifecycle.ts';
import { type Closing, closing, isClosing, MAIL_CLOSING, MAIL_NOT_OPENED, realStatusAt } from './mail-owner.ts';
import { endOverdueRehearsal, type RehearsalDeps, withOwnKey } from './rehearsal.ts';
import {
  findEventById,
  holdEvent,
  listKeyedStarts,
  listTimedEvents,
  lockEvent,
  markAnnounced,
  markResultsAnnounced,
} from './repository.ts';
import { tellEvent } from './show-event.ts';
import { aboutOf, type VotingEvent } from './voting-event.ts';

const payload = z.strictObject({ eventId: z.string() });
const PUBLISH_STATUS = { name: 'announce_event_status', maxAttempts: 10, payload } as const;

/** Queues jobs that publish the start, the end and the final result of an event, because these come with time, without a request. */
export async function schedulePublishing(tx: Transaction, event: VotingEvent): Promise<void> {
  for (const [name, runAtMs] of [
    ['start', event.startsAt],
    ['end', event.endsAt],
    ['final', finalTime(event)],
  ] as const) {
    if (runAtMs === null) continue;
    await enqueue(tx, PUBLISH_STATUS, { eventId: event.id }, { key: `announce:${event.id}:${name}`, runAtMs });
  }
}

type PublishDeps = RehearsalDeps & Pick<Deps, 'db' | 'ids' | 'clock'>;

export const publishStatusJob = (deps: PublishDeps): Job<z.output<typeof payload>> =>
  defineJob({ ...PUBLISH_STATUS, work: ({ eventId }) => publishOne(deps, eventId) });

async function publishOne(deps: PublishDeps, eventId: string): Promise<void> {
  await endOverdueRehearsal(deps, eventId);
  await noteMissedStart(deps, eventId);
  await inTransaction(deps.db, async (tx) => {
    // Wait for a concurrent change of the event, which publishes its new status itself.
    const event = await holdEvent(tx, eventId);
    if (event === undefined) return;
    const nowMs = await readNow(tx);
    const marked = (await publishStatus(tx, deps, event, nowMs)) ?? event;
    await publishResults(tx, deps, marked, nowMs);
  });
}

const RENEW_READINESS = { name: 'renew_readiness', maxAttempts: 10, payload } as const;

/**
 * Queues a readiness check in the transaction of a change of the roll. If every position belongs to a group, the roll decides whether
 * the event can open. The check is a job because it locks the event exclusively, while changes of the roll share a lock on it.
 */
export async function noteRollOfUnopened(tx: Transaction, eventId: string): Promise<void> {
  const { name, maxAttempts } = RENEW_READINESS;
  await tx.execute(sql`
    SELECT add_job(${name}, ${JSON.stringify({ eventId })}::json, p_max_attempts => ${maxAttempts}, p_key => ${`${name}:${eventId}`})
    FROM voting_events e WHERE e.id = ${eventId} AND e.type = 'election' AND e.opened_at IS NULL AND e.closed_at IS NULL
      AND EXISTS (SELECT 1 FROM positions p WHERE p.voting_event_id = ${eventId} AND p.deleted_at IS NULL)
      AND NOT EXISTS (SELECT 1 FROM positions p WHERE p.voting_event_id = ${eventId} AND p.deleted_at IS NULL AND p.group_id IS NULL)`);
}

export const renewReadinessJob = ({ db }: Pick<Deps, 'db'>): Job<z.output<typeof payload>> =>
  defineJob({ ...RENEW_READINESS, work: ({ eventId }) => inTransaction(db, (tx) => renewMissing(tx, eventId)) });

/** Checks the keys of events that open soon, so that a lost key file is reported while it can still be restored. */
async function lookForKeys({ db, ballotKeys }: PublishDeps): Promise<void> {
  for (const event of await listKeyedStarts(db)) {
    const isKeyless = !(await ballotKeys.isReadable(withOwnKey(event)));
    if (isKeyless !== event.missing.some(({ reason }) => reason === 'keys_unavailable'))
      await inTransaction(db, (tx) => renewMissing(tx, event.id, { isKeyless }));
  }
}

/** Stores that an event was not ready at its start, and notifies its owner once, by webhook and mail. */
async function noteMissedStart(deps: PublishDeps, eventId: string): Promise<void> {
  const read = await findEventById(deps.db, eventId);
  if (read === undefined) return;
  const isMissed = missedStart(read, await readNow(deps.db)) !== null;
  if (!isMissed && (read.missedStartAt === null || read.announcedStatus === 'not_opened')) return;
  await inTransaction(deps.db, async (tx) => {
    const event = await lockEvent(tx, eventId);
    if (event?.missedStartAt == null) return;
    const marked = await markAnnounced(tx, eventId, 'not_opened');
    if (marked === undefined) return;
    await publish(tx, deps, aboutOf(marked), 'voting_event.not_opened', [await tellEvent(tx, marked, event.lockedAt)]);
    await enqueue(tx, MAIL_NOT_OPENED, { eventId, missedStartAt: event.missedStartAt });
  });
}

/** Publishes changes that came with time, unless another job has published them. Runs every minute. */
export async function publishTimedEvents(deps: PublishDeps): Promise<void> {
  const failed: unknown[] = [];
  await lookForKeys(deps).catch((fault: unknown) => failed.push(fault));
  for (const id of await listTimedEvents(deps.db))
    await publishOne(deps, id).catch((fault: unknown) => failed.push(fault));
  // Throw at the end, so that a failure of one event does not stop the others.
  if (failed.length > 0) throw new AggregateError(failed, `${failed.length} events could not be announced`);
}

/** Publishes once that an event has opened or closed. @returns the event, marked as announced; undefined if nothing was published */
export async function publishStatus(
  tx: Transaction,
  deps: RecordDeps,
  event: VotingEvent,
  nowMs: number,
): Promise<VotingEvent | undefined> {
  const status = shownStatusAt(event, nowMs);
  if ((status !== 'open' && status !== 'closed') || event.announcedStatus === status) return undefined;
  // The update is conditional, so that only one of two concurrent calls publishes.
  const marked = await markAnnounced(tx, event.id, status);
  if (marked === undefined) return undefined;
  const type = status === 'open' ? 'voting_event.opened' : 'voting_event.closed';
  await publish(tx, deps, aboutOf(event), type, [await tellEvent(tx, marked, nowMs)]);
  return marked;
}

/** Publishes once that the results are public. @returns the event, marked as announced; undefined if nothing was published */
export async function publishResults(
  tx: Transaction,
  deps: RecordDeps,
  event: VotingEvent,
  nowMs: number,
): Promise<VotingEvent | undefined> {
  const publishedAt = publishedTime(event, nowMs);
  if (publishedAt === null || event.resultsAnnounced) return undefined;
  const marked = await markResultsAnnounced(tx, event.id);
  if (marked === undefined) return undefined;
  const { id, code, title } = event;
  await publish(tx, deps, aboutOf(event), 'results.published', [{ votingEventId: id, code, title, publishedAt }]);
  return marked;
}

const PUBLISH_CLOSING = { name: 'announce_event_closing', maxAttempts: 10, payload: closing } as const;

const NOTICE_MS = DAY_MS;

/** Queues the announcement of an end a day ahead (completions 3, rule 2): for a new end, or when an event with an end leaves the draft. */
export async function scheduleClosing(
  tx: Transaction,
  before: Lifecycle | undefined,
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

export const publishClosingJob = (deps: Pick<Deps, 'db' | 'ids' | 'clock'>): Job<Closing> =>
  defineJob({
    ...PUBLISH_CLOSING,
    work: (end, run) =>
      inTransaction(deps.db, async (tx) => {
        const event = await holdEvent(tx, end.eventId);
        const nowMs = await readNow(tx);
        if (event === undefined || !isClosing(event, end.endsAt, nowMs) || !(await endJob(tx, run))) return;
        await publish(tx, deps, aboutOf(event), 'voting_event.closing', [await tellEvent(tx, event, nowMs)]);
        await enqueue(tx, MAIL_CLOSING, end);
      }),
  });
