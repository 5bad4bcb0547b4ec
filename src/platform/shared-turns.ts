/** Runs the work of a lane one after the other. Callers that ask for the same work before it begins share it. */
export class SharedTurns {
  readonly #last = new Map<string, Promise<unknown>>();
  /** Shared work that has not begun, by name. */
  readonly #waiting = new Map<string, Promise<unknown>>();

  /** Runs work after all earlier work of the lane has ended, even with an error. */
  async take<Given>(lane: string, work: () => Promise<Given>): Promise<Given> {
    const before = this.#last.get(lane) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(lane, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(lane) === mine) this.#last.delete(lane);
    }
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
