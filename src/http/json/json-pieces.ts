/** Levels that are written element by element: a body, its list, a list within an object of it. */
const LEVELS = 3;

/**
 * The text that `JSON.stringify` gives for a plain value, in pieces of one element each: a list of a thousand rows can go
 * out row by row. Values below the third level are one piece with what holds them.
 */
export function* jsonPieces(value: unknown, levels = LEVELS): Generator<string> {
  if (levels === 0 || typeof value !== 'object' || value === null || 'toJSON' in value) {
    yield JSON.stringify(value) ?? 'null';
    return;
  }
  const isArray = Array.isArray(value);
  let before = isArray ? '[' : '{';
  for (const [name, element] of isArray ? value.entries() : Object.entries(value)) {
    if (!isArray && (element === undefined || typeof element === 'function')) continue;
    yield isArray ? before : `${before}${JSON.stringify(name)}:`;
    yield* jsonPieces(element, levels - 1);
    before = ',';
  }
  const empty = before !== ',';
  if (isArray) yield empty ? '[]' : ']';
  else yield empty ? '{}' : '}';
}
