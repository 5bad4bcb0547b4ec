import { AsyncLocalStorage } from 'node:async_hooks';
import { RecentMap } from './recent-map.ts';

/** The account ID for which code runs: that of the caller, empty for a request without a key, undefined for the process itself. */
export const whose = new AsyncLocalStorage<string>();

/** Accounts whose last turn is remembered; a forgotten account counts as one that never had a turn. */
const REMEMBERED = 4_000;

/** The account whose last turn is longest ago is next, however many requests other accounts send. */
export class Turns {
  readonly #last = new RecentMap<number>(REMEMBERED);
  #turn = 0;

  took(account: string): void {
    this.#turn += 1;
    this.#last.set(account, this.#turn);
  }

  /** @param waiting accounts in the order of their arrival */
  next(waiting: Iterable<string>): string | undefined {
    let found: { readonly account: string; readonly turn: number } | undefined;
    for (const account of waiting) {
      const turn = this.#last.get(account) ?? 0;
      if (found === undefined || turn < found.turn) found = { account, turn };
    }
    return found?.account;
  }
}
