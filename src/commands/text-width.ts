// How wide terminals draw text: a table of names from all over the world stays a table.

/** Ranges of code points that take two columns (East Asian Width W and F), without those that are drawn as emoji. */
const WIDE: readonly (readonly [first: number, last: number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18cff],
  [0x1aff0, 0x1b2ff],
  [0x1f200, 0x1f2ff],
  [0x20000, 0x3fffd],
];

const EMOJI = /\p{Emoji_Presentation}|\uFE0F/u;
const WITHOUT_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]*$/u;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

function graphemeWidth(grapheme: string): number {
  if (WITHOUT_WIDTH.test(grapheme)) return 0;
  const first = grapheme.codePointAt(0) ?? 0;
  if (EMOJI.test(grapheme)) return 2;
  return WIDE.some(([from, to]) => from <= first && first <= to) ? 2 : 1;
}

/** Columns of a terminal that a text takes. */
export function textWidth(text: string): number {
  // Most texts are ASCII: a column each.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** Fills a text with spaces to a width in columns, on the left where numbers are to stand under each other. */
export function padTo(text: string, width: number, side: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, width - textWidth(text)));
  return side === 'left' ? space + text : text + space;
}
