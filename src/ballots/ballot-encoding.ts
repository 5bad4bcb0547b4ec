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

/** Reads packed entries. @throws Error for bytes that no version of this program wrote */
export function unpackEntries(bytes: Uint8Array): PackedPosition[] {
  if (bytes[0] !== VERSION) throw new Error(`a ballot is packed in the unknown version ${bytes[0]}`);
  let at = 1;
  const varint = (): number => {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = bytes[at];
      if (byte === undefined) throw new Error('a packed ballot ends in the middle of a number');
      at += 1;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
  };
  const positions: PackedPosition[] = [];
  while (at < bytes.length) {
    const position = varint();
    const entries = Array.from({ length: varint() }, () => ({ candidate: varint(), value: unzigzag(varint()) }));
    positions.push({ position, entries });
  }
  return positions;
}
