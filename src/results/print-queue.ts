import { ApiError } from '#src/platform/errors.ts';

/** Reports of one account that may wait or be drawn at once; further ones are asked to come back. */
export const PLACES = 3;
/** Reports of all accounts together: what the memory holds. */
const MAX_WAITING = 60;
const RETRY_SECONDS = 5;

interface Print<T> {
  readonly key: string;
  readonly accountId: string;
  readonly work: (signal: AbortSignal) => Promise<T>;
  readonly controller: AbortController;
  readonly result: Promise<T>;
  readonly start: () => Promise<void>;
  /** Callers who still want it. */
  callers: number;
}

/**
 * One print at a time, the accounts in turn, so that the many reports of one never stand before the first of another. All
 * who ask for the same report share one print; one without a waiting caller is not made, or is broken off.
 */
export class PrintQueue<T> {
  readonly #prints = new Map<string, Print<T>>();
  /** Prints that have not begun, by account; the accounts in the order of their turns. */
  readonly #waiting = new Map<string, Print<T>[]>();
  #busy = false;
  #lastAccount: string | undefined;

  /**
   * @param key what makes two reports the same
   * @param gone aborted when the caller goes away
   * @throws ApiError 429 where the account has as many reports under way as it may; 500 where all accounts together have
   */
  async print(
    accountId: string,
    key: string,
    gone: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const print = this.#prints.get(key) ?? this.#add(accountId, key, work);
    print.callers += 1;
    const leave = (): void => {
      print.callers -= 1;
      if (print.callers === 0) this.#drop(print);
    };
    gone.addEventListener('abort', leave, { once: true });
    if (gone.aborted) leave();
    try {
      return await print.result;
    } finally {
      gone.removeEventListener('abort', leave);
    }
  }

  #add(accountId: string, key: string, work: Print<T>['work']): Print<T> {
    const own = [...this.#prints.values()].filter((print) => print.accountId === accountId).length;
    if (own >= PLACES) {
      const message = `Only ${PLACES} reports of an account are made at once. Retry in a moment.`;
      throw new ApiError('rate_limited', message, undefined, RETRY_SECONDS);
    }
    if (this.#prints.size >= MAX_WAITING)
      throw new ApiError('internal', 'Too many reports are being made. Retry in a moment.', undefined, RETRY_SECONDS);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const controller = new AbortController();
    const start = async (): Promise<void> => {
      try {
        resolve(await work(controller.signal));
      } catch (fault) {
        reject(fault);
      }
    };
    const print: Print<T> = { key, accountId, work, controller, result: promise, start, callers: 0 };
    // Waiting callers get the failure; without any, it is dropped.
    promise.catch(() => undefined);
    controller.signal.addEventListener('abort', () => reject(new Error('nobody waits for this report any more')));
    this.#prints.set(key, print);
    this.#waiting.set(accountId, [...(this.#waiting.get(accountId) ?? []), print]);
    void this.#work();
    return print;
  }

  #drop(print: Print<T>): void {
    if (this.#prints.get(print.key) === print) this.#prints.delete(print.key);
    const waiting = this.#waiting.get(print.accountId)?.filter((other) => other !== print) ?? [];
    if (waiting.length > 0) this.#waiting.set(print.accountId, waiting);
    else this.#waiting.delete(print.accountId);
    print.controller.abort();
  }

  async #work(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    for (let print = this.#next(); print !== undefined; print = this.#next()) {
      await print.start();
      if (this.#prints.get(print.key) === print) this.#prints.delete(print.key);
    }
    this.#busy = false;
  }

  /** The first print of the account whose turn it is: not that of the last one, if another one waits. */
  #next(): Print<T> | undefined {
    const [first, second] = this.#waiting;
    const turn = first?.[0] === this.#lastAccount ? (second ?? first) : first;
    if (turn === undefined) return undefined;
    const [accountId, [print, ...others]] = turn;
    this.#lastAccount = accountId;
    this.#waiting.delete(accountId);
    if (others.length > 0) this.#waiting.set(accountId, others);
    return print;
  }
}
