import type { DueDelivery } from './sending-repository.ts';

/** Deliveries under way for one endpoint at most. */
const MAX_CONCURRENCY = 10;
/** What an endpoint begins with of which nothing is known; it grows with every quick answer. */
const FIRST_CONCURRENCY = 3;
/** What one that was slow is given: it may be slow without anybody else waiting for a place. */
const SLOW_CONCURRENCY = 1;
const SLOW_MS = 3_000;
/** After so many failures in a row an endpoint gets one message at a time, and a rest after each, until one arrives. */
const FAILURES_TO_PROBE = 3;
/** How long the rest is, by the failures in a row. Each failure is a commit: a thousand messages to receivers that are gone took the disk from all. */
const RESTS: readonly (readonly [failures: number, restMs: number])[] = [
  [30, 5_000],
  [10, 1_000],
];
/** Answers of one endpoint that wait to be noted, at most: so many are sent twice when a sender is killed. */
const MAX_UNNOTED = 20;
/** Deliveries that are read ahead for an endpoint whose window is open all the way. */
const READ_AHEAD = 120;

/** What a sender knows of one endpoint that it holds. */
export class EndpointQueue {
  readonly endpointId: string;
  /** Until when the endpoint is this sender's alone, of `monotonicMs`. */
  heldUntil = 0;
  /** Whether more may be due than was read. */
  mayHaveMore = true;
  waiting: DueDelivery[] = [];
  readonly underWay = new Set<string>();
  /** Those that were answered, which is not written down yet. */
  readonly unnoted = new Set<string>();
  /** Those that ended since what is due was last asked for: the answer may still name them. */
  readonly ended = new Set<string>();
  #concurrency = FIRST_CONCURRENCY;
  #failures = 0;
  /** When the rest ends, of `monotonicMs`; null while the endpoint does not rest. */
  #restsUntil: number | null = null;

  constructor(endpointId: string) {
    this.endpointId = endpointId;
  }

  get isBusy(): boolean {
    return this.isAtWork || this.waiting.length > 0 || this.mayHaveMore;
  }

  get isAtWork(): boolean {
    return this.underWay.size > 0 || this.unnoted.size > 0;
  }

  /** Whether an answer of this endpoint is not known to come soon. */
  get isUnproven(): boolean {
    return this.#concurrency <= FIRST_CONCURRENCY;
  }

  get isReady(): boolean {
    const hasRoom = this.underWay.size < this.#concurrency && this.unnoted.size < MAX_UNNOTED;
    return this.waiting.length > 0 && hasRoom && this.#restsUntil === null;
  }

  get needsRefill(): boolean {
    return this.mayHaveMore && this.waiting.length < this.#concurrency;
  }

  /** How many due deliveries to ask for: those that are not noted yet are among the answer. */
  get wanted(): number {
    return (
      this.underWay.size + this.unnoted.size + (this.#concurrency === MAX_CONCURRENCY ? READ_AHEAD : this.#concurrency)
    );
  }

  /** Takes what was read as due, in place of what was read before. */
  fill(due: readonly DueDelivery[], asked: number): void {
    this.waiting = due.filter(({ id }) => !this.underWay.has(id) && !this.unnoted.has(id) && !this.ended.has(id));
    this.mayHaveMore = due.length >= asked;
  }

  /**
   * Forgets what was read under another version: switched off, deleted, moved to another address, given another secret.
   * @param version undefined where nothing may be sent any more
   */
  check(version: number | undefined): void {
    if (this.waiting.every(({ endpointVersion }) => endpointVersion === version)) return;
    this.waiting = [];
    this.mayHaveMore = true;
  }

  begin(): DueDelivery | undefined {
    const next = this.waiting.shift();
    if (next !== undefined) this.underWay.add(next.id);
    return next;
  }

  /** Frees the place of a delivery: its exchange is over. @param nowMs of `monotonicMs` */
  answer(id: string, durationMs: number, arrived: boolean, nowMs: number): void {
    this.underWay.delete(id);
    this.unnoted.add(id);
    this.#failures = arrived ? 0 : this.#failures + 1;
    const probes = this.#failures >= FAILURES_TO_PROBE;
    const [, restMs = 0] = RESTS.find(([failures]) => this.#failures >= failures) ?? [];
    this.#restsUntil = probes ? nowMs + restMs : null;
    this.#concurrency =
      probes || durationMs > SLOW_MS ? SLOW_CONCURRENCY : Math.min(this.#concurrency + 1, MAX_CONCURRENCY);
  }

  /** Ends the rest of an endpoint that fails, once it is over: the next message may try it. @param nowMs of `monotonicMs` */
  wake(nowMs: number): void {
    if (this.#restsUntil !== null && nowMs >= this.#restsUntil) this.#restsUntil = null;
  }

  /** What came of a delivery is written down. */
  end(id: string): void {
    this.unnoted.delete(id);
    this.ended.add(id);
  }
}

/** Queues that could begin a delivery, in turn: each that had one goes to the end. */
export class RoundRobin {
  readonly #proven = new Set<EndpointQueue>();
  readonly #unproven = new Set<EndpointQueue>();
  #preferUnproven = false;

  /** Gives a queue a turn, if it is ready for one and has none yet. */
  add(queue: EndpointQueue): void {
    if (!queue.isReady) return;
    (queue.isUnproven ? this.#unproven : this.#proven).add(queue);
    (queue.isUnproven ? this.#proven : this.#unproven).delete(queue);
  }

  /** Whose turn it is. The two kinds alternate, so that neither keeps the other waiting. */
  next(allowUnproven: boolean): EndpointQueue | undefined {
    const unproven = allowUnproven && this.#unproven.size > 0 && (this.#preferUnproven || this.#proven.size === 0);
    this.#preferUnproven = !unproven;
    const queues = unproven ? this.#unproven : this.#proven;
    const [queue] = queues;
    if (queue !== undefined) queues.delete(queue);
    return queue;
  }
}
