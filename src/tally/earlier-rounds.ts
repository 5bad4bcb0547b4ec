/** A candidate's different tallies, earliest first, and the round in which each tally began. */
interface History {
  readonly rounds: number[];
  readonly tallies: bigint[];
}

/** The candidates' tallies in all rounds so far. Only changes are stored, because all tallies of all rounds would take too much memory. */
export class EarlierRounds {
  readonly #histories: readonly History[];
  #round = 0;

  constructor(candidates: number) {
    this.#histories = Array.from({ length: candidates }, () => ({ rounds: [], tallies: [] }));
  }

  /** Adds the next round. @param listed the candidates whose tallies later ties may need */
  note(listed: readonly number[], tallies: readonly bigint[]): void {
    this.#round += 1;
    for (const candidate of listed) {
      const history = this.#histories[candidate];
      const tally = tallies[candidate] ?? 0n;
      if (history === undefined || history.tallies.at(-1) === tally) continue;
      history.rounds.push(this.#round);
      history.tallies.push(tally);
    }
  }

  /** The candidates with the lowest (`sign` -1) or highest (1) tally in the latest round in which the candidates' tallies differ. */
  best(candidates: readonly number[], sign: -1 | 1): number[] {
    let best: number[] = [];
    for (const candidate of candidates) {
      const order = best[0] === undefined ? 1 : this.#compare(candidate, best[0]) * sign;
      if (order > 0) best = [candidate];
      else if (order === 0) best.push(candidate);
    }
    return best;
  }

  /** Negative if `one` had the lower tally in the latest round in which the tallies differ; 0 if they never differ. */
  #compare(one: number, other: number): number {
    const [mine, theirs] = [this.#histories[one], this.#histories[other]];
    if (mine === undefined || theirs === undefined) return 0;
    let [at, against] = [mine.rounds.length - 1, theirs.rounds.length - 1];
    while (at >= 0 && against >= 0) {
      const [tally, their] = [mine.tallies[at] ?? 0n, theirs.tallies[against] ?? 0n];
      if (tally !== their) return tally < their ? -1 : 1;
      // The tallies have been equal since the later of the two changes: compare the tallies before this change.
      const [since, sinceThen] = [mine.rounds[at] ?? 0, theirs.rounds[against] ?? 0];
      if (since >= sinceThen) at -= 1;
      if (sinceThen >= since) against -= 1;
    }
    return 0;
  }
}
