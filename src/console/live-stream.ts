import { setTimeout as delay } from 'node:timers/promises';
import { desc, isNull } from 'drizzle-orm';
import type { Deps } from '#src/deps.ts';
import { monotonicMs, SECOND_MS } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { summariseFault } from '#src/platform/log.ts';
import { pick } from '#src/platform/pick.ts';
import type { EventResults } from '#src/results/event-results.ts';
import { shownStatusAt } from '#src/voting-events/lifecycle.ts';
import { votingEvents } from '#src/voting-events/tables.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { listNewestDeliveries } from '#src/webhooks/newest-deliveries.ts';
import type { ConsoleFeed } from './console-feed.ts';
import { listPayments } from './sandbox-payments.ts';

const MOST_DELIVERIES = 50;
/** Changes within this time are sent as one event. */
const GATHER_MS = 100;
/** Shortest interval between two reads of a part, however much happens. */
const SOON_MS = 300;
/** A write to a reader that has gone ends the stream: send something at least this often. */
const HEARTBEAT_MS = 10 * SECOND_MS;
/** How long the browser waits before it reconnects. */
const RETRY_MS = SECOND_MS;

/** Data that is polled while a page is open. */
interface Part {
  readonly name: 'payments' | 'deliveries' | 'results';
  readonly everyMs: number;
  readonly read: () => Promise<unknown>;
}

function partsOf(deps: Deps): Part[] {
  const { sandboxUrl } = deps;
  return [
    {
      name: 'payments',
      everyMs: SECOND_MS,
      read: async () => (sandboxUrl === undefined ? null : listPayments(sandboxUrl)),
    },
    { name: 'deliveries', everyMs: SECOND_MS, read: () => listNewestDeliveries(deps.reads, MOST_DELIVERIES) },
    { name: 'results', everyMs: 2 * SECOND_MS, read: () => readResults(deps) },
  ];
}

/** @returns a function that reads the parts that are due, and returns the changed parts */
function partReader(deps: Deps) {
  const parts = partsOf(deps);
  const sent = new Map<string, string>();
  const readAt = new Map<string, number>();

  /** A part that cannot be read is sent as failed, and logged once, not each second. */
  async function readPart({ name, read }: Part): Promise<unknown> {
    try {
      return await read();
    } catch (fault) {
      const failed = { failed: true };
      if (sent.get(name) !== JSON.stringify(failed))
        deps.log.warn({ part: name, fault: summariseFault(fault) }, 'the console cannot read a part');
      return failed;
    }
  }

  /** @param soon whether data was just changed: reads parts every SOON_MS */
  return async (soon: boolean): Promise<Record<string, unknown>> => {
    const nowMs = monotonicMs();
    const isDue = ({ name, everyMs }: Part): boolean =>
      nowMs - (readAt.get(name) ?? Number.NEGATIVE_INFINITY) >= (soon ? SOON_MS : everyMs);
    const read = await Promise.all(parts.filter(isDue).map(async (part) => [part, await readPart(part)] as const));
    const changes: Record<string, unknown> = {};
    for (const [{ name }, value] of read) {
      readAt.set(name, nowMs);
      const text = JSON.stringify(value);
      if (sent.get(name) !== text) changes[name] = value;
      sent.set(name, text);
    }
    return changes;
  };
}

const encoder = new TextEncoder();

/**
 * Streams what the page shows as server-sent events: first everything, then changes. Queues nothing for a slow reader, which gets all
 * changes since its last event.
 * @param signal aborts when the reader is gone
 */
export async function* streamLive(deps: Deps, feed: ConsoleFeed, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const readChanges = partReader(deps);
  const { runId } = feed.start;
  yield encoder.encode(`retry: ${RETRY_MS}\n\n`);
  let version = 0;
  let isFirst = true;
  let seenChanges = feed.changes;
  let soonUntil = 0;
  let sentAt = monotonicMs();
  while (!feed.isClosed && !signal.aborted) {
    const { version: newest, ...news } = feed.since(version);
    if (feed.changes > seenChanges) soonUntil = monotonicMs() + SECOND_MS;
    seenChanges = feed.changes;
    const soon = monotonicMs() < soonUntil;
    const changes = { ...(newest > version || isFirst ? news : {}), ...(await readChanges(soon)) };
    version = newest;
    if (Object.keys(changes).length > 0) {
      yield encoder.encode(`data: ${JSON.stringify({ runId, first: isFirst, ...changes })}\n\n`);
      sentAt = monotonicMs();
    } else if (monotonicMs() - sentAt >= HEARTBEAT_MS) {
      yield encoder.encode(':\n\n');
      sentAt = monotonicMs();
    }
    isFirst = false;
    await delay(GATHER_MS);
    await feed.changed(version, soon ? SOON_MS : SECOND_MS, signal);
  }
}

/** Most events that are shown, the newest, with their first positions and candidates. */
const MOST_EVENTS = 12;
const MOST_POSITIONS = 20;
const MOST_CANDIDATES = 30;

type ResultDeps = Pick<Deps, 'reads' | 'clock' | 'definitions' | 'counting'>;

/** The results of an event as its organizer sees them now, cut short. */
export type LiveResults = Awaited<ReturnType<typeof readOne>>;

const shortPositions = (positions: EventResults['positions']) =>
  positions.slice(0, MOST_POSITIONS).map((position) => ({
    ...pick(position, ['id', 'title', 'votingMethod', 'ballots']),
    candidates: position.candidates
      .slice(0, MOST_CANDIDATES)
      .map((candidate) => pick(candidate, ['id', 'name', 'votesWon', 'weightWon', 'winner'])),
  }));

/** @returns undefined for a long count @throws ApiError if the event cannot be counted now */
async function countNow(
  { definitions, counting, clock }: ResultDeps,
  event: VotingEvent,
): Promise<EventResults | undefined> {
  const definition = await definitions.get(event);
  if (definition === undefined) return undefined;
  const { body } = await counting.answer(definition, 'organizer', clock.now());
  // A short count answers with a body `{ data }`, a long count with a stream of bytes.
  return (body as { readonly data: EventResults } | undefined)?.data;
}

async function readOne(deps: ResultDeps, event: VotingEvent) {
  const status = shownStatusAt(event, deps.clock.now());
  const head = { ...pick(event, ['id', 'code', 'title', 'type']), status };
  /** @param missing why there are no results here */
  const none = (missing: string) => ({ ...head, missing, ballots: 0, turnout: null, positions: [] });
  try {
    const results = await countNow(deps, event);
    if (results === undefined) return none('They are too long for this page: read them with the API.');
    const { ballots, turnout } = results.stats;
    return { ...head, missing: null, ballots, turnout, positions: shortPositions(results.positions) };
  } catch (fault) {
    if (fault instanceof ApiError) return none(fault.message);
    throw fault;
  }
}

async function readResults(deps: ResultDeps) {
  const events = await deps.reads
    .select()
    .from(votingEvents)
    .where(isNull(votingEvents.deletedAt))
    .orderBy(desc(votingEvents.createdAt), desc(votingEvents.id))
    .limit(MOST_EVENTS);
  return Promise.all(events.map((event) => readOne(deps, event)));
}
