import { MICRO, scaledToDecimal, WEIGHT_DECIMALS } from '#src/platform/decimal.ts';
import { requireThat, toWholeNumber } from './exact.ts';
import { MarkCheck, requireValues, type ValueRange } from './mark-check.ts';
import type { PositionBallot, TallyPosition } from './types.ts';

/** Numbers of ballots that answered a position, and that did not; unweighted. */
export class Participation {
  #ballots = 0;
  #abstentions = 0;

  add(answered: boolean, times: number): void {
    if (answered) {
      this.#ballots += times;
    } else {
      this.#abstentions += times;
    }
  }

  get ballots(): number {
    requireThat(this.#ballots >= 0, 'more ballots were taken out than added');
    return this.#ballots;
  }

  get abstentions(): number {
    requireThat(this.#abstentions >= 0, 'more abstentions were taken out than added');
    return this.#abstentions;
  }
}

/** Most distinct weights that have their own row of numbers. With more rows, adding to bigints directly is no slower. */
const MAX_WEIGHT_ROWS = 64;

/** Bytes of memory that two bigints take. */
const WIDE_BYTES = 80;

/** Sums over the ballots of one weight, in plain numbers. `bound` makes sure that no sum exceeds 2^53 − 1 in size. */
interface WeightRow {
  readonly weightMicro: bigint;
  readonly heads: Float64Array;
  /** Upper bound of every sum of the row, in any order of the ballots. */
  bound: number;
}

/** Exact sums of values for each candidate, unweighted ("heads") and weighted. A negative `times` takes a ballot out. */
class CandidateSums {
  readonly #candidates: number;
  readonly #rows = new Map<bigint, WeightRow>();
  #lastRow: WeightRow | undefined;
  /** Sums of the other ballots, whose weight has no row, or whose row could exceed 2^53 − 1. Made when first needed. */
  #wide: { readonly heads: bigint[]; readonly weightMicro: bigint[] } | undefined;

  constructor(candidates: number) {
    this.#candidates = candidates;
  }

  /** Adds every value of the ballot `times` times. @param largest upper bound of the values' size */
  add(ballot: PositionBallot, largest: number, weightMicro: bigint, times: number): void {
    const growth = largest * Math.abs(times);
    const row = this.#rowOf(weightMicro);
    if (row === undefined || row.bound + growth > Number.MAX_SAFE_INTEGER) {
      this.#addWide(ballot, weightMicro, times);
      return;
    }
    row.bound += growth;
    const { heads } = row;
    const { candidates, values, length } = ballot;
    for (let entry = 0; entry < length; entry += 1) {
      const candidate = candidates[entry] as number;
      heads[candidate] = (heads[candidate] as number) + (values[entry] as number) * times;
    }
  }

  get heldBytes(): number {
    return this.#candidates * (8 * this.#rows.size + (this.#wide === undefined ? 0 : WIDE_BYTES));
  }

  /** The candidate's sum of values, unweighted. */
  heads(candidate: number): bigint {
    let sum = this.#wide?.heads[candidate] ?? 0n;
    for (const row of this.#rows.values()) sum += BigInt(row.heads[candidate] ?? 0);
    return sum;
  }

  /** The candidate's sum of values × weight, in millionths. */
  weightMicro(candidate: number): bigint {
    let sum = this.#wide?.weightMicro[candidate] ?? 0n;
    for (const row of this.#rows.values()) sum += BigInt(row.heads[candidate] ?? 0) * row.weightMicro;
    return sum;
  }

  #rowOf(weightMicro: bigint): WeightRow | undefined {
    if (this.#lastRow?.weightMicro === weightMicro) return this.#lastRow;
    let row = this.#rows.get(weightMicro);
    if (row === undefined && this.#rows.size < MAX_WEIGHT_ROWS) {
      row = { weightMicro, heads: new Float64Array(this.#candidates), bound: 0 };
      this.#rows.set(weightMicro, row);
    }
    if (row !== undefined) this.#lastRow = row;
    return row;
  }

  #addWide(ballot: PositionBallot, weightMicro: bigint, times: number): void {
    this.#wide ??= {
      heads: new Array<bigint>(this.#candidates).fill(0n),
      weightMicro: new Array<bigint>(this.#candidates).fill(0n),
    };
    const { heads, weightMicro: weights } = this.#wide;
    for (let entry = 0; entry < ballot.length; entry += 1) {
      const candidate = ballot.candidates[entry] as number;
      const value = BigInt(ballot.values[entry] as number) * BigInt(times);
      heads[candidate] = (heads[candidate] ?? 0n) + value;
      weights[candidate] = (weights[candidate] ?? 0n) + value * weightMicro;
    }
  }
}

/** A sum of weights. Ballots of the same weight in a row are counted in a plain number, because adding bigints takes far longer. */
export class WeightSum {
  #sum = 0n;
  #weightMicro = 0n;
  /** Ballots of weight `#weightMicro` that are not in `#sum` yet. */
  #times = 0;

  /** Adds a weight `times` times. A negative `times` takes it out. */
  add(weightMicro: bigint, times: number): void {
    if (weightMicro !== this.#weightMicro || !Number.isSafeInteger(this.#times + times)) {
      this.#sum = this.micro;
      this.#weightMicro = weightMicro;
      this.#times = 0;
    }
    this.#times += times;
  }

  get micro(): bigint {
    return this.#sum + this.#weightMicro * BigInt(this.#times);
  }
}

/** Which entries a ballot may have, for a method that sums values. */
export interface BallotRule {
  /** Most entries, unless the position has `maxSelections`. */
  readonly maxEntries: number;
  /** The value that an answering ballot gives to each candidate that it does not name; 0 by default. */
  readonly leftOut?: number;
  readonly values: ValueRange;
}

/** The running sums of one position, for methods whose figure of a candidate is a sum of values. */
export class BallotSums {
  readonly participation = new Participation();
  readonly #position: TallyPosition;
  readonly #check: MarkCheck;
  readonly #values: ValueRange;
  /** Sums of value − `leftOut`. So a candidate whom a ballot does not name adds 0, and needs no addition. */
  readonly #sums: CandidateSums;
  readonly #leftOut: number;
  readonly #answered = new WeightSum();
  #shifted = new Float64Array(16);

  constructor(position: TallyPosition, rule: BallotRule) {
    this.#position = position;
    this.#check = new MarkCheck(position, rule.maxEntries);
    this.#values = rule.values;
    this.#sums = new CandidateSums(position.candidates.length);
    this.#leftOut = rule.leftOut ?? 0;
  }

  add(ballot: PositionBallot, weightMicro: bigint, times: number): void {
    this.#check.require(ballot, weightMicro, times);
    const largest = requireValues(ballot, this.#values);
    this.participation.add(ballot.length > 0, times);
    if (ballot.length > 0) this.#answered.add(weightMicro, times);
    if (this.#leftOut === 0) this.#sums.add(ballot, largest, weightMicro, times);
    else this.#sums.add(this.#shift(ballot), largest + Math.abs(this.#leftOut), weightMicro, times);
  }

  get heldBytes(): number {
    return this.#sums.heldBytes;
  }

  /** Weight of the ballots that answered, in millionths. */
  get answeredMicro(): bigint {
    return this.#answered.micro;
  }

  /** Sum of value × weight of each candidate, in millionths. */
  weightsMicro(): bigint[] {
    const leftOut = BigInt(this.#leftOut) * this.answeredMicro;
    return this.#position.candidates.map((_, candidate) => this.#sums.weightMicro(candidate) + leftOut);
  }

  #shift({ candidates, values, length }: PositionBallot): PositionBallot {
    if (this.#shifted.length < length) this.#shifted = new Float64Array(length);
    for (let entry = 0; entry < length; entry += 1) this.#shifted[entry] = (values[entry] as number) - this.#leftOut;
    return { candidates, values: this.#shifted, length };
  }

  /** The rows of the candidates in the position's order, and the sum of their `votesWon`. */
  rows(weightsMicro: readonly bigint[], wholeWeights: boolean, winners: readonly number[], tied: readonly number[]) {
    let total = 0n;
    const leftOut = BigInt(this.#leftOut) * BigInt(this.participation.ballots);
    const [won, sharing] = [new Set(winners), new Set(tied)];
    const candidates = this.#position.candidates.map(({ id, name }, candidate) => {
      const weightMicro = weightsMicro[candidate] ?? 0n;
      const votes = wholeWeights ? wholeWeight(weightMicro) : this.#sums.heads(candidate) + leftOut;
      total += votes;
      return {
        id,
        name,
        votesWon: toWholeNumber(votes),
        weightWon: scaledToDecimal(weightMicro, WEIGHT_DECIMALS),
        winner: won.has(candidate),
        tied: sharing.has(candidate),
      };
    });
    return { candidates, totalVotes: toWholeNumber(total) };
  }
}

function wholeWeight(weightMicro: bigint): bigint {
  requireThat(weightMicro % MICRO === 0n, 'weights said to be whole add up to a fraction');
  return weightMicro / MICRO;
}
