import type { DueDelivery } from './sending-repository.ts';

/** Most concurrent deliveries of one endpoint. */
const MAX_CONCURRENCY = 10;
/** Concurrency that an endpoint begins with; every quick answer raises it by one. */
const FIRST_CONCURRENCY = 3;
/** Concurrency after a slow answer, so that a slow receiver takes few of the places that all endpoints share. */
const SLOW_CONCURRENCY = 1;
const SLOW_MS = 3_000;
/** After this many failures in a row, an endpoint gets one message at a time, with a rest after each, until a delivery succeeds. */
const FAILURES_TO_PROBE = 3;
/**
 * Length of the rest, by failures in a row. Each failure costs a commit (a thousand messages to dead receivers saturated the disk) and,
 * where the receiver's certificates are made for it, 0.4 s of the thread that sends.
 */
const RESTS: readonly (readonly [failures: number, restMs: number])[] = [
  [30, 30_000],
  [10, 1_000],
];
/** Limit of outcomes of one endpoint that are not yet stored: after a sender's crash, at most this many deliveries are sent twice. */
const MAX_UNNOTED = 20;
/** Deliveries that are read ahead for an endpoint at full concurrency. */
const READ_AHEAD = 120;

/** A sender's state of one endpoint that it holds. */
export class EndpointQueue {
  readonly endpointId: string;
  /** When this sender's hold of the endpoint ends, by `monotonicMs`. */
  heldUntil = 0;
  /** Whether more deliveries may be due than were read. */
  mayHaveMore = true;
  waiting: DueDelivery[] = [];
  readonly underWay = new Set<string>();
  /** IDs of answered deliveries whose outcome is not yet stored. */
  readonly unnoted = new Set<string>();
  /** IDs of deliveries that ended since the last query for due deliveries began: its result may still contain them. */
  readonly ended = new Set<string>();
  #concurrency = FIRST_CONCURRENCY;
  #failures = 0;
  /** When the rest ends, by `monotonicMs`; null while the endpoint does not rest. */
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

  /** Whether the endpoint has not yet shown that it answers quickly. */
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

  /** How many due deliveries to read: the result also contains deliveries under way, and those whose outcome is not yet stored. */
  get wanted(): number {
    return (
      this.underWay.size + this.unnoted.size + (this.#concurrency === MAX_CONCURRENCY ? READ_AHEAD : this.#concurrency)
    );
  }

  /** Replaces the waiting deliveries by newly read ones. @param asked the limit of that read */
  fill(due: readonly DueDelivery[], asked: number): void {
    this.waiting = due.filter(({ id }) => !this.underWay.has(id) && !this.unnoted.has(id) && !this.ended.has(id));
    this.mayHaveMore = due.length >= asked;
  }

  /** Drops deliveries read before a change of the endpoint. @param version undefined if it is disabled or deleted */
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

  /** Frees the place of a delivery after its exchange, and adjusts the concurrency. @param nowMs by `monotonicMs` */
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

  /** Ends the pause of a failing endpoint when its time is over. @param nowMs by `monotonicMs` */
  wake(nowMs: number): void {
    if (this.#restsUntil !== null && nowMs >= this.#restsUntil) this.#restsUntil = null;
  }

  /** Ends a delivery after its outcome was stored, or could not be stored. */
  end(id: string): void {
    this.unnoted.delete(id);
    this.ended.add(id);
  }
}

/** The queues that can begin a delivery, in the order of their turns. After its turn a queue goes to the end. */
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

  /** Takes the next queue: in turns one that has shown that it answers and one that has not (`isUnproven`), so that neither kind starves the other. */
  next(allowUnproven: boolean): EndpointQueue | undefined {
    const unproven = allowUnproven && this.#unproven.size > 0 && (this.#preferUnproven || this.#proven.size === 0);
    this.#preferUnproven = !unproven;
    const queues = unproven ? this.#unproven : this.#proven;
    const [queue] = queues;
    if (queue !== undefined) queues.delete(queue);
    return queue;
  }
}
