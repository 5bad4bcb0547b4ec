import { refuseCount } from './count-refused.ts';
import type { PositionBallot } from './types.ts';

/** Ranks end at the number of candidates, and there are fewer of those than this. */
const MAX_RANK = 2 ** 16;

/** The highest bit above zero that stays clear of the sign. */
const MAX_BIT = 29;

/** Reads ballots' candidates by rank, first choice first; gaps in the ranks close. */
export class RankReader {
  /** The first places hold the ranking that was read last. */
  readonly places: Uint16Array;
  /** By rank: candidate + 1, or 0 where no candidate has the rank. All 0 between two ballots. */
  #candidateAt: Uint16Array;

  constructor(candidates: number) {
    this.places = new Uint16Array(candidates);
    this.#candidateAt = new Uint16Array(candidates + 1);
  }

  read(ballot: PositionBallot): void {
    if (!this.#readWithoutGaps(ballot)) this.#readWithGaps(ballot);
  }

  /**
   * Nearly all ballots: the ranks are 1 to their number, each once, so a rank is a place. One bit a rank shows that, in one pass;
   * false where it is otherwise, or where the bits do not suffice.
   */
  #readWithoutGaps({ candidates, values, length }: PositionBallot): boolean {
    if (length > MAX_BIT) return false;
    const { places } = this;
    let seen = 0;
    for (let entry = 0; entry < length; entry += 1) {
      const rank = values[entry] as number;
      // `| 0` is the number itself for whole numbers of 32 bits alone.
      if (!(rank >= 1 && rank <= length && (rank | 0) === rank)) return false;
      seen |= 1 << rank;
      places[rank - 1] = candidates[entry] as number;
    }
    return seen === (1 << (length + 1)) - 2;
  }

  #readWithGaps(ballot: PositionBallot): void {
    const { places } = this;
    const { candidates, length } = ballot;
    let candidateAt = this.#candidateAt;
    let lowest = 0;
    try {
      for (let entry = 0; entry < length; entry += 1) {
        const rank = rankAt(ballot, entry);
        if (rank >= candidateAt.length) candidateAt = this.#makeRoom(rank);
        if (candidateAt[rank] !== 0) refuseCount('a ballot gives a rank twice');
        candidateAt[rank] = (candidates[entry] as number) + 1;
        if (rank > lowest) lowest = rank;
      }
    } catch (fault) {
      candidateAt.fill(0);
      throw fault;
    }
    let place = 0;
    for (let rank = 1; rank <= lowest; rank += 1) {
      const candidate = candidateAt[rank] as number;
      if (candidate !== 0) {
        places[place] = candidate - 1;
        place += 1;
        // Empty again for the next ballot, which is cheaper than clearing all of it.
        candidateAt[rank] = 0;
      }
    }
  }

  /** Ranks end at the number of candidates, unless ballots were cast when there were more. */
  #makeRoom(rank: number): Uint16Array {
    const larger = new Uint16Array(rank + 1);
    larger.set(this.#candidateAt);
    this.#candidateAt = larger;
    return larger;
  }
}

function rankAt(ballot: PositionBallot, entry: number): number {
  const rank = ballot.values[entry] as number;
  if (!(rank >= 1 && rank <= MAX_RANK && (rank | 0) === rank)) refuseCount('a rank is not a positive whole number');
  return rank;
}
