import { requireThat } from './count-refused.ts';
import type { PositionBallot } from './types.ts';

/** Ranks end at the number of candidates, and there are fewer of those than this. */
const MAX_RANK = 2 ** 16;

/** Reads ballots' candidates by rank, first choice first; gaps in the ranks close. */
export class RankReader {
  /** The first places hold the ranking that was read last. */
  readonly places: Uint16Array;
  /** By rank: candidate + 1, or 0 where no candidate has the rank. */
  #candidateAt: Uint16Array;

  constructor(candidates: number) {
    this.places = new Uint16Array(candidates);
    this.#candidateAt = new Uint16Array(candidates + 1);
  }

  read(ballot: PositionBallot): void {
    const { places } = this;
    let last = 0;
    for (let entry = 0; entry < ballot.length; entry += 1) {
      const rank = rankAt(ballot, entry);
      if (rank <= last) {
        this.#readInAnyOrder(ballot);
        return;
      }
      last = rank;
      places[entry] = ballot.candidates[entry] as number;
    }
  }

  #readInAnyOrder(ballot: PositionBallot): void {
    this.#candidateAt.fill(0);
    let lowest = 0;
    for (let entry = 0; entry < ballot.length; entry += 1) {
      const rank = rankAt(ballot, entry);
      if (rank >= this.#candidateAt.length) {
        this.#makeRoom(rank);
      }
      requireThat(this.#candidateAt[rank] === 0, 'a ballot gives a rank twice');
      this.#candidateAt[rank] = (ballot.candidates[entry] as number) + 1;
      lowest = Math.max(lowest, rank);
    }
    let place = 0;
    for (let rank = 1; rank <= lowest; rank += 1) {
      const candidate = this.#candidateAt[rank] as number;
      if (candidate !== 0) {
        this.places[place] = candidate - 1;
        place += 1;
      }
    }
  }

  /** Ranks end at the number of candidates, unless ballots were cast when there were more. */
  #makeRoom(rank: number): void {
    const larger = new Uint16Array(rank + 1);
    larger.set(this.#candidateAt);
    this.#candidateAt = larger;
  }
}

function rankAt(ballot: PositionBallot, entry: number): number {
  const rank = ballot.values[entry] ?? Number.NaN;
  requireThat(rank >= 1 && rank <= MAX_RANK && Math.trunc(rank) === rank, 'a rank is not a positive whole number');
  return rank;
}
