/**
 * Canonical JSON (RFC 8785, JCS): names sorted by UTF-16 code units, no white space, numbers as ECMAScript writes
 * them. Two programs with the same value hash the same bytes.
 * @throws TypeError for values that JSON cannot represent: undefined, holes, functions, bigints, NaN, infinities, lone surrogates,
 * and objects of a class (a Date, Map or Buffer would silently become other data).
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError('JSON has no number that is not finite');
    return JSON.stringify(value);
  }
  if (typeof value === 'string') return canonicalText(value);
  if (Array.isArray(value)) return canonicalList(value);
  if (typeof value === 'object') {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) throw new TypeError('JSON has no objects of a class');
    return canonicalObject(value as Readonly<Record<string, unknown>>);
  }
  throw new TypeError(`JSON has no ${typeof value}`);
}

/** Texts without a character that needs an escape: most texts of a request. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

function canonicalText(text: string): string {
  if (PLAIN_TEXT.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw new TypeError('JSON has no half of a surrogate pair');
  return JSON.stringify(text);
}

function canonicalList(list: readonly unknown[]): string {
  let items = '';
  // This loop reads a hole as undefined, which is rejected. `map` would skip the hole and leave two commas in a row.
  for (const item of list) items += items === '' ? canonicalJson(item) : `,${canonicalJson(item)}`;
  return `[${items}]`;
}

/** Objects with more names use the engine's sort, whose overhead would be most of the time for a small object. */
const FEW_NAMES = 12;

/** Sorts in place by UTF-16 code units, as RFC 8785 demands; `sort()` without a comparator does the same. */
function sortNames(names: string[]): string[] {
  if (names.length > FEW_NAMES) return names.sort();
  for (let end = 1; end < names.length; end += 1) {
    const name = names[end] ?? '';
    let place = end;
    for (; place > 0; place -= 1) {
      const before = names[place - 1] ?? '';
      if (before <= name) break;
      names[place] = before;
    }
    names[place] = name;
  }
  return names;
}

function canonicalObject(value: Readonly<Record<string, unknown>>): string {
  let members = '';
  for (const name of sortNames(Object.keys(value))) {
    members += `${members === '' ? '' : ','}${canonicalText(name)}:${canonicalJson(value[name])}`;
  }
  return `{${members}}`;
}
