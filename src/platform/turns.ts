import { AsyncLocalStorage } from 'node:async_hooks';
import { RecentMap } from './recent-map.ts';

/** The request on whose behalf code runs; undefined for work of the process itself. */
interface Asker {
  /** The ID of the caller's account; empty without a key. */
  readonly account: string;
  /** See `RequestLife`. */
  readonly life?: {
    rest<Value>(wait: Promise<Value>): Promise<Value>;
    join<Value>(statement: Promise<Value>): Promise<Value>;
    restAndBegin<Value>(wait: Promise<Value>): Promise<Value>;
  };
}

export const asker = new AsyncLocalStorage<Asker>();

/** Waits for another server, or for the end of another request. Meanwhile other requests of the account may run. */
export const elsewhere = <Value>(wait: Promise<Value>): Promise<Value> => asker.getStore()?.life?.rest(wait) ?? wait;

/** As `elsewhere`, for a statement that serves many requests at once: its requests still count as load. */
export const together = <Value>(statement: Promise<Value>): Promise<Value> =>
  asker.getStore()?.life?.join(statement) ?? statement;

/**
 * As `elsewhere`, for work that many requests wait for. When it ends, these requests go on a few at a time: all at once would block the
 * event loop.
 */
export const shared = <Value>(wait: Promise<Value>): Promise<Value> =>
  asker.getStore()?.life?.restAndBegin(wait) ?? wait;

/** Accounts whose last turn is remembered; a forgotten account counts as one that never had a turn. */
const REMEMBERED = 4_000;

/** Accounts take turns: the account whose last turn is longest ago is next, however many requests other accounts send. */
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
