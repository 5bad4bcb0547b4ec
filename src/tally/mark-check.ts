import { requireThat } from './count-refused.ts';
import type { PositionBallot, TallyPosition } from './types.ts';

/** Refuses a ballot whose entries the position does not allow. One for each count: it remembers where a candidate stood last. */
export class MarkCheck {
  readonly #maxEntries: number;
  /** Number of the checked ballot that named the candidate last; saves clearing a set for every ballot. */
  readonly #lastNamedBy: Float64Array;
  #checked = 0;

  constructor(position: TallyPosition, defaultMaxEntries: number) {
    this.#maxEntries = position.maxSelections ?? defaultMaxEntries;
    this.#lastNamedBy = new Float64Array(position.candidates.length);
  }

  /** Checks everything but the values. */
  require(ballot: PositionBallot, weightMicro: bigint, times: number): void {
    requireThat(weightMicro > 0n, 'a weight must be above zero');
    requireThat(Number.isSafeInteger(times), 'a ballot is counted a whole number of times');
    requireThat(ballot.length <= this.#maxEntries, 'a ballot has more entries than its position allows');
    if (this.#isAscending(ballot)) return;
    this.#checked += 1;
    for (let entry = 0; entry < ballot.length; entry += 1) {
      const candidate = ballot.candidates[entry] ?? -1;
      const lastNamedBy = this.#lastNamedBy[candidate];
      requireThat(lastNamedBy !== undefined, 'a ballot names a candidate who does not stand in its position');
      requireThat(lastNamedBy !== this.#checked, 'a ballot names a candidate twice');
      this.#lastNamedBy[candidate] = this.#checked;
    }
  }

  /** Ballots are stored in the order of their candidates: then none is named twice. */
  #isAscending({ candidates, length }: PositionBallot): boolean {
    let last = -1;
    for (let entry = 0; entry < length; entry += 1) {
      const candidate = candidates[entry] as number;
      if (!(candidate > last && (candidate | 0) === candidate)) return false;
      last = candidate;
    }
    return last < this.#lastNamedBy.length;
  }
}

/** Refuses a ballot with a value that its method forbids. */
export function requireValues(ballot: PositionBallot, isValue: (value: number) => boolean): void {
  for (let entry = 0; entry < ballot.length; entry += 1) {
    requireThat(isValue(ballot.values[entry] ?? Number.NaN), 'a ballot has a value that its method forbids');
  }
}

export function isMark(value: number): boolean {
  return value === 1;
}

export function isPositiveWhole(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0;
}

export function isWhole(value: number): boolean {
  return Number.isSafeInteger(value);
}
