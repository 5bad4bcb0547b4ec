import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { ENTRY_KINDS } from '#src/ballot-definition/types.ts';
import { LONG, pushVarint } from './block-encoding.ts';

/**
 * How a ballot's entries are packed into one column. Version 1:
 *
 *   byte 0            the version, 1
 *   then, for each position that the voter could answer:
 *     varint          the position's number within its event
 *     varint          how many entries follow; 0 is an abstention
 *     per entry       varint: the candidate's number; varint: the value in zigzag (1 where the method has none; the rank)
 *
 * Varints are unsigned LEB128. Numbers are small, so a ballot of 12 entries takes about 50 bytes.
 */
interface PackedEntry {
  readonly candidate: number;
  /** The score, points or votes; the rank in ranked choice; 1 otherwise. */
  readonly value: number;
}

export interface PackedPosition {
  readonly position: number;
  readonly entries: readonly PackedEntry[];
}

const VERSION = 1;
/** The longest ranking that fits bits 1 to n of a signed 32-bit integer, with `1 << (n + 1)` still positive. */
const MAX_RANK_BIT = 29;

const zigzag = (value: number): number => (value < 0 ? -value * 2 - 1 : value * 2);
const unzigzag = (value: number): number => (value % 2 === 0 ? value / 2 : -(value + 1) / 2);

export function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= LONG; rest = Math.floor(rest / LONG)) bytes += 1;
  return bytes;
}

/** Packs positions by number and entries by candidate, so that the bytes do not show the order in which the choices were sent. */
export function packEntries(positions: readonly PackedPosition[]): Buffer {
  const bytes: number[] = [VERSION];
  for (const { position, entries } of positions.toSorted((left, right) => left.position - right.position)) {
    pushVarint(bytes, position);
    pushVarint(bytes, entries.length);
    for (const { candidate, value } of entries.toSorted((left, right) => left.candidate - right.candidate)) {
      pushVarint(bytes, candidate);
      pushVarint(bytes, zigzag(value));
    }
  }
  return Buffer.from(bytes);
}

/**
 * The index of each candidate in a position, by the candidate's number. Numbers may be large although an event has few candidates, so
 * `places` first maps them to small places, once for the whole event.
 */
export interface CandidateIndexes {
  /** By number: the candidate's place in `indexes`, 0 for an unknown number. The same array for all positions of an event. */
  readonly places: Int32Array;
  /** By place: the candidate's index in the position, -1 for none, as at place 0. */
  readonly indexes: Int32Array;
}

/** Reads packed ballots into arrays that it reuses, without an object per ballot; only their first `length` elements are valid. */
export class BallotReader {
  /** The number of the position that was read last. */
  position = 0;
  length = 0;
  /** After `next`, the numbers of the candidates; after `readEntries`, their indexes. */
  candidates = new Uint32Array(16);
  values = new Float64Array(16);
  /** Set by `readEntries`: whether the candidate indexes strictly ascend. */
  isAscending = true;
  /** Set by `readEntries`: the lowest and highest value, both safe integers. Undefined for a position without entries. */
  lowest = 0;
  highest = 0;
  #bytes: Uint8Array = new Uint8Array();
  #at = 0;
  #end = 0;

  /** Starts reading the ballot in `bytes` from `start` to before `end`. @throws Error for an unknown version */
  open(bytes: Uint8Array, start = 0, end = bytes.length): void {
    if (start >= end || bytes[start] !== VERSION)
      throw new Error(`a ballot is packed in the unknown version ${bytes[start]}`);
    this.#bytes = bytes;
    this.#at = start + 1;
    this.#end = end;
  }

  /** Reads the next position with its entries, by candidate numbers; false at the end of the ballot. */
  next(): boolean {
    if (!this.nextPosition()) return false;
    this.#makeRoom();
    for (let entry = 0; entry < this.length; entry += 1) {
      this.candidates[entry] = this.#varint();
      this.values[entry] = unzigzag(this.#varint());
    }
    return true;
  }

  /** Reads the number of the next position and of its entries; false at the end of the ballot. */
  nextPosition(): boolean {
    if (this.#at >= this.#end) return false;
    this.position = this.#varint();
    this.length = this.#varint();
    // Every entry takes at least two bytes, so a larger length is corrupt.
    if (this.length * 2 > this.#end - this.#at) throw new Error('a packed ballot ends in the middle of its entries');
    return true;
  }

  /**
   * Reads the entries of the position and sets `isAscending`, `lowest` and `highest`, in one pass.
   * @returns -1, or the first unknown number, in which case the contents of the arrays are undefined
   */
  readEntries(own: CandidateIndexes): number {
    this.#makeRoom();
    return this.#readShortEntries(own) ? -1 : this.#readAnyEntries(own);
  }

  /** The fast path if all numbers take one byte, as in nearly all ballots. @returns false for longer numbers, with no entry consumed */
  #readShortEntries({ places, indexes }: CandidateIndexes): boolean {
    const { length, candidates, values } = this;
    const bytes = this.#bytes;
    let at = this.#at;
    let last = -1;
    let isAscending = true;
    let [lowest, highest] = [LONG, -LONG];
    for (let entry = 0; entry < length; entry += 1) {
      const number = bytes[at] as number;
      const zigzagged = bytes[at + 1] as number;
      const candidate = number < places.length ? (indexes[places[number] as number] as number) : -1;
      if ((number | zigzagged) >= LONG || candidate < 0) return false;
      const value = (zigzagged >> 1) ^ -(zigzagged & 1);
      if (candidate <= last) isAscending = false;
      last = candidate;
      if (value < lowest) lowest = value;
      if (value > highest) highest = value;
      candidates[entry] = candidate;
      values[entry] = value;
      at += 2;
    }
    this.#at = at;
    this.isAscending = isAscending;
    this.lowest = lowest;
    this.highest = highest;
    return true;
  }

  #readAnyEntries({ places, indexes }: CandidateIndexes): number {
    this.isAscending = true;
    this.lowest = Number.POSITIVE_INFINITY;
    this.highest = Number.NEGATIVE_INFINITY;
    let last = -1;
    for (let entry = 0; entry < this.length; entry += 1) {
      const number = this.#varint();
      const value = unzigzag(this.#varint());
      const candidate = indexes[places[number] ?? 0] as number;
      if (candidate < 0) return number;
      if (!Number.isSafeInteger(value)) throw new Error('a packed value is no exact whole number');
      if (candidate <= last) this.isAscending = false;
      last = candidate;
      this.lowest = Math.min(this.lowest, value);
      this.highest = Math.max(this.highest, value);
      this.candidates[entry] = candidate;
      this.values[entry] = value;
    }
    return -1;
  }

  /**
   * Reads the entries of the position directly in rank order. Requires that every number takes a byte, the candidates ascend,
   * and each rank from 1 to n occurs once, as in nearly all ballots; one bit per rank checks this in the same pass.
   * @param cells receives the candidates' indexes, first choice first, from `start` on
   * @returns false for other ballots: no entry is consumed, and the contents of `cells` are undefined
   */
  readRanking({ places, indexes }: CandidateIndexes, cells: Uint8Array | Uint16Array, start: number): boolean {
    const { length } = this;
    if (length > MAX_RANK_BIT) return false;
    const bytes = this.#bytes;
    let at = this.#at;
    let last = -1;
    let seen = 0;
    for (let entry = 0; entry < length; entry += 1) {
      const number = bytes[at] as number;
      const value = bytes[at + 1] as number;
      const rank = value >> 1;
      const candidate = number < places.length ? (indexes[places[number] as number] as number) : -1;
      // In zigzag encoding an odd number is negative.
      const isFaulty = (number | value) >= LONG || (value & 1) !== 0 || rank === 0 || rank > length;
      if (isFaulty || candidate <= last) return false;
      last = candidate;
      seen |= 1 << rank;
      cells[start + rank - 1] = candidate;
      at += 2;
    }
    // Each rank from 1 to `length` occurred: bits 1 to `length` are set.
    if (seen !== (1 << (length + 1)) - 2) return false;
    this.#at = at;
    return true;
  }

  #makeRoom(): void {
    if (this.length <= this.candidates.length) return;
    this.candidates = new Uint32Array(this.length * 2);
    this.values = new Float64Array(this.length * 2);
  }

  #varint(): number {
    const byte = this.#bytes[this.#at] as number;
    if (byte < 0x80 && this.#at < this.#end) {
      this.#at += 1;
      return byte;
    }
    return this.#longVarint();
  }

  #longVarint(): number {
    let value = 0;
    let factor = 1;
    while (this.#at < this.#end) {
      const byte = this.#bytes[this.#at] as number;
      this.#at += 1;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
    throw new Error('a packed ballot ends in the middle of a number');
  }
}

/** Reads packed entries. @throws Error for bytes that no version of this program wrote */
export function unpackEntries(bytes: Uint8Array): PackedPosition[] {
  const reader = new BallotReader();
  reader.open(bytes);
  const positions: PackedPosition[] = [];
  while (reader.next()) {
    const { position, length, candidates, values } = reader;
    const entries = Array.from({ length }, (_, at) => ({ candidate: candidates[at] ?? 0, value: values[at] ?? 0 }));
    positions.push({ position, entries });
  }
  return positions;
}

/** Reads the choices of a packed ballot. @throws Error if it names a position or candidate that the definition does not have */
export const readChoices = ({ positionByNumber, candidateByNumber }: BallotDefinition, packed: Uint8Array) =>
  unpackEntries(packed).flatMap(({ position: number, entries }) => {
    const position = positionByNumber.get(number);
    if (position === undefined)
      throw new Error(`a ballot names position ${number}, which the definition does not have`);
    const kind = ENTRY_KINDS[position.votingMethod];
    return entries.map((entry) => {
      const candidate = candidateByNumber.get(entry.candidate);
      if (candidate === undefined)
        throw new Error(`a ballot names candidate ${entry.candidate}, which the definition does not have`);
      return { position, candidate, kind, value: entry.value };
    });
  });
