/** An element of an array; bytes for `bytea`, a whole number for `bigint`, JSON text for `jsonb`. */
export type ArrayElement = string | number | bigint | Uint8Array | null;

/** The element types, with PostgreSQL's OID of each. */
const TYPE_NUMBERS = { text: 25, bytea: 17, bigint: 20, jsonb: 3802 } as const;
export type ElementType = keyof typeof TYPE_NUMBERS;

/** Header, 4 bytes each: dimensions, flag for nulls, OID of the type, number of elements, lower bound. */
const HEAD_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
const BIGINT_BYTES = 8;
/** The byte that precedes the text of a binary jsonb. */
const JSONB_VERSION = 1;

function bytesOf(type: ElementType, element: ArrayElement): number {
  if (element === null) return 0;
  if (type === 'bigint') return BIGINT_BYTES;
  const bytes = typeof element === 'string' ? Buffer.byteLength(element) : (element as Uint8Array).length;
  return type === 'jsonb' ? 1 + bytes : bytes;
}

/** Encodes an array in PostgreSQL's binary format: text would double bytea, and search each element for quotes. */
export function binaryArray(type: ElementType, elements: readonly ArrayElement[]): Buffer {
  const lengths = elements.map((element) => bytesOf(type, element));
  const length = lengths.reduce((sum, bytes) => sum + LENGTH_BYTES + bytes, HEAD_BYTES);
  const array = Buffer.allocUnsafe(length);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(elements.includes(null) ? 1 : 0, 4);
  array.writeInt32BE(TYPE_NUMBERS[type], 8);
  array.writeInt32BE(elements.length, 12);
  array.writeInt32BE(1, 16);
  let at = HEAD_BYTES;
  for (const [index, element] of elements.entries()) {
    const bytes = lengths[index] ?? 0;
    array.writeInt32BE(element === null ? NULL_LENGTH : bytes, at);
    at += LENGTH_BYTES;
    if (element !== null) writeElement(array, at, type, element);
    at += bytes;
  }
  return array;
}

function writeElement(array: Buffer, at: number, type: ElementType, element: NonNullable<ArrayElement>): void {
  if (type === 'bigint') array.writeBigInt64BE(BigInt(element as number | bigint), at);
  else if (typeof element !== 'string') array.set(element as Uint8Array, at);
  else if (type !== 'jsonb') array.write(element, at);
  else {
    array[at] = JSONB_VERSION;
    array.write(element, at + 1);
  }
}
