import type { Majority } from '#src/ballot-definition/types.ts';
import { MICRO, scaledToDecimal, WEIGHT_DECIMALS } from '#src/platform/decimal.ts';
import type { Margin } from './position-result.ts';

/** The smallest step in which votes change: whole votes where every weight is 1, millionths of weight otherwise. */
export const stepOf = (unitWeights: boolean): bigint => (unitWeights ? MICRO : 1n);

/** The smallest multiple of a step that is at least numerator / denominator. */
export function ceilTo(step: bigint, numerator: bigint, denominator: bigint): bigint {
  const steps = (numerator + denominator * step - 1n) / (denominator * step);
  return steps * step;
}

/** The smallest multiple of a step that is more than numerator / denominator. */
const aboveTo = (step: bigint, numerator: bigint, denominator: bigint): bigint =>
  (numerator / (denominator * step) + 1n) * step;

/** @param exact whether the figure is the margin itself where every weight is 1 */
export function marginOf(micro: bigint, unitWeights: boolean, exact: boolean): Margin {
  const sure = exact && unitWeights;
  return { votes: scaledToDecimal(micro, WEIGHT_DECIMALS), exact: sure, bound: sure ? null : 'lower' };
}

/** A candidate who is level already needs no change. */
export const NO_MARGIN: Margin = { votes: '0', exact: true, bound: null };

/** What decides the winners of a position whose candidates are compared by one figure each. */
interface Contest {
  /** Lowest first is of no matter: figures of the winners, and of the others who could have won. */
  readonly winning: readonly bigint[];
  readonly losing: readonly bigint[];
  readonly seats: number;
  readonly answered: bigint;
  readonly majority: Majority | null;
  /** Whether a sum of nothing can win a seat. */
  readonly zeroMayWin: boolean;
}

/**
 * The least that must change hands before the winners can be others: a changed vote takes from one and gives to another,
 * so it closes twice its weight of a gap. Being level counts, because from there the rule for ties decides.
 */
export function leastChange(contest: Contest, unitWeights: boolean): bigint | undefined {
  const { winning, losing, seats, answered, majority } = contest;
  const step = stepOf(unitWeights);
  const lowest = winning.reduce<bigint | undefined>((a, b) => (a === undefined || b < a ? b : a), undefined);
  const highest = losing.reduce<bigint | undefined>((a, b) => (a === undefined || b > a ? b : a), undefined);
  const changes: bigint[] = [];
  if (majority !== null && lowest !== undefined) {
    const [part, whole] = [BigInt(majority.numerator), BigInt(majority.denominator)];
    // A winner who is brought down to the share has no seat any more.
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
