import { monotonicMs } from '#src/platform/clock.ts';
import { refuse } from './refusals.ts';

/** The order in which requests are given up when there is too much to do. A confirm is last: all other steps of its voter are done. */
export type Urgency = 'read' | 'change' | 'cast' | 'confirm';

/** How much there is to do. */
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
}

/** Refuses requests that there is no time for, before anything is done for them: what is taken is then answered in time. */
export class Load {
  readonly #countWaiting: () => number;
  readonly #late: number[] = [];
  #underWay = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param countWaiting how many requests wait for a connection to the database */
  constructor(countWaiting: () => number) {
    this.#countWaiting = countWaiting;
  }

  start(): void {
    let due = monotonicMs() + LOOK_EVERY_MS;
    this.#timer = setInterval(() => {
      const now = monotonicMs();
      this.#late.push(now - due);
      if (this.#late.length > LOOKS) this.#late.shift();
      due = now + LOOK_EVERY_MS;
    }, LOOK_EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  pressure(): Pressure {
    const delayMs = this.#late.length < LOOKS ? 0 : Math.max(0, Math.min(...this.#late));
    return { waiting: this.#countWaiting(), underWay: this.#underWay, delayMs };
  }

  /**
   * Takes a request, or refuses it.
   * @throws ApiError 500 `internal`, reason `overloaded`, with `Retry-After`
   */
  enter(urgency: Urgency): Stay {
    const [now, most] = [this.pressure(), MOST_PRESSURE[urgency]];
    if (now.waiting >= most.waiting || now.underWay >= most.underWay || now.delayMs >= most.delayMs)
      throw refuse('overloaded');
    const goOn = (): void => {
      this.#underWay += 1;
    };
    const rest = (): void => {
      this.#underWay -= 1;
    };
    goOn();
    return { rest, goOn, leave: rest };
  }
}
