import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { findAccount } from '#src/accounts/repository.ts';
import type { Deps } from '#src/deps.ts';
import { monotonicMs } from '#src/platform/clock.ts';

/** A request that is under way. */
export interface Visit {
  /** The accounts whose move it must not run into, with the cells in which they were found. */
  readonly homes: ReadonlyMap<string, Deps>;
  /** Before they were looked for, by `monotonicMs`. */
  readonly since: number;
}

/** Holds the requests of accounts that move to another cell, and knows when the requests under way have ended. */
export class HeldAccounts {
  /** Until when requests are or were held, by account and `monotonicMs`: a hold that is not renewed ends. One entry for each account that moved. */
  readonly #until = new Map<string, number>();
  readonly #visits = new WeakMap<IncomingMessage, Visit>();
  readonly #underWay = new Map<string, number>();
  #changed = Promise.withResolvers<void>();

  hold(accountId: string, ms: number): void {
    this.#until.set(accountId, monotonicMs() + ms);
  }

  release(accountId: string): void {
    if (this.#until.has(accountId)) this.#until.set(accountId, monotonicMs());
    this.#tell();
  }

  isHeld(accountId: string): boolean {
    return monotonicMs() < (this.#until.get(accountId) ?? 0);
  }

  /**
   * Whether an account that a request is about has left the cell in which the request reads: it may have found rows that were deleted
   * behind a move. Asks the databases only about accounts that were held since the request came.
   */
  async hasLeft(request: IncomingMessage): Promise<boolean> {
    const { homes, since } = this.#visits.get(request) ?? { homes: [], since: 0 };
    for (const [account, { db }] of homes)
      if ((this.#until.get(account) ?? 0) >= since && (await findAccount(db, account)) === undefined) return true;
    return false;
  }

  /** Counts a request as under way. @returns ends it */
  enter(request: IncomingMessage, visit: Visit): () => void {
    this.#visits.set(request, visit);
    const accounts = [...visit.homes.keys()];
    for (const account of accounts) this.#underWay.set(account, (this.#underWay.get(account) ?? 0) + 1);
    return () => {
      for (const account of accounts) {
        const left = (this.#underWay.get(account) ?? 1) - 1;
        if (left > 0) this.#underWay.set(account, left);
        else this.#underWay.delete(account);
      }
      this.#tell();
    };
  }

  /** Waits until something is true of the accounts, at most `ms`. @returns whether it is */
  async #waitFor(isTrue: () => boolean, ms: number): Promise<boolean> {
    const end = monotonicMs() + ms;
    while (!isTrue()) {
      const left = end - monotonicMs();
      if (left <= 0) return false;
      const ended = new AbortController();
      // Looks again in between, because the time of a hold ends without a call.
      const pause = delay(Math.min(left, 250), undefined, { signal: ended.signal }).catch(() => undefined);
      await Promise.race([this.#changed.promise, pause]);
      ended.abort();
    }
    return true;
  }

  /** Waits until an account is not held any more. @returns whether that came within `ms` */
  untilFree(accountId: string, ms: number): Promise<boolean> {
    return this.#waitFor(() => !this.isHeld(accountId), ms);
  }

  /** Waits until no request of an account is under way. @returns whether that came within `ms` */
  untilIdle(accountId: string, ms: number): Promise<boolean> {
    return this.#waitFor(() => !this.#underWay.has(accountId), ms);
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
