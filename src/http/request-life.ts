import type { HttpBindings } from '@hono/node-server';
import { type Lease, Leases } from '#src/platform/leases.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import type { RequestContext } from './env.ts';
import { refuse } from './refusals.ts';

const MIB = 1024 * 1024;

/** A name for what belongs to no account. */
export const NO_ACCOUNT = '';

const limited = (limits: Omit<ConstructorParameters<typeof Leases>[0], 'refuse'>) =>
  new Leases({ ...limits, refuse: (whose) => refuse(whose === 'account' ? 'too_many_at_once' : 'overloaded') });

/** Everything that is counted while it is under way. */
export const createLeases = () => ({
  /** Searches, files, statistics and long lists. */
  costlyReads: limited({ perAccount: 2, maxWaiting: 50 }),
  /**
   * Changes by organizers, and of voters' registrations. Fewer than there are connections: those of one event wait for its
   * lock, each on a connection that the casts of every other account would lack.
   */
  changes: limited({ perAccount: 4, maxWaiting: 200 }),
  /** Bytes of bodies from their announcement to their answer, each of which takes several in memory: the largest body, and some smaller. */
  bodyBytes: limited({ perAccount: 40 * MIB, inAll: 96 * MIB }),
  /** Reports that wait or are drawn; of all accounts together, what the memory holds. */
  prints: limited({ perAccount: 3, inAll: 60 }),
  /** Orders that wait for a thread, or have one. */
  threads: limited({ perAccount: 32, inAll: 256 }),
  /** Second calls of one payment: the first gives what was paid for, and the others wait for its answer without a connection. */
  payments: limited({ perAccount: 1, maxWaiting: 100, maxWaitMs: TIME_LIMITS.payerMs }),
  /** Pages that look at the console at the same time. */
  consoleStreams: limited({ perAccount: 20 }),
});

export type LeasesByKind = ReturnType<typeof createLeases>;

/** From the first step of a request until its handler is done and its answer is sent, or never will be. */
export class RequestLife {
  readonly #bindings: HttpBindings;
  readonly #leases = new Map<Leases, Lease>();
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
  c.get('life').take(c.get('service').leases.changes, c.get('caller').accountId);
