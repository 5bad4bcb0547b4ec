import { MICRO } from '#src/platform/decimal.ts';
import { requireThat } from './exact.ts';
import type { RankingSink } from './types.ts';

type Cells = Uint8Array | Uint16Array;
type Column = Cells | Uint32Array | Float64Array;

const FIRST_GROUPS = 64;
/** The hash table stores group + 1 in a signed 32-bit integer. */
const MAX_GROUPS = 2 ** 31 - 2;
/** Indexes of cells are unsigned 32-bit integers. */
const MAX_CELLS = 2 ** 32 - 1;
/** A cell has 16 bits, and one value more than the candidates is needed: it ends a ranking. */
const MAX_CANDIDATES = 2 ** 16 - 1;
/** At this number of groups, and at each doubling, grouping ends if a group has fewer than two ballots on average. */
const FIRST_GROUPING_REVIEW = 2 ** 16;
/** Spare room, because later ballots may be slightly longer than the ballots so far. */
const GROWTH_MARGIN = 1.02;

/**
 * Ballots in packed groups. A group is one ranking (a run of `cells`) with one weight, and its number of ballots ("heads"). Identical
 * ballots share a group as long as this saves memory. If nearly all ballots differ, searching for an equal ballot is wasted time, so
 * each ballot gets its own group. A million different rankings of 20 candidates take some 50 MB; as objects they would take ten times
 * as much. Taking a ballot out may add a group with negative heads. Array accesses are cast, because every index is within the bounds of
 * its array.
 */
export class Rankings implements RankingSink {
  readonly candidates: number;
  /** Distinct weights in millionths; `weightIndexOf` contains indexes of this array. */
  readonly weights: bigint[] = [];
  /** Number of groups. */
  size = 0;
  /** The rankings: the candidates, first choice first. Each ranking ends with the value `candidates`, which is no candidate's index. */
  cells: Cells;
  /** By group: index of its first cell. */
  starts = new Uint32Array(FIRST_GROUPS);
  heads = new Float64Array(FIRST_GROUPS);
  weightIndexOf = new Uint32Array(FIRST_GROUPS);
  #usedCells = 0;
  #added = 0;
  readonly #indexOfWeight = new Map<bigint, number>();
  #lastWeight: bigint | undefined;
  #lastWeightIndex = 0;
  /** Hash table with open addressing, at most half full. A slot has group + 1, or 0 if it is free. Undefined once grouping has ended. */
  #table: Int32Array | undefined = new Int32Array(FIRST_GROUPS * 2);
  #groupingReview = FIRST_GROUPING_REVIEW;
  /** Number of ballots that `expect` announced, plus the ballots that were added before. */
  #expected = 0;

  constructor(candidates: number) {
    requireThat(candidates <= MAX_CANDIDATES, 'a ranked position has more candidates than the count can hold');
    this.candidates = candidates;
    this.cells = candidates < 256 ? new Uint8Array(FIRST_GROUPS * 8) : new Uint16Array(FIRST_GROUPS * 8);
  }

  get heldBytes(): number {
    const columns = [this.cells, this.starts, this.heads, this.weightIndexOf, this.#table];
    return columns.reduce((sum, column) => sum + (column?.byteLength ?? 0), 200 * this.weights.length);
  }

  /** Index of the next group's first cell. */
  get end(): number {
    return this.#usedCells;
  }

  /** Counts a ranking `times` times. The candidates are in its first `length` places, first choice first. */
  add(ranking: Uint16Array, length: number, weightMicro: bigint, times: number): void {
    this.makeRoom(length);
    const { cells } = this;
    for (let place = 0; place < length; place += 1) cells[this.#usedCells + place] = ranking[place] as number;
    this.addWritten(length, weightMicro, times);
  }

  /** Counts the ranking that was written into the cells from `end` on. Call `makeRoom` before writing. */
  addWritten(length: number, weightMicro: bigint, times: number): void {
    const weightIndex = this.#weightIndex(weightMicro);
    this.#added += Math.abs(times);
    this.cells[this.#usedCells + length] = this.candidates;
    const group = this.#table === undefined ? undefined : this.#find(this.#table, length, weightIndex);
    if (group === undefined) this.#append(length, weightIndex, times);
    else this.heads[group] = (this.heads[group] as number) + times;
  }

  /** Whether every counted ballot has a whole weight. A ballot that was taken out again does not count. */
  areWeightsWhole(): boolean {
    const fractional = this.weights.map((weight) => weight % MICRO !== 0n);
    if (!fractional.includes(true)) return true;
    const headsOf = new Float64Array(this.weights.length);
    for (let group = 0; group < this.size; group += 1) {
      const weight = this.weightIndexOf[group] as number;
      headsOf[weight] = (headsOf[weight] as number) + (this.heads[group] as number);
    }
    return headsOf.every((heads, weight) => heads === 0 || fractional[weight] === false);
  }

  #weightIndex(weightMicro: bigint): number {
    if (weightMicro === this.#lastWeight) return this.#lastWeightIndex;
    let index = this.#indexOfWeight.get(weightMicro);
    if (index === undefined) {
      index = this.weights.length;
      this.weights.push(weightMicro);
      this.#indexOfWeight.set(weightMicro, index);
    }
    this.#lastWeight = weightMicro;
    this.#lastWeightIndex = index;
    return index;
  }

  /** The group with the ranking at `end` and this weight. If there is none, enters the next group into the table, and returns undefined. */
  #find(table: Int32Array, length: number, weightIndex: number): number | undefined {
    const mask = table.length - 1;
    let slot = hashOf(this.cells, this.#usedCells, this.#usedCells + length, weightIndex) & mask;
    for (;;) {
      const found = table[slot] as number;
      if (found === 0) {
        table[slot] = this.size + 1;
        return undefined;
      }
      if (this.#isGroup(found - 1, length, weightIndex)) return found - 1;
      slot = (slot + 1) & mask;
    }
  }

  #isGroup(group: number, length: number, weightIndex: number): boolean {
    if (this.weightIndexOf[group] !== weightIndex) return false;
    const { cells } = this;
    const [start, own] = [this.starts[group] as number, this.#usedCells];
    for (let place = 0; place < length; place += 1) {
      if (cells[start + place] !== cells[own + place]) return false;
    }
    return this.cells[start + length] === this.candidates;
  }

  /** Makes a new group of the ranking at `end`. */
  #append(length: number, weightIndex: number, times: number): void {
    const group = this.size;
    this.starts[group] = this.#usedCells;
    this.heads[group] = times;
    this.weightIndexOf[group] = weightIndex;
    this.#usedCells += length + 1;
    this.size = group + 1;
    this.#reviewGrouping();
  }

  /** Announces how many more ballots may come. Once grouping has ended, memory grows to hold all of them at once. */
  expect(ballots: number): void {
    this.#expected = this.#added + ballots;
  }

  /** Growth factor of a full column. The expected ballots then fit if their average length does not change. */
  get #growth(): number {
    return this.#table === undefined ? (this.#expected / this.#added) * GROWTH_MARGIN : 0;
  }

  /** Makes room for another group: `length` cells, and the cell that ends the ranking. */
  makeRoom(length: number): void {
    if (this.size === this.heads.length) {
      requireThat(this.size < MAX_GROUPS / 2, 'there are more different rankings than the count can hold');
      const groups = Math.min(MAX_GROUPS, Math.ceil(this.size * Math.max(2, this.#growth)));
      this.starts = enlarged(this.starts, groups);
      this.heads = enlarged(this.heads, groups);
      this.weightIndexOf = enlarged(this.weightIndexOf, groups);
    }
    const needed = this.#usedCells + length + 1;
    if (needed > this.cells.length) {
      requireThat(needed <= MAX_CELLS, 'the rankings are longer than the count can hold');
      this.cells = enlarged(
        this.cells,
        Math.min(MAX_CELLS, Math.max(needed, Math.ceil(this.cells.length * Math.max(1.5, this.#growth)))),
      );
    }
  }

  #reviewGrouping(): void {
    if (this.#table === undefined) return;
    if (this.size >= this.#groupingReview) {
      this.#groupingReview *= 2;
      if (this.#added < this.size * 2) {
        this.#table = undefined;
        return;
      }
    }
    if (this.size * 2 > this.#table.length) this.#table = this.#rebuiltTable(this.#table.length * 2);
  }

  #rebuiltTable(slots: number): Int32Array {
    const table = new Int32Array(slots);
    const mask = slots - 1;
    for (let group = 0; group < this.size; group += 1) {
      const start = this.starts[group] as number;
      const end = group + 1 < this.size ? (this.starts[group + 1] as number) : this.#usedCells;
      let slot = hashOf(this.cells, start, end - 1, this.weightIndexOf[group] as number) & mask;
      while (table[slot] !== 0) slot = (slot + 1) & mask;
      table[slot] = group + 1;
    }
    return table;
  }
}

function enlarged<T extends Column>(column: T, length: number): T {
  const larger = new (column.constructor as new (length: number) => T)(length);
  larger.set(column);
  return larger;
}

/** A 32-bit multiplicative hash of a weight and the cells from `start` to before `end`, in their order. */
function hashOf(cells: Cells, start: number, end: number, weightIndex: number): number {
  let hash = weightIndex;
  for (let cell = start; cell < end; cell += 1) {
    hash = Math.imul(hash ^ (cells[cell] as number), 0x85ebca6b);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
