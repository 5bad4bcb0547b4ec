import pg from 'pg';
import { monotonicMs } from '#src/platform/clock.ts';
import { type Lease, type LeaseLimits, Leases } from '#src/platform/leases.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { asker } from '#src/platform/turns.ts';
import { orLate } from '#src/platform/within.ts';

/** Used in place of an account when the process itself takes a connection. */
const PROCESS = 'process';

const noConnection = (): Error => new Error('no connection to the database was free in time');

type Callback = Parameters<pg.Pool['connect']>[0];

/** A pool that serves accounts in turn: however many callers of one account wait, another account gets the next free connection. */
export class FairPool extends pg.Pool {
  readonly #waitMs: number;
  readonly #places: Leases;
  readonly #held = new WeakMap<pg.PoolClient, Lease>();
  #isSilent = false;

  /** @param beside how many connections an account may hold while another account is present; all unless given */
  constructor(config: pg.PoolConfig, beside?: LeaseLimits['beside']) {
    super(config);
    const { max = 1, connectionTimeoutMillis = TIME_LIMITS.databaseConnectMs } = config;
    this.#waitMs = connectionTimeoutMillis;
    this.#places = new Leases({
      ...(beside && { beside }),
      ...{ perAccount: max, inAll: max, maxWaiting: Number.POSITIVE_INFINITY, maxWaitMs: connectionTimeoutMillis },
      refuse: noConnection,
    });
    this.on('release', (_fault, client) => this.#held.get(client)?.end());
  }

  /** Callers that wait for a connection. */
  get waiting(): number {
    return this.#places.waiting;
  }

  /** While the database is silent, callers are refused at once: two waits would exceed 2 s (completions 1.6). */
  setSilent(isSilent: boolean): void {
    this.#isSilent = isSilent;
    if (isSilent) this.#places.refuseWaiting();
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    const taken = this.take();
    if (callback === undefined) return taken;
    taken.then(
      (client) => callback(undefined, client, client.release),
      (fault: Error) => callback(fault, undefined, () => undefined),
    );
    return undefined;
  }

  protected async take(): Promise<pg.PoolClient> {
    if (this.#isSilent) throw new Error('the database gives no answer');
    const began = monotonicMs();
    const place = await this.#places.take(asker.getStore()?.account ?? PROCESS);
    const connecting = super.connect();
    try {
      // pg's own time limit ignores the wait for a place: only the rest of `#waitMs` is left for the connection.
      const client = await orLate(connecting, Math.max(0, this.#waitMs - (monotonicMs() - began)), noConnection);
      this.#held.set(client, place);
      return client;
    } catch (fault) {
      const late = connecting.then(
        (client) => client.release(),
        () => undefined,
      );
      late.finally(() => place.end());
      throw fault;
    }
  }
}
