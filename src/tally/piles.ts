import { greatestCommonDivisor, WEIGHT_DECIMALS } from '#src/platform/decimal.ts';
import { largestOf, requireThat } from './exact.ts';
import type { Rankings } from './rankings.ts';

/** A ballot's transfer value is a whole number of hundred-thousandths. */
export const VALUE_DECIMALS = 5;
const FULL_VALUE = 10 ** VALUE_DECIMALS;
/** Decimals of a tally by weight: weight in millionths × value in hundred-thousandths. */
export const TALLY_DECIMALS = WEIGHT_DECIMALS + VALUE_DECIMALS;

/** What one transfer moved to a receiver: a candidate, or the number after the last candidate, which stands for exhausted ballots. */
interface Received {
  readonly to: number;
  readonly weight: bigint;
  readonly heads: bigint;
}

/** One entry for each receiver of ballots, in ascending order of `to`. */
export type Passed = readonly Received[];

/** From this number of candidates on, a transfer follows a linked list of the candidate's groups; below, it scans all groups. */
const LISTED_FROM = 64;
/** Groups that are scanned as one batch, so few that the batch's arrays stay in the processor's cache. */
const MOVED_TOGETHER = 2_048;

/**
 * Which candidate has each ballot during one count (the ballot's "holder"). Equal ballots are one group (`Rankings`). With few candidates,
 * a transfer scans all groups in order, which is far cheaper than random access through a list. With many, lists are faster, because a
 * thousand eliminations would scan all groups a thousand times. Sums are plain numbers, which are faster than bigints: each weight is split
 * into digits ("limbs") so small that no sum reaches 2^53, and a transfer joins the sums to bigints at its end. Array accesses are cast:
 * every index is within the bounds of its array.
 */
export class Piles {
  /** Tallies by candidate: sums of weight with `TALLY_DECIMALS` decimals, numbers of ballots ("heads") with `VALUE_DECIMALS`. */
  readonly weight: bigint[];
  readonly heads: bigint[];
  /** Weight and number of all ballots, including ballots that rank only withdrawn candidates. Decimals as above. */
  readonly rankedWeight: bigint;
  readonly rankedHeads: bigint;
  readonly #rankings: Rankings;
  /** 1 for a candidate who may receive ballots, and for the number that ends a ranking, which receives exhausted ballots. */
  readonly #receives: Uint8Array;
  /** By group: its holder, which is a candidate or the number that ends a ranking. */
  readonly #holder: Uint8Array | Uint16Array;
  /** By group: index in `Rankings.cells` of the cell that names its holder. */
  readonly #cursor: Uint32Array;
  /** By group: its transfer value. Undefined while all groups have the full value. */
  #values: Uint32Array | undefined;
  readonly #limbs: ReturnType<typeof cutIntoLimbs>;
  /** Linked lists of each holder's groups: the first group, and the next after each group (-1 = end). Undefined with few candidates. */
  readonly #lists: { readonly first: Int32Array; readonly next: Int32Array } | undefined;
  /** Whether every group is a single ballot of the first weight, for example because all ballots differ. */
  readonly #areSingles: boolean;
  /** Sums of the current move; all are 0 between two moves. */
  readonly #sums: Sums;
  /** One batch of groups: the groups, the cells that name their holders, and the candidates in these cells. */
  readonly #batch = {
    groups: new Uint32Array(MOVED_TOGETHER),
    cursors: new Uint32Array(MOVED_TOGETHER),
    choices: new Uint16Array(MOVED_TOGETHER),
  };

  /** Gives every ballot to its first candidate who is not withdrawn. */
  constructor(rankings: Rankings, withdrawn: readonly boolean[]) {
    const { candidates, size } = rankings;
    this.#rankings = rankings;
    this.#receives = Uint8Array.from([...withdrawn, false], (out) => (out ? 0 : 1));
    this.#holder = candidates < 256 ? new Uint8Array(size) : new Uint16Array(size);
    this.#cursor = rankings.starts.slice(0, size);
    this.#limbs = cutIntoLimbs(rankings);
    this.weight = new Array<bigint>(candidates).fill(0n);
    this.heads = new Array<bigint>(candidates).fill(0n);
    const receivers = candidates + 1;
    this.#sums = {
      heads: new Float64Array(receivers),
      limbs: new Float64Array(receivers * this.#limbs.count),
      touched: new Uint8Array(receivers),
      singles: new Float64Array(receivers),
    };
    this.#lists =
      candidates < LISTED_FROM
        ? undefined
        : { first: new Int32Array(receivers).fill(-1), next: new Int32Array(size).fill(-1) };
    this.#areSingles = areSingles(rankings);
    // The array of holders starts with zeros, so candidate 0 holds all groups until this move.
    if (this.#lists === undefined) this.#moveHeld(0);
    else for (let group = 0; group < size; group += 1) this.#moveGroup(group);
    const dealt = this.#credit();
    requireThat(!dealt.some(({ heads }) => heads < 0n), 'more ballots were taken out than added');
    this.rankedWeight = dealt.reduce((sum, { weight }) => sum + weight, 0n);
    this.rankedHeads = dealt.reduce((sum, { heads }) => sum + heads, 0n);
  }

  continues(candidate: number): boolean {
    return this.#receives[candidate] === 1;
  }

  /** Stops transfers to a candidate who was elected or eliminated. */
  close(candidate: number): void {
    this.#receives[candidate] = 0;
  }

  /** Passes on all ballots of a closed candidate at their present value. The caller sets the candidate's own tally. */
  pass(from: number): Passed {
    requireThat(!this.continues(from), 'a candidate who continues passes no ballots on');
    this.#moveHeld(from);
    if (this.#lists !== undefined) this.#lists.first[from] = -1;
    return this.#credit();
  }

  /** Passes on all ballots of a closed candidate at `numerator / denominator` of their value, rounded down. */
  passFraction(from: number, numerator: bigint, denominator: bigint): Passed {
    this.#values ??= new Uint32Array(this.#rankings.size).fill(FULL_VALUE);
    const values = this.#values;
    // Compute each distinct value only once, because there are few.
    const reduced = new Map<number, number>();
    const reduce = (value: number): number => Number((BigInt(value) * numerator) / denominator);
    this.#forEachHeld(from, (group) => {
      values[group] = reduced.getOrInsertComputed(values[group] as number, reduce);
    });
    return this.pass(from);
  }

  /** Calls `work` for each of a holder's groups; `work` may move the group to another holder. */
  #forEachHeld(from: number, work: (group: number) => void): void {
    if (this.#lists === undefined) {
      const { size } = this.#rankings;
      const holder = this.#holder;
      for (let group = 0; group < size; group += 1) if (holder[group] === from) work(group);
      return;
    }
    const { first, next } = this.#lists;
    let group = first[from] as number;
    while (group !== -1) {
      const after = next[group] as number;
      work(group);
      group = after;
    }
  }

  /** Moves all groups that a candidate holds to their next receiver. */
  #moveHeld(from: number): void {
    const isPlain = this.#areSingles && this.#values === undefined && this.#lists === undefined;
    if (isPlain) this.#moveSingles(from);
    else this.#forEachHeld(from, (group) => this.#moveGroup(group));
  }

  /** `#moveHeld` for single ballots of one weight. First reads the cells of a whole batch, so that the processor overlaps memory reads. */
  #moveSingles(from: number): void {
    const { cells, size } = this.#rankings;
    const [cursor, receives, holder, { singles }] = [this.#cursor, this.#receives, this.#holder, this.#sums];
    const { groups, cursors, choices } = this.#batch;
    for (let begin = 0; begin < size; begin += MOVED_TOGETHER) {
      const end = Math.min(size, begin + MOVED_TOGETHER);
      let held = 0;
      // A filter without branches, which could be mispredicted: every group is written, but `held` advances only for a held group.
      for (let group = begin; group < end; group += 1) {
        groups[held] = group;
        held += holder[group] === from ? 1 : 0;
      }
      for (let at = 0; at < held; at += 1) {
        const cell = cursor[groups[at] as number] as number;
        cursors[at] = cell;
        choices[at] = cells[cell] as number;
      }
      for (let at = 0; at < held; at += 1) {
        let [cell, receiver] = [cursors[at] as number, choices[at] as number];
        while (receives[receiver] === 0) {
          cell += 1;
          receiver = cells[cell] as number;
        }
        const group = groups[at] as number;
        cursor[group] = cell;
        holder[group] = receiver;
        singles[receiver] = (singles[receiver] as number) + 1;
      }
    }
    this.#sumSingles();
  }

  #sumSingles(): void {
    const { singles, touched, heads, limbs } = this.#sums;
    const { count, ofWeight } = this.#limbs;
    for (let to = 0; to < singles.length; to += 1) {
      const worth = (singles[to] as number) * FULL_VALUE;
      if (worth === 0) continue;
      touched[to] = 1;
      heads[to] = worth;
      for (let limb = 0; limb < count; limb += 1) limbs[to * count + limb] = worth * (ofWeight[limb] as number);
    }
    singles.fill(0);
  }

  /** The inner loop: moves a group to the next candidate in its ranking who still receives ballots, and adds it to this receiver's sums. */
  #moveGroup(group: number): void {
    const { cells, heads, weightIndexOf } = this.#rankings;
    const { count, ofWeight } = this.#limbs;
    const [cursor, receives, values, sums] = [this.#cursor, this.#receives, this.#values, this.#sums];
    let cell = cursor[group] as number;
    while (receives[cells[cell] as number] === 0) cell += 1;
    const receiver = cells[cell] as number;
    cursor[group] = cell;
    this.#holder[group] = receiver;
    if (this.#lists !== undefined) {
      const { first, next } = this.#lists;
      next[group] = first[receiver] as number;
      first[receiver] = group;
    }
    const worth = (heads[group] as number) * (values === undefined ? FULL_VALUE : (values[group] as number));
    sums.touched[receiver] = 1;
    sums.heads[receiver] = (sums.heads[receiver] as number) + worth;
    const weight = (weightIndexOf[group] as number) * count;
    for (let limb = 0; limb < count; limb += 1) {
      const at = receiver * count + limb;
      sums.limbs[at] = (sums.limbs[at] as number) + worth * (ofWeight[weight + limb] as number);
    }
  }

  #credit(): Passed {
    const { candidates } = this.#rankings;
    const { heads, limbs, touched } = this.#sums;
    const passed: Received[] = [];
    for (let to = touched.indexOf(1); to !== -1; to = touched.indexOf(1, to + 1)) {
      const received = { to, weight: this.#limbs.join(limbs, to), heads: BigInt(heads[to] as number) };
      passed.push(received);
      if (to < candidates) {
        this.weight[to] = (this.weight[to] ?? 0n) + received.weight;
        this.heads[to] = (this.heads[to] ?? 0n) + received.heads;
      }
    }
    heads.fill(0);
    limbs.fill(0);
    touched.fill(0);
    return passed;
  }
}

/** What a move adds to each receiver: heads × value, and the limbs of weight × value. */
interface Sums {
  readonly heads: Float64Array;
  readonly limbs: Float64Array;
  /** 1 if the receiver got a group in this move. */
  readonly touched: Uint8Array;
  /** Number of single ballots that the receiver got by `#moveSingles`. */
  readonly singles: Float64Array;
}

/** Splits the weights, in units of their greatest common divisor, into digits ("limbs") so small that no sum reaches 2^53. */
function cutIntoLimbs(rankings: Rankings) {
  const { weights } = rankings;
  const unit = weights.reduce(greatestCommonDivisor, 0n) || 1n;
  const largest = largestOf(weights) / unit;
  const bits = 53 - Math.ceil(Math.log2(headsMoved(rankings) * FULL_VALUE + 1));
  requireThat(bits > 0, 'there are more ballots than the count can hold');
  /** Number of digits of each weight; 1 unless weights are very large for the number of ballots. */
  const count = Math.max(1, Math.ceil(largest.toString(2).length / bits));
  const width = BigInt(bits);
  /** The digits of weight w start at `w * count`, lowest first. */
  const ofWeight = new Float64Array(weights.length * count);
  for (const [index, weight] of weights.entries()) {
    for (let limb = 0; limb < count; limb += 1)
      ofWeight[index * count + limb] = Number(BigInt.asUintN(bits, (weight / unit) >> (BigInt(limb) * width)));
  }
  /** Joins the sums of digits that start at `at * count` to millionths of weight. */
  const join = (sums: Float64Array, at: number): bigint => {
    let joined = 0n;
    for (let limb = count - 1; limb >= 0; limb -= 1) joined = (joined << width) + BigInt(sums[at * count + limb] ?? 0);
    return joined * unit;
  };
  return { count, ofWeight, join };
}

function areSingles({ size, heads, weightIndexOf }: Rankings): boolean {
  for (let group = 0; group < size; group += 1) if (heads[group] !== 1 || weightIndexOf[group] !== 0) return false;
  return true;
}

/** Upper bound of every sum of heads. Adds absolute values, because ballots that were taken out have negative heads. */
function headsMoved(rankings: Rankings): number {
  let heads = 0;
  for (let group = 0; group < rankings.size; group += 1) heads += Math.abs(rankings.heads[group] as number);
  return heads;
}
