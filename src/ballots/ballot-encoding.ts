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
export interface PackedEntry {
  readonly candidate: number;
  /** The score, points or votes; the rank in ranked choice; 1 otherwise. */
  readonly value: number;
}

export interface PackedPosition {
  readonly position: number;
  readonly entries: readonly PackedEntry[];
}

const VERSION = 1;

function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
}

const zigzag = (value: number): number => (value < 0 ? -value * 2 - 1 : value * 2);
const unzigzag = (value: number): number => (value % 2 === 0 ? value / 2 : -(value + 1) / 2);

/** Packs positions in the order of their numbers, entries in the order of their candidates: what was chosen, not how it was sent. */
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
 * Reads packed ballots one after the other, position by position, into columns that it uses again: a count of a million
 * ballots makes no object for any of them. Each array is as long as the longest answer so far; `length` says how much holds.
 */
export class BallotReader {
  /** The number of the position that was read last. */
  position = 0;
  length = 0;
  candidates = new Uint32Array(16);
  values = new Float64Array(16);
  #bytes: Uint8Array = new Uint8Array();
  #at = 0;
  #end = 0;

  /** Begins a ballot, which is `bytes` from `start` to before `end`. @throws Error for bytes that no version of this program wrote */
  open(bytes: Uint8Array, start = 0, end = bytes.length): void {
    if (start >= end || bytes[start] !== VERSION) {
      throw new Error(`a ballot is packed in the unknown version ${bytes[start]}`);
    }
    this.#bytes = bytes;
    this.#at = start + 1;
    this.#end = end;
  }

  /** Reads the next position; false at the end of the ballot. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    this.position = this.#varint();
    const length = this.#varint();
    // Every entry takes two bytes at least: a length beyond that is no length.
    if (length * 2 > this.#end - this.#at) throw new Error('a packed ballot ends in the middle of its entries');
    if (length > this.candidates.length) {
      this.candidates = new Uint32Array(length * 2);
      this.values = new Float64Array(length * 2);
    }
    const { candidates, values } = this;
    for (let entry = 0; entry < length; entry += 1) {
      candidates[entry] = this.#varint();
      const value = this.#varint();
      // Small numbers take the short way: this runs for every entry of every ballot.
      values[entry] = value < 0x80 ? (value & 1 ? -((value + 1) >> 1) : value >> 1) : unzigzag(value);
    }
    this.length = length;
    return true;
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
