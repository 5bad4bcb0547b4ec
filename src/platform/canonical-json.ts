/**
 * JSON in the one form of RFC 8785 (JCS): names sorted by UTF-16 code units, no white space, numbers as ECMAScript writes
 * them. Two programs that hold the same value hash the same bytes.
 * @throws TypeError for what JSON cannot say: undefined, functions, NaN, infinities, half surrogate pairs.
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
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object') {
    // The default order of sort() is that of UTF-16 code units, as the RFC asks.
    const members = Object.entries(value)
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, member]) => `${canonicalJson(name)}:${canonicalJson(member)}`);
    return `{${members.join(',')}}`;
  }
  throw new TypeError(`JSON has no ${typeof value}`);
}
