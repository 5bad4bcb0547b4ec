import type { DueDelivery } from './sending-repository.ts';

/** Most concurrent deliveries of one endpoint. */
const MAX_CONCURRENCY = 10;
/** The concurrency with which an endpoint begins. Each quick answer raises it by one. */
const FIRST_CONCURRENCY = 3;
/** The concurrency after a slow answer, so that a slow receiver takes few of the places that all endpoints share. */
const SLOW_CONCURRENCY = 1;
const SLOW_MS = 3_000;
/** After this many failures in a row, an endpoint gets one message at a time, with a rest after each, until one delivery succeeds. */
export const FAILURES_TO_PROBE = 3;
/**
 * Length of the rest, by failures in a row. Each failure costs a commit (a thousand messages to dead receivers saturated the disk). If an
 * attacker made the receiver's certificates for it, each also costs the sending thread 0.4 s.
 */
const RESTS: readonly (readonly [failures: number, restMs: number])[] = [
  [30, 30_000],
  [10, 1_000],
];
/** Most outcomes of an endpoint that are not stored yet. If the sender crashes, at most this many deliveries are sent twice. */
const MAX_UNNOTED = 20;
/** Number of deliveries that are read in advance for an endpoint at full concurrency. */
const READ_AHEAD = 120;

/** The state of an endpoint in the sender that holds it (has leased it). */
export class EndpointQueue {
  readonly endpointId: string;
  readonly accountId: string;
  /** When this sender's hold on the endpoint ends, by `monotonicMs`. */
  heldUntil = 0;
  /** Whether more deliveries may be due than were read. */
  mayHaveMore = true;
  waiting: DueDelivery[] = [];
  readonly underWay = new Set<string>();
  /** IDs of answered deliveries whose outcome is not stored yet. */
  readonly unnoted = new Set<string>();
  /** IDs of deliveries that ended after the last query for due deliveries began. Its result may still contain them. */
  readonly ended = new Set<string>();
  #concurrency: number;
  #failures: number;
  /** When the rest ends, by `monotonicMs`; null while the endpoint does not rest. */
  #restsUntil: number | null = null;

  /** @param failures number of failures in a row before this sender took the endpoint */
  constructor(endpointId: string, accountId: string, failures: number) {
    this.endpointId = endpointId;
    this.accountId = accountId;
    this.#failures = failures;
    this.#concurrency = failures >= FAILURES_TO_PROBE ? SLOW_CONCURRENCY : FIRST_CONCURRENCY;
  }

  get isBusy(): boolean {
    return this.isAtWork || this.waiting.length > 0 || this.mayHaveMore;
  }

  /** Whether the endpoint has nothing to do until its next message or the end of its rest. Then it can give its place to another. */
  get canLeave(): boolean {
    return !this.isAtWork && (!this.isBusy || this.#restsUntil !== null);
  }

  get isAtWork(): boolean {
    return this.underWay.size > 0 || this.unnoted.size > 0;
  }

  /** Whether the endpoint has not shown yet that it answers quickly. */
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

  /** How many due deliveries to read. The result also contains deliveries that are under way or whose outcome is not stored yet. */
  get wanted(): number {
    return (
      this.underWay.size + this.unnoted.size + (this.#concurrency === MAX_CONCURRENCY ? READ_AHEAD : this.#concurrency)
    );
  }

  /** Replaces the waiting deliveries by newly read deliveries. @param asked the limit of this read */
  fill(due: readonly DueDelivery[], asked: number): void {
    this.waiting = due.filter(({ id }) => !this.underWay.has(id) && !this.unnoted.has(id) && !this.ended.has(id));
    this.mayHaveMore = due.length >= asked;
  }

  /** Drops deliveries that were read before a change of the endpoint. @param version undefined if it is disabled or deleted */
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

  /** Frees the place of a delivery after its exchange, and adjusts the concurrency. @param nowMs time by `monotonicMs` */
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

  /** Ends the rest of a failing endpoint if its time is over. @param nowMs time by `monotonicMs` */
  wake(nowMs: number): void {
    if (this.#restsUntil !== null && nowMs >= this.#restsUntil) this.#restsUntil = null;
  }

  /** How long the endpoint still rests, in ms. @param nowMs time by `monotonicMs` */
  restMs(nowMs: number): number {
    return this.#restsUntil === null ? 0 : Math.ceil(this.#restsUntil - nowMs);
  }

  /** Ends a delivery after its outcome was stored, or could not be stored. */
  end(id: string): void {
    this.unnoted.delete(id);
    this.ended.add(id);
  }
}

/**
 * Places that accounts share. An account may take a place only while it has fewer places than are free. So even if it has many endpoints
 * that hang for long, others find places at once.
 */
export class Places {
  #free: number;
  readonly #taken = new Map<string, number>();

  constructor(count: number) {
    this.#free = count;
  }

  get isFull(): boolean {
    return this.#free === 0;
  }

  allow(accountId: string): boolean {
    return (this.#taken.get(accountId) ?? 0) < this.#free;
  }

  take(accountId: string): void {
    this.#free -= 1;
    this.#taken.set(accountId, (this.#taken.get(accountId) ?? 0) + 1);
  }

  leave(accountId: string): void {
    this.#free += 1;
    const left = (this.#taken.get(accountId) ?? 0) - 1;
    if (left > 0) this.#taken.set(accountId, left);
    else this.#taken.delete(accountId);
  }
}

/** Queues of one kind. Accounts take turns, and so do the queues of an account. */
class AccountTurns {
  readonly #accounts = new Map<string, Set<EndpointQueue>>();

  add(queue: EndpointQueue): void {
    this.#accounts.getOrInsertComputed(queue.accountId, () => new Set()).add(queue);
  }

  delete(queue: EndpointQueue): void {
    const own = this.#accounts.get(queue.accountId);
    own?.delete(queue);
    if (own?.size === 0) this.#accounts.delete(queue.accountId);
  }

  next(places: readonly Places[]): EndpointQueue | undefined {
    if (places.some(({ isFull }) => isFull)) return undefined;
    for (const [accountId, own] of this.#accounts) {
      const [queue] = own;
      if (queue === undefined || !places.every((some) => some.allow(accountId))) continue;
      this.delete(queue);
      // Move the account to the end, behind the other accounts.
      if (this.#accounts.delete(accountId)) this.#accounts.set(accountId, own);
      return queue;
    }
    return undefined;
  }
}

/** The queues that can begin a delivery, in the order of their turns. After its turn, a queue goes to the end. */
export class RoundRobin {
  readonly #proven = new AccountTurns();
  readonly #unproven = new AccountTurns();
  #preferUnproven = false;

  /** Gives a queue a turn if it is ready and has no turn yet. */
  add(queue: EndpointQueue): void {
    if (!queue.isReady) return;
    (queue.isUnproven ? this.#unproven : this.#proven).add(queue);
    (queue.isUnproven ? this.#proven : this.#unproven).delete(queue);
  }

  /**
   * Takes the next queue whose account may take a place of each kind. Queues that have shown that they answer quickly alternate with
   * queues that have not (`isUnproven`), so that neither kind starves the other.
   * @param trials places that only queues need which have not shown that they answer quickly
   */
  next(places: readonly Places[], trials: Places): EndpointQueue | undefined {
    const unproven = () => this.#unproven.next([...places, trials]);
    const first = this.#preferUnproven ? unproven() : undefined;
    const proven = first === undefined ? this.#proven.next(places) : undefined;
    this.#preferUnproven = proven !== undefined;
    return first ?? proven ?? unproven();
  }
}
