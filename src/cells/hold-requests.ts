import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '#src/platform/clock.ts';

/** Holds the requests of accounts that move to another cell, and knows when those under way have ended. */
export class HeldAccounts {
  /** Until when requests are held, by account and `monotonicMs`: a hold that is not renewed ends. */
  readonly #until = new Map<string, number>();
  readonly #underWay = new Map<string, number>();
  #changed = Promise.withResolvers<void>();

  hold(accountId: string, ms: number): void {
    this.#until.set(accountId, monotonicMs() + ms);
  }

  release(accountId: string): void {
    this.#until.delete(accountId);
    this.#tell();
  }

  isHeld(accountId: string): boolean {
    const until = this.#until.get(accountId);
    if (until === undefined) return false;
    if (monotonicMs() < until) return true;
    this.#until.delete(accountId);
    return false;
  }

  /** Counts a request of some accounts as under way. @returns ends it */
  enter(accounts: readonly string[]): () => void {
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
