/** A list in a block of sealed ballots: each item after its length, an unsigned LEB128 varint. `split_list` in SQL reads the same. */
/** A byte from this value on is followed by another byte of the same varint. */
export const LONG = 0x80;
/** Limits a length to four bytes, far above the size limit of a request. */
const MAX_SHIFT = 21;

export function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= LONG) {
    bytes.push((rest % LONG) | LONG);
    rest = Math.floor(rest / LONG);
  }
  bytes.push(rest);
}

export function packList(items: readonly Uint8Array[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const item of items) {
    const head: number[] = [];
    pushVarint(head, item.length);
    parts.push(Uint8Array.from(head), item);
  }
  return Buffer.concat(parts);
}

/** Passes start and end of each item of a list to `take`. @returns the number of items @throws RangeError if it ends within an item */
export function eachItem(
  bytes: Uint8Array,
  start: number,
  end: number,
  take: (start: number, end: number, index: number) => void,
): number {
  let at = start;
  let index = 0;
  while (at < end) {
    let byte = bytes[at] as number;
    let length = byte & 0x7f;
    at += 1;
    for (let shift = 7; byte >= LONG; shift += 7) {
      if (at >= end || shift > MAX_SHIFT) throw new RangeError('a list ends within the length of an item');
      byte = bytes[at] as number;
      length |= (byte & 0x7f) << shift;
      at += 1;
    }
    if (at + length > end) throw new RangeError('a list ends within an item');
    take(at, at + length, index);
    at += length;
    index += 1;
  }
  return index;
}

/** The items of a list, as views of its bytes. @throws RangeError for a list that ends within an item */
export function splitList(list: Buffer): Buffer[] {
  const items: Buffer[] = [];
  eachItem(list, 0, list.length, (start, end) => items.push(list.subarray(start, end)));
  return items;
}
