import type { Majority } from '#src/ballot-definition/types.ts';
import { MICRO, scaledToDecimal, WEIGHT_DECIMALS } from '#src/platform/decimal.ts';
import type { Margin } from './position-result.ts';

/** The smallest amount by which votes can change: one vote if every weight is 1, otherwise a millionth of weight. */
export const stepOf = (unitWeights: boolean): bigint => (unitWeights ? MICRO : 1n);

/** The smallest multiple of a step that is not below numerator / denominator. */
export function ceilTo(step: bigint, numerator: bigint, denominator: bigint): bigint {
  const steps = (numerator + denominator * step - 1n) / (denominator * step);
  return steps * step;
}

/** The smallest multiple of a step that is above numerator / denominator. */
const aboveTo = (step: bigint, numerator: bigint, denominator: bigint): bigint =>
  (numerator / (denominator * step) + 1n) * step;

/** @param exact whether `micro` is the exact margin if every weight is 1. In all other cases it is a lower bound. */
export function marginOf(micro: bigint, unitWeights: boolean, exact: boolean): Margin {
  const sure = exact && unitWeights;
  return { votes: scaledToDecimal(micro, WEIGHT_DECIMALS), exact: sure, bound: sure ? null : 'lower' };
}

/** The margin of a tie: another candidate could win without the change of a single vote. */
export const NO_MARGIN: Margin = { votes: '0', exact: true, bound: null };

/** The figures that decide a position in which one sum for each candidate is compared. */
interface Contest {
  /** The figures of the winners and (`losing`) of all other candidates who are not withdrawn, in any order. */
  readonly winning: readonly bigint[];
  readonly losing: readonly bigint[];
  readonly seats: number;
  readonly answered: bigint;
  readonly majority: Majority | null;
  /** Whether a sum of zero can win a seat. */
  readonly zeroMayWin: boolean;
}

/** The least weight of changed votes that changes the winners; a tie suffices. A moved vote closes a gap by twice its weight. */
export function leastChange(contest: Contest, unitWeights: boolean): bigint | undefined {
  const { winning, losing, seats, answered, majority } = contest;
  const step = stepOf(unitWeights);
  const lowest = winning.reduce<bigint | undefined>((a, b) => (a === undefined || b < a ? b : a), undefined);
  const highest = losing.reduce<bigint | undefined>((a, b) => (a === undefined || b > a ? b : a), undefined);
  const changes: bigint[] = [];
  if (majority !== null && lowest !== undefined) {
    const [part, whole] = [BigInt(majority.numerator), BigInt(majority.denominator)];
    // A winner loses the seat when the figure falls to the required share.
    changes.push(ceilTo(step, lowest * whole - answered * part, whole));
  }
  if (highest !== undefined && winning.length < seats) {
    if (majority !== null) {
      const [part, whole] = [BigInt(majority.numerator), BigInt(majority.denominator)];
      changes.push(aboveTo(step, answered * part - highest * whole, whole));
    } else if (!contest.zeroMayWin) changes.push(step);
  } else if (highest !== undefined && lowest !== undefined) {
    changes.push(ceilTo(step, lowest - highest, 2n));
  }
  return changes.reduce<bigint | undefined>((a, b) => (a === undefined || b < a ? b : a), undefined);
}
