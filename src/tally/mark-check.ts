import { refuseCount, requireThat } from './exact.ts';
import type { PositionBallot, TallyPosition } from './types.ts';

/** Refuses a ballot whose entries the position does not allow. It numbers the ballots, so each count needs its own instance. */
export class MarkCheck {
  readonly #maxEntries: number;
  /** By candidate: the number of the last ballot that named the candidate. Unlike a set, it need not be cleared for each ballot. */
  readonly #lastNamedBy: Float64Array;
  #checked = 0;

  constructor(position: TallyPosition, defaultMaxEntries: number) {
    this.#maxEntries = position.maxSelections ?? defaultMaxEntries;
    this.#lastNamedBy = new Float64Array(position.candidates.length);
  }

  /** Checks the number of entries, the weight and `times`. */
  requireSize(length: number, weightMicro: bigint, times: number): void {
    requireThat(weightMicro > 0n, 'a weight must be above zero');
    requireThat(Number.isSafeInteger(times), 'a ballot is counted a whole number of times');
    requireThat(length <= this.#maxEntries, 'a ballot has more entries than its position allows');
  }

  /** Checks everything except the values. */
  require(ballot: PositionBallot, weightMicro: bigint, times: number): void {
    this.requireSize(ballot.length, weightMicro, times);
    if (ballot.isAscending === true) return;
    this.#checked += 1;
    for (let entry = 0; entry < ballot.length; entry += 1) {
      const candidate = ballot.candidates[entry] ?? -1;
      const lastNamedBy = this.#lastNamedBy[candidate];
      requireThat(lastNamedBy !== undefined, 'a ballot names a candidate who does not stand in its position');
      requireThat(lastNamedBy !== this.#checked, 'a ballot names a candidate twice');
      this.#lastNamedBy[candidate] = this.#checked;
    }
  }
}

/** The whole numbers that a method allows as values, from `least` to `most`. */
export interface ValueRange {
  readonly least: number;
  readonly most: number;
}

export const MARK: ValueRange = { least: 1, most: 1 };
export const POSITIVE: ValueRange = { least: 1, most: Number.MAX_SAFE_INTEGER };
export const WHOLE_NUMBER: ValueRange = { least: -Number.MAX_SAFE_INTEGER, most: Number.MAX_SAFE_INTEGER };

/** Refuses a ballot with a value that its method forbids. @returns the largest absolute value; 0 without entries */
export function requireValues(ballot: PositionBallot, range: ValueRange): number {
  const { length, lowest, highest } = ballot;
  if (length === 0) return 0;
  if (lowest === undefined || highest === undefined) return requireEach(ballot, range);
  if (!(lowest >= range.least && highest <= range.most)) refuseValue();
  return Math.max(-lowest, highest);
}

function requireEach({ values, length }: PositionBallot, { least, most }: ValueRange): number {
  let largest = 0;
  for (let entry = 0; entry < length; entry += 1) {
    const value = values[entry] as number;
    if (!(value >= least && value <= most && Number.isInteger(value))) refuseValue();
    largest = Math.max(largest, Math.abs(value));
  }
  return largest;
}

const refuseValue = (): never => refuseCount('a ballot has a value that its method forbids');
