import { greatestCommonDivisor, scaledToDecimal, WEIGHT_DECIMALS } from '#src/platform/decimal.ts';
import { BitCounts } from './bit-counts.ts';
import { largestOf } from './exact.ts';
import type { Pairwise } from './position-result.ts';
import type { Rankings } from './rankings.ts';
import type { TallyPosition } from './types.ts';

/** Most candidates to compare: the table grows with their square, and the work with the square times the ballots. */
export const MAX_PAIRWISE = 50;

/** For each pair, the weight of ballots that rank one above the other (unnamed is last). Null above `MAX_PAIRWISE`, or without ballots. */
export function comparePairs(position: TallyPosition, rankings: Rankings): Pairwise | null {
  const standing = [...position.candidates.keys()].filter((index) => position.candidates[index]?.withdrawn === false);
  if (standing.length > MAX_PAIRWISE || rankings.size === 0) return null;
  const placeOf = new Int16Array(position.candidates.length + 1).fill(-1);
  for (const [place, candidate] of standing.entries()) placeOf[candidate] = place;
  const { named, above } = sumPairs(rankings, standing.length, placeOf);
  if (named.every((weight) => weight === 0n)) return null;
  const size = standing.length;
  // A ballot ranks `one` over `other` if it names `one` and does not rank `other` above `one`.
  const over = (one: number, other: number): bigint =>
    one === other ? 0n : (named[one] ?? 0n) - (above[other * size + one] ?? 0n);
  const id = (place: number): string => position.candidates[standing[place] ?? -1]?.id ?? '';
  const places = standing.map((_, place) => place);
  const condorcet = places.find((one) => places.every((other) => one === other || over(one, other) > over(other, one)));
  return {
    candidateIds: places.map(id),
    table: places.map((one) => places.map((other) => scaledToDecimal(over(one, other), WEIGHT_DECIMALS))),
    condorcetWinner: condorcet === undefined ? null : id(condorcet),
  };
}

/** Weights in millionths: `named[one]` of ballots that name `one`, `above[one * size + other]` of ballots that rank `one` above `other`. */
function sumPairs(rankings: Rankings, size: number, placeOf: Int16Array) {
  const { weights } = rankings;
  const unit = weights.reduce(greatestCommonDivisor, 0n) || 1n;
  let heads = 0;
  for (let group = 0; group < rankings.size; group += 1) heads += Math.abs(rankings.heads[group] as number);
  const largest = largestOf(weights) / unit;
  const plain = BigInt(heads) * largest <= BigInt(Number.MAX_SAFE_INTEGER);
  return plain ? sumPlain(rankings, size, placeOf, unit) : sumWide(rankings, size, placeOf);
}

/** Sums weights as plain numbers, in units of their greatest common divisor. The caller has checked that no sum exceeds 2^53 − 1. */
function sumPlain(rankings: Rankings, size: number, placeOf: Int16Array, unit: bigint) {
  const { cells, starts, heads, weightIndexOf, candidates } = rankings;
  const worthOf = Float64Array.from(rankings.weights, (weight) => Number(weight / unit));
  const named = new Float64Array(size);
  const above = new Float64Array(size * size);
  const seen = new Int16Array(size);
  const singles = size <= MASK_BITS ? new SinglePairs(rankings, size, placeOf) : undefined;
  for (let group = 0; group < rankings.size; group += 1) {
    if (singles !== undefined && heads[group] === 1 && weightIndexOf[group] === 0) {
      singles.add(starts[group] as number);
      continue;
    }
    const worth = (heads[group] as number) * (worthOf[weightIndexOf[group] as number] as number);
    let count = 0;
    for (let cell = starts[group] as number; cells[cell] !== candidates; cell += 1) {
      const place = placeOf[cells[cell] as number] as number;
      if (place < 0) continue;
      named[place] = (named[place] as number) + worth;
      for (let earlier = 0; earlier < count; earlier += 1) {
        const at = (seen[earlier] as number) * size + place;
        above[at] = (above[at] as number) + worth;
      }
      seen[count] = place;
      count += 1;
    }
  }
  singles?.addTo(named, above, worthOf[0] as number);
  const exact = (sums: Float64Array): bigint[] => Array.from(sums, (sum) => BigInt(sum) * unit);
  return { named: exact(named), above: exact(above) };
}

/** Bits of a mask, and so the most candidates that fit. */
const MASK_BITS = 32;

/** Compares pairs by masks of candidates, for groups of one ballot with the first weight. Often nearly all groups are such. */
class SinglePairs {
  readonly #cells: Rankings['cells'];
  readonly #end: number;
  readonly #size: number;
  readonly #placeOf: Int16Array;
  readonly #counts: BitCounts;

  constructor({ cells, candidates }: Rankings, size: number, placeOf: Int16Array) {
    this.#cells = cells;
    this.#end = candidates;
    this.#size = size;
    this.#placeOf = placeOf;
    this.#counts = new BitCounts(size + 1);
  }

  /** @param start index of the ballot's first cell */
  add(start: number): void {
    const [cells, end, placeOf] = [this.#cells, this.#end, this.#placeOf];
    const column = this.#counts.next();
    const { waiting, stride } = this.#counts;
    let above = 0;
    for (let cell = start; cells[cell] !== end; cell += 1) {
      const place = placeOf[cells[cell] as number] as number;
      if (place < 0) continue;
      waiting[place * stride + column] = above;
      above |= 1 << place;
    }
    waiting[this.#size * stride + column] = above;
  }

  addTo(named: Float64Array, above: Float64Array, worth: number): void {
    const size = this.#size;
    for (let one = 0; one < size; one += 1) {
      named[one] = (named[one] as number) + this.#counts.count(size, one) * worth;
      for (let other = 0; other < size; other += 1) {
        const at = one * size + other;
        above[at] = (above[at] as number) + this.#counts.count(other, one) * worth;
      }
    }
  }
}

function sumWide(rankings: Rankings, size: number, placeOf: Int16Array) {
  const { cells, starts, heads, weightIndexOf, weights, candidates } = rankings;
  const named = new Array<bigint>(size).fill(0n);
  const above = new Array<bigint>(size * size).fill(0n);
  for (let group = 0; group < rankings.size; group += 1) {
    const worth = BigInt(heads[group] as number) * (weights[weightIndexOf[group] as number] ?? 0n);
    const seen: number[] = [];
    for (let cell = starts[group] as number; cells[cell] !== candidates; cell += 1) {
      const place = placeOf[cells[cell] as number] as number;
      if (place < 0) continue;
      named[place] = (named[place] ?? 0n) + worth;
      for (const earlier of seen) above[earlier * size + place] = (above[earlier * size + place] ?? 0n) + worth;
      seen.push(place);
    }
  }
  return { named, above };
}
