import type { HttpBindings } from '@hono/node-server';
import { type Lease, Leases } from '#src/platform/leases.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import type { RequestContext } from './env.ts';
import type { Stay } from './load.ts';
import { refuse } from './refusals.ts';

const MIB = 1024 * 1024;
/** Longer than what is before: two long changes, each of some seconds. */
const LONG_WAIT_MS = 60_000;

export const NO_ACCOUNT = '';

const limited = (limits: Omit<ConstructorParameters<typeof Leases>[0], 'refuse'>) =>
  new Leases({ ...limits, refuse: (whose) => refuse(whose === 'account' ? 'too_many_at_once' : 'overloaded') });

/** Everything that is counted while it is under way. */
export const createLeases = () => ({
  /** Searches, files, statistics and long lists. */
  costlyReads: limited({ perAccount: 2, maxWaiting: 50 }),
  /** Those of them that are done while the loop is late: one after the other, by turns of accounts. */
  readsOfLateLoop: limited({ perAccount: 1, inAll: 1, maxWaiting: 50, maxWaitMs: 10_000 }),
  /**
   * Changes by organizers, and of voters' registrations. Fewer than there are connections: those of one event wait for its
   * lock, each on a connection that the casts of every other account would lack.
   */
  changes: limited({ perAccount: 4, maxWaiting: 200 }),
  /** Changes under way at the database. Those of one event wait for its lock: more of an account would only take the places of others. */
  changeTurns: limited({ perAccount: 2, inAll: 6, maxWaiting: 200 }),
  /** Bodies of megabytes from the thread that judges them to the end of their transaction: memory and a connection for seconds. */
  longChanges: limited({ perAccount: 1, inAll: 2, maxWaiting: 3, maxWaitMs: LONG_WAIT_MS }),
  /** Bytes of bodies in files, from their announcement to their answer: the largest body, and some smaller. Others have their own. */
  bodyBytes: limited({ perAccount: 40 * MIB }),
  /** The same in memory, by address, of who has no key. */
  strangersBytes: limited({ perAccount: 4 * MIB }),
  /** Ballots of more than 1,000 candidates that a request has built, until it is answered: each takes megabytes. One from the cache takes no place. */
  ballots: limited({ perAccount: 3, inAll: 6, maxWaiting: 200 }),
  /** Reports that are counted and drawn: each holds megabytes. */
  prints: limited({ perAccount: 1, inAll: 3, maxWaiting: 2, maxWaitMs: LONG_WAIT_MS }),
  /** Orders that wait for a thread, or have one: as long as they wait, an order is little more than a name. */
  threads: limited({ perAccount: 32 }),
  /** Second calls of one payment: the first gives what was paid for, and the others wait for its answer without a connection. */
  payments: limited({ perAccount: 1, maxWaiting: 100, maxWaitMs: TIME_LIMITS.payerMs }),
  /** Pages that look at the console at the same time. */
  consoleStreams: limited({ perAccount: 20 }),
});

export type LeasesByKind = ReturnType<typeof createLeases>;

/** From the first step of a request until its handler is done and its answer is sent, or never will be. */
export class RequestLife {
  readonly #bindings: HttpBindings;
  readonly #leases = new Map<object, Lease>();
  #stay: Stay | undefined;
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

  /** Takes what ends with the request at the latest; asked for once more, it is the same. @throws ApiError 429 `too_many_at_once`, 500 `overloaded` */
  async take(leases: Leases, account: string, amount = 1): Promise<Lease> {
    const lease = this.#leases.get(leases) ?? (await leases.take(account, amount, this.gone));
    this.#leases.set(leases, lease);
    this.#endWhenOver();
    return lease;
  }

  keep(lease: Lease): void {
    this.#leases.set(lease, lease);
    void this.gone;
  }

  holds(leases: Leases): boolean {
    return this.#leases.has(leases);
  }

  /** Gives something back before the request ends. */
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

  /** Waits for the sender, or for a turn: nothing is done for the request meanwhile, and it is no load. */
  async rest<Value>(wait: Promise<Value>): Promise<Value> {
    this.#stay?.rest();
    try {
      return await wait;
    } finally {
      this.#stay?.goOn();
    }
  }

  handled(): void {
    this.#isHandled = true;
    this.#endWhenOver();
  }

  /** What a client leaves behind who hangs up still has its work: it counts until that is done. */
  #endWhenOver(): void {
    if (this.#isHandled && this.#gone?.signal.aborted === true) for (const lease of this.#leases.values()) lease.end();
  }
}

/** Takes one of the places that an account has for changes, for the request. @throws ApiError 429 after 2 s without one */
export const takeChangePlace = (c: RequestContext): Promise<Lease> =>
  c.get('life').rest(c.get('life').take(c.get('service').leases.changes, c.get('caller').accountId));

/** Does what holds a connection of the database, in the turn of the account. @throws ApiError 429, 500 after some time without one */
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
