/** An element of an array; bytes for `bytea`, a whole number for `bigint`, JSON text for `jsonb`. */
export type ArrayElement = string | number | bigint | Uint8Array | null;

/** The types that arrays are made of here, by the number under which PostgreSQL knows each. */
const TYPE_NUMBERS = { text: 25, bytea: 17, bigint: 20, jsonb: 3802 } as const;
export type ElementType = keyof typeof TYPE_NUMBERS;

/** Dimensions, whether there are nulls, the type, how many elements, the number of the first. */
const HEAD_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
const BIGINT_BYTES = 8;
/** In front of the text. */
const JSONB_VERSION = 1;

function bytesOf(type: ElementType, element: ArrayElement): number {
  if (element === null) return 0;
  if (type === 'bigint') return BIGINT_BYTES;
  const bytes = typeof element === 'string' ? Buffer.byteLength(element) : (element as Uint8Array).length;
  return type === 'jsonb' ? 1 + bytes : bytes;
}

/**
 * A parameter of an array type in PostgreSQL's binary form, which pg sends as it is. As text, bytes would be twice as long in
 * hexadecimal, every element would be looked through for quotes, and the database would parse all of it.
 */
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
