import { monotonicMs } from '#src/platform/clock.ts';
import { every } from '#src/platform/within.ts';
import { refuse } from './refusals.ts';

/** The order in which requests are shed under load, reads first. Confirms are last: their voters have already cast a ballot. */
export type Urgency = 'read' | 'change' | 'cast' | 'confirm';

interface Pressure {
  /** Requests that wait for a connection to the database. */
  readonly waiting: number;
  /** Requests that are not answered yet. */
  readonly underWay: number;
  /** How late the event loop runs its timers, ms. */
  readonly delayMs: number;
}

/** The pressure up to which each kind of request is admitted. Even at the highest, admitted requests are answered in about a second. */
export const MOST_PRESSURE: Readonly<Record<Urgency, Pressure>> = {
  read: { waiting: 150, underWay: 250, delayMs: 150 },
  change: { waiting: 300, underWay: 500, delayMs: 300 },
  cast: { waiting: 600, underWay: 1_000, delayMs: 600 },
  confirm: { waiting: 1_200, underWay: 2_000, delayMs: 1_200 },
};

/** The urgency of an operation; if it declares none, GET is a read and every other method a change. */
export function urgencyOf({ urgency, method }: { readonly urgency?: Urgency; readonly method: string }): Urgency {
  return urgency ?? (method === 'GET' ? 'read' : 'change');
}

const LOOK_EVERY_MS = 50;
/** A single late timer is normal; this number of late timers in a row shows overload. */
const LOOKS = 4;

/** An admitted request, until it is answered. */
export type Stay = ReturnType<Load['enter']>;

/** At this multiple of `MOST_PRESSURE`, requests of every account are refused. */
const AT_ALL = 2;

/** Refuses requests under overload before any work. Accounts with at least the average under way are refused first. */
export class Load {
  readonly #countWaiting: () => number;
  /** How many requests each account has under way. A request counts once authentication knows its account. */
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

  /** @param accountOf called under pressure only; undefined if unknown @throws ApiError 500, reason `overloaded` */
  enter(urgency: Urgency, accountOf: () => string | undefined) {
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
      /** Call while the request waits for its sender or its turn: it still counts for its account, but not as load. */
      rest: () => {
        this.#underWay -= 1;
      },
      goOn: () => {
        this.#underWay += 1;
      },
      leave: () => add(-1),
      /** Call when authentication knows the account. */
      isOf: (whose: string) => {
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
