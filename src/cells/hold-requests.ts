import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { findAccount } from '#src/accounts/repository.ts';
import type { Deps } from '#src/deps.ts';
import { monotonicMs } from '#src/platform/clock.ts';

/** A request that is under way. */
export interface Visit {
  /** The accounts that must not move during the request, with the cells in which they were found. */
  readonly homes: ReadonlyMap<string, Deps>;
  /** A time before these accounts were looked up, by `monotonicMs`. */
  readonly since: number;
}

/** Holds the requests of accounts that move to another cell, and knows when the requests under way have ended. */
export class HeldAccounts {
  /** By account, the time (`monotonicMs`) until which its requests are held. A hold that is not renewed ends; its entry stays. */
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
   * Whether an account of a request has left the cell in which the request reads: the request may have read after the move deleted rows.
   * Queries the databases only for accounts that were held since the request came.
   */
  async hasLeft(request: IncomingMessage): Promise<boolean> {
    const { homes, since } = this.#visits.get(request) ?? { homes: [], since: 0 };
    for (const [account, { db }] of homes)
      if ((this.#until.get(account) ?? 0) >= since && (await findAccount(db, account)) === undefined) return true;
    return false;
  }

  /** Counts a request as under way. @returns a function that ends it */
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

  /** Waits until `isTrue` returns true, at most `ms`. @returns whether it did */
  async #waitFor(isTrue: () => boolean, ms: number): Promise<boolean> {
    const end = monotonicMs() + ms;
    while (!isTrue()) {
      const left = end - monotonicMs();
      if (left <= 0) return false;
      const ended = new AbortController();
      // Check again in between, because a hold can expire without a call.
      const pause = delay(Math.min(left, 250), undefined, { signal: ended.signal }).catch(() => undefined);
      await Promise.race([this.#changed.promise, pause]);
      ended.abort();
    }
    return true;
  }

  /** Waits until an account is not held any more. @returns false if it is still held after `ms` */
  untilFree(accountId: string, ms: number): Promise<boolean> {
    return this.#waitFor(() => !this.isHeld(accountId), ms);
  }

  /** Waits until no request of an account is under way. @returns false if one still is after `ms` */
  untilIdle(accountId: string, ms: number): Promise<boolean> {
    return this.#waitFor(() => !this.#underWay.has(accountId), ms);
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
