import { setTimeout as pause } from 'node:timers/promises';
import type { ApiError } from '#src/platform/errors.ts';

interface PlaceLimits {
  /** Requests of one account at a time. */
  readonly perAccount: number;
  /** Requests of one account that may wait: more would only hold memory until they are refused. */
  readonly maxWaiting: number;
  readonly refusal: () => ApiError;
}

interface Places {
  underWay: number;
  readonly waiting: Set<() => void>;
}

const MAX_WAIT_MS = 2_000;

/** Lets each account have so many requests of a kind under way. More of them wait, and take nothing from other accounts. */
export class AccountPlaces {
  readonly #limits: PlaceLimits;
  readonly #places = new Map<string, Places>();

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /**
   * Takes a place, as soon as there is one.
   * @returns what gives it back
   * @throws ApiError the refusal, after 2 s without a place or at once where too many wait
   */
  async take(account: string): Promise<() => void> {
    const { perAccount, maxWaiting, refusal } = this.#limits;
    const places = this.#places.get(account) ?? { underWay: 0, waiting: new Set() };
    this.#places.set(account, places);
    if (places.underWay < perAccount) places.underWay += 1;
    else if (places.waiting.size >= maxWaiting || !(await this.#wait(places))) throw refusal();
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const [next] = places.waiting;
      // The place goes from hand to hand: no request that comes now gets in between.
      if (next !== undefined) next();
      else if (places.underWay === 1) this.#places.delete(account);
      else places.underWay -= 1;
    };
  }

  async #wait(places: Places): Promise<boolean> {
    const giveUp = new AbortController();
    const turn = Promise.withResolvers<true>();
    const take = (): void => {
      places.waiting.delete(take);
      turn.resolve(true);
    };
    places.waiting.add(take);
    const late = pause(MAX_WAIT_MS, false as const, { signal: giveUp.signal }).catch(() => false as const);
    const came = await Promise.race([turn.promise, late]);
    giveUp.abort();
    // The place may have been handed over at the very end of the time.
    return came || !places.waiting.delete(take);
  }
}
