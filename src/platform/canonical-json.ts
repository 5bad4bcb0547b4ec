/**
 * JSON in the one form of RFC 8785 (JCS): names sorted by UTF-16 code units, no white space, numbers as ECMAScript writes
 * them. Two programs that hold the same value hash the same bytes.
 * @throws TypeError for what JSON cannot say: undefined, holes, functions, bigints, NaN, infinities, half surrogate pairs,
 * and objects of a class (a Date, Map or Buffer would silently become other data).
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError('JSON has no number that is not finite');
    return JSON.stringify(value);
  }
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw new TypeError('JSON has no half of a surrogate pair');
    return JSON.stringify(value);
  }
  // Array.from visits holes, which map() would pass over and leave two commas in a row.
  if (Array.isArray(value)) return `[${Array.from(value, canonicalJson).join(',')}]`;
  if (typeof value === 'object') {
    if (!isPlain(value)) throw new TypeError('JSON has no objects of a class');
    // The default comparison of strings is that of UTF-16 code units, as the RFC asks.
    const members = Object.entries(value)
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, member]) => `${canonicalJson(name)}:${canonicalJson(member)}`);
    return `{${members.join(',')}}`;
  }
  throw new TypeError(`JSON has no ${typeof value}`);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
