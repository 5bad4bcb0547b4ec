import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from './clock.ts';

const REST = 2;
const MOST_REST_MS = 1_000;

/**
 * How long an account rests after work, in ms: twice as long as the work took, at most `mostMs`. Without the rest, an account could keep
 * the machine busy all the time: its clients could ask again at once, or disconnect before the answer and ask again.
 */
export const restAfter = (tookMs: number, mostMs = MOST_REST_MS): number => Math.min(REST * tookMs, mostMs);

/** Runs the work of a lane (such as an account) one after the other. Callers that ask for the same work before it begins share it. */
export class SharedTurns<Result = unknown> {
  readonly #rests: (result: Result) => boolean;
  readonly #last = new Map<string, Promise<unknown>>();
  /** Shared work that has not begun, by name. */
  readonly #waiting = new Map<string, Promise<unknown>>();

  /**
   * @param rests whether a lane rests (`restAfter`) after a result. The duration does not decide: in a busy process even small work takes
   *   long, and its account would rest because of other accounts' work
   */
  constructor({ rests = () => false }: { readonly rests?: (result: Result) => boolean } = {}) {
    this.#rests = rests;
  }

  /** Runs work after the lane's earlier work has ended, even if that failed. */
  take<Given extends Result>(lane: string, work: () => Promise<Given>): Promise<Given> {
    let began = 0;
    const begin = (): Promise<Given> => {
      began = monotonicMs();
      return work();
    };
    const before = this.#last.get(lane) ?? Promise.resolve();
    const mine = before.then(begin, begin);
    const leave = (): void => {
      if (this.#last.get(lane) === over) this.#last.delete(lane);
    };
    const rest = async (result: Given): Promise<void> => {
      if (this.#rests(result)) await delay(restAfter(monotonicMs() - began), undefined, { ref: false });
      leave();
    };
    const over: Promise<void> = mine.then(rest, leave);
    this.#last.set(lane, over);
    return mine;
  }

  /** Like `take`, but joins work of the same name that has not begun. */
  share<Given extends Result>(lane: string, name: string, work: () => Promise<Given>): Promise<Given> {
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
