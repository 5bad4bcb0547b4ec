import { monotonicMs } from '#src/platform/clock.ts';
import { every } from '#src/platform/within.ts';
import { refuse } from './refusals.ts';

/** The order in which requests are given up when there is too much to do. A confirm is last: all other steps of its voter are done. */
export type Urgency = 'read' | 'change' | 'cast' | 'confirm';

interface Pressure {
  /** Requests that wait for a connection to the database. */
  readonly waiting: number;
  /** Requests that are not answered yet. */
  readonly underWay: number;
  /** How late the process comes to what is due, ms. */
  readonly delayMs: number;
}

/** Up to where each kind of request is taken. The last are such that what was taken is answered within about a second. */
export const MOST_PRESSURE: Readonly<Record<Urgency, Pressure>> = {
  read: { waiting: 150, underWay: 250, delayMs: 150 },
  change: { waiting: 300, underWay: 500, delayMs: 300 },
  cast: { waiting: 600, underWay: 1_000, delayMs: 600 },
  confirm: { waiting: 1_200, underWay: 2_000, delayMs: 1_200 },
};

/** The rank of a route that states none: reads are given up first. */
export function urgencyOf({ urgency, method }: { readonly urgency?: Urgency; readonly method: string }): Urgency {
  return urgency ?? (method === 'GET' ? 'read' : 'change');
}

const LOOK_EVERY_MS = 50;
/** One look is late whenever something takes its time; so many in a row are late where there is too much to do. */
const LOOKS = 4;

/** A request that was taken, until it is answered. */
export interface Stay {
  /** Nothing is done for it for a while: it waits for its sender, or for its turn. */
  rest(): void;
  goOn(): void;
  leave(): void;
  /** It is known by now which account asks. */
  isOf(account: string): void;
}

/** At so many times the most pressure no request is taken, of any account. */
const AT_ALL = 2;

/**
 * Refuses requests that there is no time for, before anything is done for them: what is taken is then answered in time. First those of
 * accounts that have more under way than others on the average.
 */
export class Load {
  readonly #countWaiting: () => number;
  /** How many requests each account has under way. A request counts here once its key is known. */
  readonly #ofAccounts = new Map<string, number>();
  readonly #late: number[] = [];
  #underWay = 0;

  /** @param countWaiting how many requests wait for a connection to the database */
  constructor(countWaiting: () => number) {
    this.#countWaiting = countWaiting;
  }

  start(signal: AbortSignal): void {
    let due = monotonicMs() + LOOK_EVERY_MS;
    every(LOOK_EVERY_MS, signal, () => {
      const now = monotonicMs();
      this.#late.push(now - due);
      if (this.#late.length > LOOKS) this.#late.shift();
      due = now + LOOK_EVERY_MS;
    });
  }

  pressure(): Pressure {
    const delayMs = this.#late.length < LOOKS ? 0 : Math.max(0, Math.min(...this.#late));
    return { waiting: this.#countWaiting(), underWay: this.#underWay, delayMs };
  }

  /**
   * Takes a request, or refuses it.
   * @param accountOf says whose it is, as far as that is known; asked under pressure alone
   * @throws ApiError 500 `internal`, reason `overloaded`, with `Retry-After`
   */
  enter(urgency: Urgency, accountOf: () => string | undefined): Stay {
    const [now, most] = [this.pressure(), MOST_PRESSURE[urgency]];
    const share = Math.max(now.waiting / most.waiting, now.underWay / most.underWay, now.delayMs / most.delayMs);
    if (share >= AT_ALL || (share >= 1 && this.#isAboveAverage(accountOf()))) throw refuse('overloaded');
    let account: string | undefined;
    const add = (by: 1 | -1): void => {
      this.#underWay += by;
      if (account === undefined) return;
      const own = (this.#ofAccounts.get(account) ?? 0) + by;
      if (own === 0) this.#ofAccounts.delete(account);
      else this.#ofAccounts.set(account, own);
    };
    add(1);
    return {
      rest: () => add(-1),
      goOn: () => add(1),
      leave: () => add(-1),
      isOf: (whose) => {
        add(-1);
        account = whose;
        add(1);
      },
    };
  }

  #isAboveAverage(account: string | undefined): boolean {
    if (account === undefined || this.#ofAccounts.size === 0) return true;
    const sum = this.#ofAccounts.values().reduce((all, own) => all + own, 0);
    return (this.#ofAccounts.get(account) ?? 0) >= sum / this.#ofAccounts.size;
  }
}
