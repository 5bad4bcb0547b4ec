import { setTimeout as delay } from 'node:timers/promises';
import type { Deps } from '#src/deps.ts';
import { monotonicMs, SECOND_MS } from '#src/platform/clock.ts';
import { summariseFault } from '#src/platform/log.ts';
import { listNewestDeliveries } from '#src/webhooks/newest-deliveries.ts';
import type { ConsoleFeed } from './console-feed.ts';
import { readResults } from './read-results.ts';
import { listPayments } from './sandbox-payments.ts';

const MOST_DELIVERIES = 50;
/** What comes within this time is sent together. */
const GATHER_MS = 100;
/** A part is read no more often than this, however much happens. */
const SOON_MS = 300;
/** The stream ends by itself when its reader is gone, at the latest with the next of these. */
const HEARTBEAT_MS = 10 * SECOND_MS;
/** How long the browser waits until it connects again. */
const RETRY_MS = SECOND_MS;

/** What is read again and again while somebody looks. */
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

/** Reads the parts whose time has come, and gives those that are not as they were. */
class PartReader {
  readonly #deps: Deps;
  readonly #parts: readonly Part[];
  readonly #sent = new Map<string, string>();
  readonly #readAt = new Map<string, number>();

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#parts = partsOf(deps);
  }

  /** @param soon whether something was changed, so that there is a reason to look */
  async readChanges(soon: boolean): Promise<Record<string, unknown>> {
    const nowMs = monotonicMs();
    const isDue = ({ name, everyMs }: Part): boolean =>
      nowMs - (this.#readAt.get(name) ?? Number.NEGATIVE_INFINITY) >= (soon ? SOON_MS : everyMs);
    const due = this.#parts.filter(isDue);
    const read = await Promise.all(due.map(async (part) => [part, await this.#read(part)] as const));
    const changes: Record<string, unknown> = {};
    for (const [{ name }, value] of read) {
      this.#readAt.set(name, nowMs);
      const text = JSON.stringify(value);
      if (this.#sent.get(name) !== text) changes[name] = value;
      this.#sent.set(name, text);
    }
    return changes;
  }

  /** A part that cannot be read now is shown as that. It is logged once, not each second. */
  async #read({ name, read }: Part): Promise<unknown> {
    try {
      return await read();
    } catch (fault) {
      const failed = { failed: true };
      if (this.#sent.get(name) !== JSON.stringify(failed))
        this.#deps.log.warn({ part: name, fault: summariseFault(fault) }, 'the console cannot read a part');
      return failed;
    }
  }
}

const encoder = new TextEncoder();
const eventOf = (data: unknown): Uint8Array => encoder.encode(`data: ${JSON.stringify(data)}\n\n`);

/**
 * What the page shows, as server-sent events: everything at first, then what changes. Nothing is queued for a slow reader: it gets
 * what is new since its last event.
 * @param signal aborts when the reader is gone
 */
export async function* streamLive(deps: Deps, feed: ConsoleFeed, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const parts = new PartReader(deps);
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
    const changes = { ...(newest > version || isFirst ? news : {}), ...(await parts.readChanges(soon)) };
    version = newest;
    if (Object.keys(changes).length > 0) {
      yield eventOf({ runId, first: isFirst, ...changes });
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
