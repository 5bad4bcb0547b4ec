import { AsyncLocalStorage } from 'node:async_hooks';
import { RecentMap } from './recent-map.ts';

/** The account for which something is done: the ID of the caller's, empty for a stranger; undefined for the process itself. */
export const whose = new AsyncLocalStorage<string>();

/** Accounts whose last turn is remembered: who was forgotten counts as one who never had a turn. */
const REMEMBERED = 4_000;

/**
 * Whose turn it is: the account that had its last one longest ago. However many accounts ask without end, one that comes now and
 * then is next when a place is free.
 */
export class Turns {
  readonly #last = new RecentMap<number>(REMEMBERED);
  #turn = 0;

  took(account: string): void {
    this.#turn += 1;
    this.#last.set(account, this.#turn);
  }

  /** @param waiting in the order in which they came */
  next(waiting: Iterable<string>): string | undefined {
    let found: { readonly account: string; readonly turn: number } | undefined;
    for (const account of waiting) {
      const turn = this.#last.get(account) ?? 0;
      if (found === undefined || turn < found.turn) found = { account, turn };
    }
    return found?.account;
  }
}
