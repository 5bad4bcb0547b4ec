import type { HttpBindings } from '@hono/node-server';
import { type Lease, Leases } from '#src/platform/leases.ts';
import type { Presence } from '#src/platform/presence.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { isKeyless } from './caller.ts';
import type { RequestContext } from './env.ts';
import { type Stay, urgencyOf } from './load.ts';
import { refuse } from './refusals.ts';

const MIB = 1024 * 1024;
/** Longer than the work ahead of a waiting request: two long changes of some seconds each. */
const LONG_WAIT_MS = 60_000;
/** Long, because in a slow process even the requests of an account that sends few of them wait. */
const WORK_WAIT_MS = 10_000;

const limited = (limits: Omit<ConstructorParameters<typeof Leases>[0], 'refuse'>) =>
  new Leases({ ...limits, refuse: (whose) => refuse(whose === 'account' ? 'too_many_at_once' : 'overloaded') });

/** Limits on work that is under way at the same time, per account and for all accounts. */
export const createLeases = (presence: Presence) => ({
  /** Reads and voters' requests that are worked at. While an account sends hundreds, each step of another waits only for these. */
  readsAtWork: limited({
    perAccount: 8,
    beside: { perAccount: 2, presence },
    maxWaiting: 1_000,
    maxWaitMs: WORK_WAIT_MS,
  }),
  othersAtWork: limited({
    perAccount: 32,
    beside: { perAccount: 4, presence },
    maxWaiting: 1_000,
    maxWaitMs: WORK_WAIT_MS,
  }),
  /** Requests without a key, by address. */
  strangersAtWork: limited({ perAccount: 4, inAll: 16, maxWaiting: 100 }),
  /** Searches, files, statistics and long lists. */
  costlyReads: limited({ perAccount: 2, maxWaiting: 50 }),
  /** Costly reads while the event loop is late: one per account, of three accounts at once. */
  readsOfLateLoop: limited({ perAccount: 1, inAll: 3, maxWaiting: 50, maxWaitMs: 10_000 }),
  /** Changes by organizers, and registrations. Few: a change that waits for its event's lock occupies a connection. */
  changes: limited({ perAccount: 4, maxWaiting: 200 }),
  /** Changes in the database. Changes of one event wait for its lock: more per account would only block other accounts. */
  changeTurns: limited({ perAccount: 2, inAll: 6, maxWaiting: 200 }),
  /** Changes with bodies of megabytes, from validation in a thread to the commit: each holds memory and a connection for seconds. */
  longChanges: limited({ perAccount: 1, inAll: 2, maxWaiting: 3, maxWaitMs: LONG_WAIT_MS }),
  /** Bytes of long bodies, from Content-Length to the answer: each account may send the largest body and some smaller ones. */
  bodyBytes: limited({ perAccount: 40 * MIB }),
  /** Bytes of long bodies of requests without a key, by address: these bodies are held in memory. */
  strangersBytes: limited({ perAccount: 4 * MIB }),
  /** Ballots of more than 1,000 candidates built for a request, until it is answered: each takes megabytes. Cached ballots are free. */
  ballots: limited({ perAccount: 3, inAll: 6, maxWaiting: 200 }),
  /** Reports, and results of hundreds of candidates, until they are sent: a peer that reads slowly keeps each in memory, up to 10 MB. */
  results: limited({ perAccount: 6, maxWaiting: 200, maxWaitMs: TIME_LIMITS.countMs }),
  /** Reports that are being counted and drawn: each takes megabytes. */
  prints: limited({ perAccount: 1, inAll: 3, maxWaiting: 2, maxWaitMs: LONG_WAIT_MS }),
  /** Jobs of the thread pool, waiting or running. A waiting job takes little memory. */
  threads: limited({ perAccount: 32 }),
  /** Concurrent calls of one payment (its ID, not an account): the first fulfils it, the others wait without a connection. */
  payments: limited({ perAccount: 1, maxWaiting: 100, maxWaitMs: TIME_LIMITS.payerMs }),
  consoleStreams: limited({ perAccount: 20 }),
});

export type LeasesByKind = ReturnType<typeof createLeases>;

/** Holds the leases of a request until its handler has returned and its answer is sent or the client is gone. */
export class RequestLife {
  readonly #bindings: HttpBindings;
  readonly #leases = new Map<object, Lease>();
  #stay: Stay | undefined;
  #atWork: Lease | undefined;
  #places: { readonly of: Leases; readonly account: string } | undefined;
  #gone: AbortController | undefined;
  #isHandled = false;

  constructor(bindings: HttpBindings) {
    this.#bindings = bindings;
  }

  /** Aborted when the answer was sent, or the client went away. */
  get gone(): AbortSignal {
    if (this.#gone !== undefined) return this.#gone.signal;
    const gone = new AbortController();
    this.#gone = gone;
    const { incoming, outgoing } = this.#bindings;
    const close = (): void => {
      gone.abort();
      this.#endWhenOver();
    };
    if (outgoing.destroyed || incoming.socket.destroyed) close();
    else outgoing.once('close', close);
    return gone.signal;
  }

  /** Takes a lease until the request ends; a second call returns the same lease. @throws ApiError 429 or 500 if there is no room */
  async take(leases: Leases, account: string, amount = 1): Promise<Lease> {
    const lease = this.#leases.get(leases) ?? (await leases.take(account, amount, this.gone));
    this.#leases.set(leases, lease);
    this.#endWhenOver();
    return lease;
  }

  keep(lease: Lease): void {
    this.#leases.set(lease, lease);
    void this.gone;
    this.#endWhenOver();
  }

  holds(leases: Leases): boolean {
    return this.#leases.has(leases);
  }

  /** Ends a lease before the request ends. */
  giveBack(leases: Leases): void {
    this.#leases.get(leases)?.end();
    this.#leases.delete(leases);
  }

  entered(stay: Stay): void {
    this.#stay = stay;
  }

  isOf(account: string): void {
    this.#stay?.isOf(account);
  }

  /** Waits for a place among the account's requests that are worked at. @throws ApiError 429 after some time without one */
  async begin(places: Leases, account: string): Promise<void> {
    this.#places = { of: places, account };
    await this.#goOn();
  }

  async #goOn(): Promise<void> {
    if (this.#places === undefined || this.#atWork !== undefined) return;
    const { of: places, account } = this.#places;
    const place = places.takeNow(account) ?? (await this.#pause(places.take(account)));
    // Two waits of one request may end at the same time, and a request may end meanwhile.
    if (this.#atWork === undefined && !this.#isHandled) this.#atWork = place;
    else place.end();
  }

  async #pause<Value>(wait: Promise<Value>): Promise<Value> {
    this.#stay?.rest();
    try {
      return await wait;
    } finally {
      this.#stay?.goOn();
    }
  }

  #leaveWork(): void {
    this.#atWork?.end();
    this.#atWork = undefined;
  }

  /** Like `rest`, for a wait that hundreds of requests may share. Call before any change: it may refuse. @throws ApiError 429 */
  async restAndBegin<Value>(wait: Promise<Value>): Promise<Value> {
    this.#leaveWork();
    const value = await this.#pause(wait);
    await this.#goOn();
    return value;
  }

  /**
   * Waits for the sender, for a turn or for another server. Meanwhile the request causes no work and does not count as load. Then it waits
   * for a place of `begin` again; without one after some time it goes on anyway, because it may be in the middle of its work.
   */
  rest<Value>(wait: Promise<Value>): Promise<Value> {
    return this.join(this.#pause(wait));
  }

  /** Like `rest`, for a statement that many requests share: they still count as load. */
  async join<Value>(statement: Promise<Value>): Promise<Value> {
    this.#leaveWork();
    const value = await statement;
    await this.#goOn().catch(() => undefined);
    return value;
  }

  handled(): void {
    this.#leaveWork();
    this.#isHandled = true;
    this.#endWhenOver();
  }

  /** Ends the leases of a finished request. If its client has disconnected, the leases last until the handler has returned. */
  #endWhenOver(): void {
    if (this.#isHandled && this.#gone?.signal.aborted === true) for (const lease of this.#leases.values()) lease.end();
  }
}

/** Call when a request has arrived as a whole. @throws ApiError 429 `too_many_at_once` */
export function beginWork(c: RequestContext): Promise<void> {
  const { readsAtWork, othersAtWork, strangersAtWork } = c.get('service').leases;
  const [life, caller] = [c.get('life'), c.get('caller')];
  if (isKeyless(caller)) return life.begin(strangersAtWork, c.get('known').address ?? '');
  return life.begin(urgencyOf(c.get('operation')) === 'read' ? readsAtWork : othersAtWork, caller.accountId);
}

/** Takes one of the places for changes of the caller's account. @throws ApiError 429 after 2 s without one */
export const takeChangePlace = (c: RequestContext): Promise<Lease> =>
  c.get('life').rest(c.get('life').take(c.get('service').leases.changes, c.get('caller').accountId));

/** Runs work that holds a database connection at the account's turn. @throws ApiError 429, 500 after some time without a turn */
export async function inTurn<Value>(c: RequestContext, work: () => Promise<Value>): Promise<Value> {
  const life = c.get('life');
  const { longChanges, changeTurns } = c.get('service').leases;
  const turns = life.holds(longChanges) ? longChanges : changeTurns;
  await life.rest(life.take(turns, c.get('caller').accountId));
  try {
    return await work();
  } finally {
    life.giveBack(turns);
  }
}
