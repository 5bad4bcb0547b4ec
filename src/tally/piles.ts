import { requireThat } from './count-refused.ts';
import { greatestCommonDivisor, largestAbove, WEIGHT_DECIMALS } from './exact.ts';
import type { Rankings } from './rankings.ts';

/** Ballots are worth a whole number of hundred-thousandths of themselves. */
export const VALUE_DECIMALS = 5;
const FULL_VALUE = 10 ** VALUE_DECIMALS;
/** Decimals of a tally by weight: weight in millionths × value in hundred-thousandths. */
export const TALLY_DECIMALS = WEIGHT_DECIMALS + VALUE_DECIMALS;

/** What one transfer moved, by candidate; the entry after the last candidate is what found nobody. */
export interface Passed {
  readonly weight: bigint[];
  readonly heads: bigint[];
}

/** The groups of one pile, in one piece for each transfer that brought some. */
type Pieces = Int32Array[];

/**
 * Who holds which ballots, during one count. A pile keeps its groups by transfer value, so that a transfer touches only
 * the ballots that move. Sums run in plain integers: weights are cut into digits ("limbs") small enough that the whole
 * number of heads times a digit stays below 2^53, and are put together as bigint once a transfer.
 * Array accesses are cast because every index comes from the bounds of the array it reads.
 */
export class Piles {
  /** Tallies by candidate: in weight with `TALLY_DECIMALS` decimals, in heads with `VALUE_DECIMALS`. */
  readonly weight: bigint[];
  readonly heads: bigint[];
  /** All ballots, those that never named a continuing candidate too; same decimals as the tallies. */
  readonly rankedWeight: bigint;
  readonly rankedHeads: bigint;
  readonly #rankings: Rankings;
  /** 1 for the candidates who may receive ballots, and for the number that ends a ranking: nobody. */
  readonly #receives: Uint8Array;
  /** The next cell to read of each group. */
  readonly #cursor: Uint32Array;
  /** By candidate and transfer value. */
  readonly #piles: Map<number, Pieces>[];
  readonly #limbs: Limbs;

  /** Deals every ballot to its first candidate who is not withdrawn. */
  constructor(rankings: Rankings, withdrawn: readonly boolean[]) {
    const { candidates, size } = rankings;
    this.#rankings = rankings;
    this.#receives = Uint8Array.from([...withdrawn, false], (out) => (out ? 0 : 1));
    this.#cursor = rankings.starts.slice(0, size);
    this.#piles = Array.from({ length: candidates }, () => new Map());
    this.#limbs = cutIntoLimbs(rankings);
    this.weight = new Array<bigint>(candidates).fill(0n);
    this.heads = new Array<bigint>(candidates).fill(0n);
    const everyGroup = Int32Array.from({ length: size }, (_, group) => group);
    const dealt = this.#passPile(new Map([[FULL_VALUE, [everyGroup]]]), (value) => value);
    requireThat(!dealt.heads.some((heads) => heads < 0n), 'more ballots were taken out than added');
    this.rankedWeight = dealt.weight.reduce((sum, weight) => sum + weight, 0n);
    this.rankedHeads = dealt.heads.reduce((sum, heads) => sum + heads, 0n);
  }

  continues(candidate: number): boolean {
    return this.#receives[candidate] === 1;
  }

  /** From now on the candidate receives nothing: elected, or eliminated. */
  close(candidate: number): void {
    this.#receives[candidate] = 0;
  }

  /**
   * Passes all ballots of a closed candidate to their next continuing candidates, at the value that `revalue` makes of
   * the old one. The candidate's own tally is left for the caller to set.
   */
  pass(from: number, revalue: (value: number) => number): Passed {
    requireThat(!this.continues(from), 'a candidate who continues passes no ballots on');
    const pile = this.#piles[from] ?? new Map<number, Pieces>();
    this.#piles[from] = new Map();
    return this.#passPile(pile, revalue);
  }

  #passPile(pile: ReadonlyMap<number, Pieces>, revalue: (value: number) => number): Passed {
    const receivers = this.#rankings.candidates + 1;
    const passed: Passed = {
      weight: new Array<bigint>(receivers).fill(0n),
      heads: new Array<bigint>(receivers).fill(0n),
    };
    for (const [value, pieces] of pile) {
      this.#passPieces(pieces, revalue(value), passed);
    }
    for (let candidate = 0; candidate < this.#rankings.candidates; candidate += 1) {
      this.weight[candidate] = (this.weight[candidate] ?? 0n) + (passed.weight[candidate] ?? 0n);
      this.heads[candidate] = (this.heads[candidate] ?? 0n) + (passed.heads[candidate] ?? 0n);
    }
    return passed;
  }

  #passPieces(pieces: Pieces, value: number, passed: Passed): void {
    const receivers = this.#rankings.candidates + 1;
    const heads = new Float64Array(receivers);
    const limbs = new Float64Array(receivers * this.#limbs.count);
    for (const piece of pieces) {
      const receiverOf = new Uint16Array(piece.length);
      const groups = this.#findReceivers(piece, receiverOf, heads, limbs);
      this.#handOver(piece, receiverOf, groups, value);
    }
    const worth = BigInt(value);
    for (let receiver = 0; receiver < receivers; receiver += 1) {
      passed.heads[receiver] = (passed.heads[receiver] ?? 0n) + BigInt(heads[receiver] ?? 0) * worth;
      passed.weight[receiver] = (passed.weight[receiver] ?? 0n) + this.#limbs.join(limbs, receiver) * worth;
    }
  }

  /** The hot loop: reads on in each group's ranking, adds it up for its receiver, and counts the groups of each. */
  #findReceivers(
    piece: Int32Array,
    receiverOf: Uint16Array,
    headsOf: Float64Array,
    limbsOf: Float64Array,
  ): Uint32Array {
    const { cells, heads, weightIndexOf } = this.#rankings;
    const { count, ofWeight } = this.#limbs;
    const [cursor, receives] = [this.#cursor, this.#receives];
    const groupsOf = new Uint32Array(headsOf.length);
    for (let index = 0; index < piece.length; index += 1) {
      const group = piece[index] as number;
      let cell = cursor[group] as number;
      while (receives[cells[cell] as number] === 0) {
        cell += 1;
      }
      const receiver = cells[cell] as number;
      cursor[group] = cell + 1;
      receiverOf[index] = receiver;
      groupsOf[receiver] = (groupsOf[receiver] as number) + 1;
      const number = heads[group] as number;
      headsOf[receiver] = (headsOf[receiver] as number) + number;
      const weight = (weightIndexOf[group] as number) * count;
      for (let limb = 0; limb < count; limb += 1) {
        const at = receiver * count + limb;
        limbsOf[at] = (limbsOf[at] as number) + number * (ofWeight[weight + limb] as number);
      }
    }
    return groupsOf;
  }

  /** Puts the groups on their receivers' piles. Exhausted ones are on no pile any more. */
  #handOver(piece: Int32Array, receiverOf: Uint16Array, groupsOf: Uint32Array, value: number): void {
    const handed = Array.from(groupsOf, (groups) => new Int32Array(groups));
    const filled = new Uint32Array(groupsOf.length);
    for (let index = 0; index < piece.length; index += 1) {
      const receiver = receiverOf[index] as number;
      const place = filled[receiver] as number;
      (handed[receiver] as Int32Array)[place] = piece[index] as number;
      filled[receiver] = place + 1;
    }
    for (const [receiver, pile] of this.#piles.entries()) {
      const groups = handed[receiver];
      if (groups !== undefined && groups.length > 0) {
        const pieces = pile.get(value);
        if (pieces === undefined) {
          pile.set(value, [groups]);
        } else {
          pieces.push(groups);
        }
      }
    }
  }
}

interface Limbs {
  /** Digits of a weight. 1 unless weights are huge beside the number of heads. */
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
  const bits = 53 - Math.ceil(Math.log2(headsMoved(rankings) + 1));
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

/** Heads of all groups, those taken out counted too: no sum of heads is larger. */
function headsMoved(rankings: Rankings): number {
  let heads = 0;
  for (let group = 0; group < rankings.size; group += 1) {
    heads += Math.abs(rankings.heads[group] as number);
  }
  return heads;
}
