import { requireThat } from './count-refused.ts';
import { WEIGHT_DECIMALS } from './exact.ts';

type Cells = Uint8Array | Uint16Array;

const WHOLE = 10n ** BigInt(WEIGHT_DECIMALS);
const FIRST_GROUPS = 64;
/** The largest index that the hash table's 32-bit slots can name. */
const MAX_GROUPS = 2 ** 31 - 1;
/** Candidates and places are kept in 16 bits. */
const MAX_CANDIDATES = 2 ** 16 - 1;

/**
 * Ballots grouped by ranking and weight, packed: a group is a run of `cells` (candidates, first choice first), a weight
 * and a number of heads. A million different rankings of 20 take some 60 MB; as objects they would take ten times that.
 * Array accesses are cast because every index here comes from the bounds of the array it reads.
 */
export class Rankings {
  readonly candidates: number;
  /** Distinct weights in millionths; `weightIndexOf` names them. */
  readonly weights: bigint[] = [];
  /** Number of groups. One whose ballots were all taken out again stays, with no heads. */
  size = 0;
  cells: Cells;
  /** Group g has the cells from `starts[g]` to before `starts[g + 1]`. */
  starts = new Uint32Array(FIRST_GROUPS + 1);
  heads = new Float64Array(FIRST_GROUPS);
  weightIndexOf = new Uint32Array(FIRST_GROUPS);
  readonly #indexOfWeight = new Map<bigint, number>();
  /** Open addressing: group + 1 at its hash or the next free slot, 0 where free. Always at most half full. */
  #table = new Int32Array(FIRST_GROUPS * 4);

  constructor(candidates: number) {
    requireThat(candidates <= MAX_CANDIDATES, 'a ranked position has more candidates than the count can hold');
    this.candidates = candidates;
    this.cells = candidates <= 256 ? new Uint8Array(FIRST_GROUPS * 8) : new Uint16Array(FIRST_GROUPS * 8);
  }

  /** Counts a ranking (candidates in the first `length` places, first choice first) `times` times. */
  add(ranking: ArrayLike<number>, length: number, weightMicro: bigint, times: number): void {
    const weightIndex = this.#weightIndex(weightMicro);
    const slot = this.#slotOf(ranking, length, weightIndex);
    const found = this.#table[slot] as number;
    const group = found === 0 ? this.#append(slot, ranking, length, weightIndex) : found - 1;
    this.heads[group] = (this.heads[group] as number) + times;
  }

  /** Whether the weight of every ballot that is still in is a whole number. */
  areWeightsWhole(): boolean {
    const fractional = this.weights.map((weight) => weight % WHOLE !== 0n);
    if (!fractional.includes(true)) {
      return true;
    }
    for (let group = 0; group < this.size; group += 1) {
      if (this.heads[group] !== 0 && fractional[this.weightIndexOf[group] as number] === true) {
        return false;
      }
    }
    return true;
  }

  #weightIndex(weightMicro: bigint): number {
    let index = this.#indexOfWeight.get(weightMicro);
    if (index === undefined) {
      index = this.weights.length;
      this.weights.push(weightMicro);
      this.#indexOfWeight.set(weightMicro, index);
    }
    return index;
  }

  /** The slot that holds the group, or the free one where it belongs. */
  #slotOf(ranking: ArrayLike<number>, length: number, weightIndex: number): number {
    const mask = this.#table.length - 1;
    let hash = weightIndex;
    for (let place = 0; place < length; place += 1) {
      hash = mix(hash, ranking[place] as number);
    }
    let slot = spread(hash) & mask;
    for (;;) {
      const found = this.#table[slot] as number;
      if (found === 0 || this.#isGroup(found - 1, ranking, length, weightIndex)) {
        return slot;
      }
      slot = (slot + 1) & mask;
    }
  }

  #isGroup(group: number, ranking: ArrayLike<number>, length: number, weightIndex: number): boolean {
    const start = this.starts[group] as number;
    if (this.weightIndexOf[group] !== weightIndex || (this.starts[group + 1] as number) - start !== length) {
      return false;
    }
    for (let place = 0; place < length; place += 1) {
      if (this.cells[start + place] !== ranking[place]) {
        return false;
      }
    }
    return true;
  }

  #append(slot: number, ranking: ArrayLike<number>, length: number, weightIndex: number): number {
    const group = this.size;
    const start = this.starts[group] as number;
    this.#table[slot] = group + 1;
    this.#makeRoom(start + length);
    for (let place = 0; place < length; place += 1) {
      this.cells[start + place] = ranking[place] as number;
    }
    this.starts[group + 1] = start + length;
    this.weightIndexOf[group] = weightIndex;
    this.size += 1;
    if (this.size * 2 > this.#table.length) {
      this.#growTable();
    }
    return group;
  }

  /** Room for one group more, and for `cells` cells in all. */
  #makeRoom(cells: number): void {
    if (this.size === this.heads.length) {
      requireThat(this.size < MAX_GROUPS / 2, 'there are more different rankings than the count can hold');
      const groups = this.size * 2;
      this.starts = enlarged(this.starts, new Uint32Array(groups + 1));
      this.heads = enlarged(this.heads, new Float64Array(groups));
      this.weightIndexOf = enlarged(this.weightIndexOf, new Uint32Array(groups));
    }
    if (cells > this.cells.length) {
      requireThat(cells <= 2 ** 31, 'the rankings are longer than the count can hold');
      const room = Math.max(cells, Math.ceil(this.cells.length * 1.5));
      this.cells = enlarged(this.cells, this.candidates <= 256 ? new Uint8Array(room) : new Uint16Array(room));
    }
  }

  #growTable(): void {
    this.#table = new Int32Array(this.#table.length * 2);
    const mask = this.#table.length - 1;
    for (let group = 0; group < this.size; group += 1) {
      let hash = this.weightIndexOf[group] as number;
      const end = this.starts[group + 1] as number;
      for (let cell = this.starts[group] as number; cell < end; cell += 1) {
        hash = mix(hash, this.cells[cell] as number);
      }
      let slot = spread(hash) & mask;
      while (this.#table[slot] !== 0) {
        slot = (slot + 1) & mask;
      }
      this.#table[slot] = group + 1;
    }
  }
}

function enlarged<T extends Cells | Uint32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** One step of a 32-bit multiplicative hash; the order of the candidates matters to it. */
function mix(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

/** Brings the high bits down: the table looks at the low ones only. */
function spread(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}
