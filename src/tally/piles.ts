import { requireThat } from './count-refused.ts';
import { greatestCommonDivisor, largestAbove, WEIGHT_DECIMALS } from './exact.ts';
import type { Rankings } from './rankings.ts';

/** A transfer value of 1: ballots are worth a whole number of hundred-thousandths of themselves. */
export const VALUE_DECIMALS = 5;
export const FULL_VALUE = 10 ** VALUE_DECIMALS;
/** Decimals of a tally by weight: weight in millionths × value in hundred-thousandths. */
export const TALLY_DECIMALS = WEIGHT_DECIMALS + VALUE_DECIMALS;

/** What one transfer moved, by candidate; the entry after the last candidate is what found nobody. */
export interface Passed {
  readonly weight: bigint[];
  readonly heads: bigint[];
}

/** Ends a list of groups. */
const NONE = -1;

/**
 * Who holds which ballots, during one count. A pile is, for each transfer value in it, a linked list of groups, so that a
 * transfer walks only the ballots that move. Sums run in plain integers: weights are cut into digits ("limbs") small
 * enough that the whole number of heads times a digit stays below 2^53, and are put together as bigint once a transfer.
 * Array accesses are cast because every index comes from the bounds of the array it reads.
 */
export class Piles {
  /** Tallies by candidate: in weight with `TALLY_DECIMALS` decimals, in heads with `VALUE_DECIMALS`. */
  readonly weight: bigint[];
  readonly heads: bigint[];
  /** 1 for the candidates who may still receive ballots. */
  readonly continuing: Uint8Array;
  /** All ballots, those that never named a continuing candidate too; same decimals as the tallies. */
  readonly rankedWeight: bigint;
  readonly rankedHeads: bigint;
  readonly #rankings: Rankings;
  /** The next place to read on each group's ranking. */
  readonly #cursor: Uint16Array;
  readonly #next: Int32Array;
  /** First group of each list, by candidate and transfer value. */
  readonly #lists: Map<number, number>[];
  readonly #limbs: Limbs;

  /** Deals every ballot to its first continuing candidate. */
  constructor(rankings: Rankings, continuing: Uint8Array) {
    const { candidates, size } = rankings;
    this.#rankings = rankings;
    this.continuing = continuing;
    this.weight = new Array<bigint>(candidates).fill(0n);
    this.heads = new Array<bigint>(candidates).fill(0n);
    this.#cursor = new Uint16Array(size);
    this.#next = new Int32Array(size);
    this.#lists = Array.from({ length: candidates }, () => new Map());
    this.#limbs = cutIntoLimbs(rankings);
    let all = NONE;
    for (let group = size - 1; group >= 0; group -= 1) {
      if (rankings.heads[group] !== 0) {
        this.#next[group] = all;
        all = group;
      }
    }
    const dealt = this.#passLists(new Map([[FULL_VALUE, all]]), (value) => value);
    this.#credit(dealt);
    this.rankedWeight = dealt.weight.reduce((sum, weight) => sum + weight, 0n);
    this.rankedHeads = dealt.heads.reduce((sum, heads) => sum + heads, 0n);
  }

  /**
   * Passes all ballots of a candidate, who must not continue, to their next continuing candidates, at the value that
   * `revalue` makes of the old one. The candidate's own tally is left for the caller to set.
   */
  pass(from: number, revalue: (value: number) => number): Passed {
    requireThat(this.continuing[from] === 0, 'a candidate who continues passes no ballots on');
    const lists = this.#lists[from] ?? new Map<number, number>();
    this.#lists[from] = new Map();
    const passed = this.#passLists(lists, revalue);
    this.#credit(passed);
    return passed;
  }

  #passLists(lists: ReadonlyMap<number, number>, revalue: (value: number) => number): Passed {
    const receivers = this.#rankings.candidates + 1;
    const passed: Passed = {
      weight: new Array<bigint>(receivers).fill(0n),
      heads: new Array<bigint>(receivers).fill(0n),
    };
    for (const [value, first] of lists) {
      this.#passList(first, revalue(value), passed);
    }
    return passed;
  }

  #passList(first: number, value: number, passed: Passed): void {
    const nobody = this.#rankings.candidates;
    const firstOf = new Int32Array(nobody + 1).fill(NONE);
    for (const [candidate, lists] of this.#lists.entries()) {
      firstOf[candidate] = lists.get(value) ?? NONE;
    }
    const heads = new Float64Array(nobody + 1);
    const limbs = new Float64Array((nobody + 1) * this.#limbs.count);
    this.#walk(first, firstOf, heads, limbs);
    for (let receiver = 0; receiver <= nobody; receiver += 1) {
      if (receiver < nobody && firstOf[receiver] !== NONE) {
        this.#lists[receiver]?.set(value, firstOf[receiver] as number);
      }
      const worth = BigInt(value);
      passed.heads[receiver] = (passed.heads[receiver] ?? 0n) + BigInt(heads[receiver] ?? 0) * worth;
      passed.weight[receiver] = (passed.weight[receiver] ?? 0n) + this.#limbs.join(limbs, receiver) * worth;
    }
  }

  /** The hot loop: moves each group of a list to the list of its next continuing candidate. */
  #walk(first: number, firstOf: Int32Array, headsOf: Float64Array, limbsOf: Float64Array): void {
    const { cells, starts, heads, weightIndexOf, candidates: nobody } = this.#rankings;
    const { count, ofWeight } = this.#limbs;
    const [cursor, next, continuing] = [this.#cursor, this.#next, this.continuing];
    for (let group = first; group !== NONE; ) {
      const following = next[group] as number;
      const start = starts[group] as number;
      const end = starts[group + 1] as number;
      let cell = start + (cursor[group] as number);
      while (cell < end && continuing[cells[cell] as number] === 0) {
        cell += 1;
      }
      const receiver = cell < end ? (cells[cell] as number) : nobody;
      cursor[group] = cell < end ? cell + 1 - start : end - start;
      next[group] = firstOf[receiver] as number;
      firstOf[receiver] = group;
      const number = heads[group] as number;
      headsOf[receiver] = (headsOf[receiver] as number) + number;
      const weightLimbs = (weightIndexOf[group] as number) * count;
      for (let limb = 0; limb < count; limb += 1) {
        const at = receiver * count + limb;
        limbsOf[at] = (limbsOf[at] as number) + number * (ofWeight[weightLimbs + limb] as number);
      }
      group = following;
    }
  }

  #credit(passed: Passed): void {
    for (let candidate = 0; candidate < this.#rankings.candidates; candidate += 1) {
      this.weight[candidate] = (this.weight[candidate] ?? 0n) + (passed.weight[candidate] ?? 0n);
      this.heads[candidate] = (this.heads[candidate] ?? 0n) + (passed.heads[candidate] ?? 0n);
    }
  }
}

interface Limbs {
  /** Digits of a weight. 1 unless weights are huge beside their number of heads. */
  readonly count: number;
  /** Digits of weight w at `w * count`, the lowest first. */
  readonly ofWeight: Float64Array;
  /** Puts together the sum of digits at `at * count`, as millionths of weight. */
  join(sums: Float64Array, at: number): bigint;
}

/** Cuts the weights, in units of their greatest common divisor, into digits that all heads together cannot overflow. */
function cutIntoLimbs(rankings: Rankings): Limbs {
  const { weights } = rankings;
  const unit = weights.reduce((a, b) => greatestCommonDivisor(a, b), 0n) || 1n;
  const largest = largestAbove(0n, weights) / unit;
  const bits = 53 - Math.ceil(Math.log2(allHeads(rankings) + 1));
  requireThat(bits > 0, 'there are more ballots than the count can hold');
  const count = Math.max(1, Math.ceil(largest.toString(2).length / bits));
  const width = BigInt(bits);
  const ofWeight = new Float64Array(weights.length * count);
  for (const [index, weight] of weights.entries()) {
    for (let limb = 0; limb < count; limb += 1) {
      ofWeight[index * count + limb] = Number(BigInt.asUintN(bits, (weight / unit) >> (BigInt(limb) * width)));
    }
  }
  const join = (sums: Float64Array, at: number): bigint => {
    let joined = 0n;
    for (let limb = count - 1; limb >= 0; limb -= 1) {
      joined = (joined << width) + BigInt(sums[at * count + limb] ?? 0);
    }
    return joined * unit;
  };
  return { count, ofWeight, join };
}

function allHeads(rankings: Rankings): number {
  let all = 0;
  for (let group = 0; group < rankings.size; group += 1) {
    const heads = rankings.heads[group] as number;
    requireThat(heads >= 0, 'a ranking was taken out that was not added');
    all += heads;
  }
  requireThat(Number.isSafeInteger(all), 'there are more ballots than the count can hold');
  return all;
}
