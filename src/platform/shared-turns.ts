import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from './clock.ts';

const REST = 2;
const MOST_REST_MS = 1_000;
/** A lane does not rest after work that took less. */
const SMALL_MS = 20;

/**
 * How long an account rests after work, ms: twice as long as the work took, at most `mostMs`. Otherwise an account whose clients ask
 * again at once, or leave before they are answered, would keep the machine busy all the time.
 */
export const restAfter = (tookMs: number, mostMs = MOST_REST_MS): number => Math.min(REST * tookMs, mostMs);

/** Runs the work of a lane one after the other. Callers that ask for the same work before it begins share it. */
export class SharedTurns {
  readonly #rests: boolean;
  readonly #last = new Map<string, Promise<unknown>>();
  /** Shared work that has not begun, by name. */
  readonly #waiting = new Map<string, Promise<unknown>>();

  /** @param rests whether a lane rests after long work (`restAfter`) */
  constructor({ rests = false } = {}) {
    this.#rests = rests;
  }

  /** Runs work after all earlier work of the lane has ended, even with an error. */
  take<Given>(lane: string, work: () => Promise<Given>): Promise<Given> {
    let began = 0;
    const begin = (): Promise<Given> => {
      began = monotonicMs();
      return work();
    };
    const before = this.#last.get(lane) ?? Promise.resolve();
    const mine = before.then(begin, begin);
    const rest = async (): Promise<void> => {
      const ms = monotonicMs() - began;
      if (this.#rests && ms > SMALL_MS) await delay(restAfter(ms), undefined, { ref: false });
      if (this.#last.get(lane) === over) this.#last.delete(lane);
    };
    const over = mine.then(rest, rest);
    this.#last.set(lane, over);
    return mine;
  }

  /** Like `take`, but joins work of the same name that has not begun. */
  share<Given>(lane: string, name: string, work: () => Promise<Given>): Promise<Given> {
    const waiting = this.#waiting.get(name);
    // Work of one name has one result type.
    if (waiting !== undefined) return waiting as Promise<Given>;
    const mine = this.take(lane, () => {
      this.#waiting.delete(name);
      return work();
    });
    this.#waiting.set(name, mine);
    return mine;
  }
}
