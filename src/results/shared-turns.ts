/** Work that goes one after the other in each lane. Those who ask for the same before it begins share it. */
export class SharedTurns {
  readonly #last = new Map<string, Promise<unknown>>();
  /** What was asked for and has not begun. */
  readonly #waiting = new Map<string, Promise<unknown>>();

  /** Begins once all that was asked for in the lane before has ended, however it did. */
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

  /** The same with all others who ask for what has this name. */
  share<Given>(lane: string, name: string, work: () => Promise<Given>): Promise<Given> {
    const waiting = this.#waiting.get(name);
    // Whatever has one name gives the same.
    if (waiting !== undefined) return waiting as Promise<Given>;
    const mine = this.take(lane, () => {
      this.#waiting.delete(name);
      return work();
    });
    this.#waiting.set(name, mine);
    return mine;
  }
}
