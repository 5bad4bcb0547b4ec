/** How a language writes values. */
interface LiteralStyle {
  readonly text: (text: string) => string;
  readonly name: (name: string) => string;
  readonly is: string;
  readonly object: readonly [open: string, close: string];
  readonly list: readonly [open: string, close: string];
  /** Spaces that each level stands further in. */
  readonly step: number;
  readonly words: readonly [yes: string, no: string, nothing: string];
}

const singleQuoted = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;

export const TYPESCRIPT: LiteralStyle = {
  text: singleQuoted,
  name: (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : singleQuoted(name)),
  is: ': ',
  object: ['{ ', ' }'],
  list: ['[', ']'],
  step: 2,
  words: ['true', 'false', 'null'],
};

export const PYTHON: LiteralStyle = {
  text: (text) => JSON.stringify(text),
  name: (name) => JSON.stringify(name),
  is: ': ',
  object: ['{', '}'],
  list: ['[', ']'],
  step: 4,
  words: ['True', 'False', 'None'],
};

export const PHP: LiteralStyle = {
  // A line break within single quotes is one; `\n` there would be two characters.
  text: (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`,
  name: (name) => `'${name}'`,
  is: ' => ',
  object: ['[', ']'],
  list: ['[', ']'],
  step: 4,
  words: ['true', 'false', 'null'],
};

/** What fits into this many columns stands on one line. */
const WIDTH = 72;

/** A JSON value in another language. @param indent of the line on which it begins, in spaces */
export function writeLiteral(value: unknown, style: LiteralStyle, indent = 0): string {
  const [yes, no, nothing] = style.words;
  if (typeof value === 'string') return style.text(value);
  if (typeof value === 'boolean') return value ? yes : no;
  if (typeof value !== 'object' || value === null) return value === null ? nothing : String(value);
  const [open, close] = Array.isArray(value) ? style.list : style.object;
  const partsAt = (inner: number): string[] =>
    Array.isArray(value)
      ? value.map((one) => writeLiteral(one, style, inner))
      : Object.entries(value).map(([name, one]) => `${style.name(name)}${style.is}${writeLiteral(one, style, inner)}`);
  const parts = partsAt(indent);
  if (parts.length === 0) return emptyOf(value, style);
  const line = `${open}${parts.join(', ')}${close}`;
  if (line.length + indent <= WIDTH && !line.includes('\n')) return line;
  const inner = indent + style.step;
  const lines = partsAt(inner).map((part) => `${' '.repeat(inner)}${part},\n`);
  return `${open.trim()}\n${lines.join('')}${' '.repeat(indent)}${close.trim()}`;
}

/** PHP has one kind of array: an empty object must say that it is one. */
const emptyOf = (value: object, style: LiteralStyle): string => {
  const [open, close] = Array.isArray(value) ? style.list : style.object;
  return style === PHP && !Array.isArray(value) ? '(object) []' : `${open.trim()}${close.trim()}`;
};
