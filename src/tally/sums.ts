import type { PositionBallot, SavedCount } from './types.ts';

/**
 * Distinct weights that get their own row of plain integers. A report multiplies rows × candidates bigints, and the rows
 * of 1,000 candidates fill half a megabyte of cache: past this many, adding straight into bigints is no slower.
 */
const MAX_WEIGHT_ROWS = 64;

/** Sums over the ballots of one weight: each stays below 2^53 in size because `bound` does. */
interface WeightRow {
  readonly weightMicro: bigint;
  readonly heads: Float64Array;
  /** No sum of the row can be larger than this, whatever the order of the ballots. */
  bound: number;
}

/** Exact sums of values for each candidate, in heads and in weight. Taking out is adding a negative number of times. */
export class CandidateSums {
  readonly #candidates: number;
  readonly #rows = new Map<bigint, WeightRow>();
  #lastRow: WeightRow | undefined;
  /** What the rows don't hold: weights beyond their number, sums beyond 2^53. Made when first needed. */
  #wide: { readonly heads: bigint[]; readonly weightMicro: bigint[] } | undefined;

  constructor(candidates: number, saved?: SavedCount) {
    this.#candidates = candidates;
    for (const row of saved?.rows ?? []) this.#rows.set(row.weightMicro, { ...row });
    const wide = saved?.wide;
    if (wide != null) this.#wide = { heads: [...wide.heads], weightMicro: [...wide.weightMicro] };
  }

  save(): Pick<SavedCount, 'rows' | 'wide'> {
    return { rows: [...this.#rows.values()], wide: this.#wide ?? null };
  }

  /** Adds every value of the ballot `times` times. @param largest no value is larger in size */
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

  /** Sum of the candidate's values. */
  heads(candidate: number): bigint {
    let sum = this.#wide?.heads[candidate] ?? 0n;
    for (const row of this.#rows.values()) {
      sum += BigInt(row.heads[candidate] ?? 0);
    }
    return sum;
  }

  /** Sum of the candidate's values × weight, in millionths. */
  weightMicro(candidate: number): bigint {
    let sum = this.#wide?.weightMicro[candidate] ?? 0n;
    for (const row of this.#rows.values()) {
      sum += BigInt(row.heads[candidate] ?? 0) * row.weightMicro;
    }
    return sum;
  }

  #rowOf(weightMicro: bigint): WeightRow | undefined {
    if (this.#lastRow?.weightMicro === weightMicro) {
      return this.#lastRow;
    }
    let row = this.#rows.get(weightMicro);
    if (row === undefined && this.#rows.size < MAX_WEIGHT_ROWS) {
      row = { weightMicro, heads: new Float64Array(this.#candidates), bound: 0 };
      this.#rows.set(weightMicro, row);
    }
    if (row !== undefined) {
      this.#lastRow = row;
    }
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
