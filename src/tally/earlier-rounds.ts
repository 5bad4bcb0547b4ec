/**
 * How candidates stood in the rounds so far, compared by the latest round first: the higher a standing, the
 * higher the tally in the latest round in which two differ. Equal standings mean equal tallies in every round. Kept as one
 * number a candidate, because with a thousand candidates the rounds themselves would be looked through a thousand times.
 */
export class EarlierRounds {
  /** All candidates noted last, lowest standing first. */
  #order: readonly number[];
  #standing: Uint32Array;
  /** The tallies of the round that was noted last. */
  readonly #noted: bigint[];

  constructor(candidates: number) {
    this.#noted = new Array<bigint>(candidates).fill(0n);
    this.#order = Array.from({ length: candidates }, (_, candidate) => candidate);
    this.#standing = new Uint32Array(candidates);
  }

  standing(candidate: number): number {
    return this.#standing[candidate] ?? 0;
  }

  /** Adds a round, later than all before; who is not listed any more is never asked for again. */
  note(listed: readonly number[], tallies: readonly bigint[]): void {
    // A round like the one before it tells nobody apart: with few ballots and many candidates most rounds are.
    const changed = listed.some((candidate) => tallies[candidate] !== this.#noted[candidate]);
    if (!changed) return;
    for (const candidate of listed) this.#noted[candidate] = tallies[candidate] ?? 0n;
    const tally = (candidate: number): bigint => tallies[candidate] ?? 0n;
    const remains = new Set(listed);
    // The sort is stable: among equal tallies the order of the rounds before stays.
    const order = this.#order
      .filter((candidate) => remains.has(candidate))
      .sort((a, b) => (tally(a) < tally(b) ? -1 : tally(a) > tally(b) ? 1 : 0));
    const standing = new Uint32Array(this.#standing.length);
    let level = 0;
    for (const [place, candidate] of order.entries()) {
      const below = order[place - 1];
      if (
        below !== undefined &&
        (tally(below) !== tally(candidate) || this.standing(below) !== this.standing(candidate))
      ) {
        level += 1;
      }
      standing[candidate] = level;
    }
    this.#order = order;
    this.#standing = standing;
  }
}
