import type PDFDocument from 'pdfkit';
import { fontFile, hasBold } from './font-shelf.ts';
import { isolateLines, isPlain, splitRuns, type TextRun, withoutIsolates } from './text-runs.ts';

export interface TextStyle {
  /** In points. */
  readonly size: number;
  readonly bold?: boolean;
  readonly color?: string;
}

/** Baseline and line height as multiples of the font size. They leave room for the marks of Vietnamese and Devanagari. */
const BASELINE = 1.07;
const LEADING = 1.42;
/** The OpenType features of a run, in pdfkit's form. */
type Layout = Pick<PDFKit.Mixins.TextOptions, 'features'>;
// pdfkit's types allow only a list of features to enable, not the object that can also disable features.
const MARKS_UNPLACED = { features: { mark: false, mkmk: false, abvm: false, blwm: false } } as unknown as Layout;
const MISSING_COLOR = '#9a6700';
const ELLIPSIS = '…';
const MAX_KEPT_WIDTHS = 20_000;
const MAX_KEPT_PARAGRAPHS = 1_000;

export const lineHeight = (style: TextStyle): number => style.size * LEADING;

const words = new Intl.Segmenter('en', { granularity: 'word' });
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

const charactersOf = (text: string): string[] => Array.from(graphemes.segment(text), ({ segment }) => segment);

/** The largest number up to `all` that fits; 0 if none fits. Measuring a text takes time, so few numbers far above the result are tried. */
function mostThat(all: number, fits: (count: number) => boolean): number {
  let [low, high] = [0, 1];
  while (high <= all && fits(high)) [low, high] = [high, high * 2];
  high = Math.min(high - 1, all);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Splits a text where a line may break: after spaces, and between words of scripts without spaces; never before closing punctuation. */
function breakable(text: string): string[] {
  const parts: string[] = [];
  for (const { segment, isWordLike } of words.segment(text)) {
    const last = parts.at(-1);
    const glued =
      last !== undefined &&
      (isWordLike === true
        ? /[^\s-]$/.test(last) && !UNSPACED.test(segment) && !UNSPACED.test(last)
        : !(/\s$/.test(last) && OPENING.test(segment)));
    if (glued) parts[parts.length - 1] = last + segment;
    else parts.push(segment);
  }
  return parts;
}
/** Opening punctuation, which belongs to the next word. */
const OPENING = /^[\p{Ps}\p{Pi}]/u;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** Measures, breaks, cuts and draws lines of any script in the embedded faces. */
export class TextSetter {
  readonly #doc: InstanceType<typeof PDFDocument>;
  readonly #registered = new Set<string>();
  /** Widths at size 1, by boldness and text. They are cached because names recur in charts, tables and rounds. */
  readonly #widths = new Map<string, number>();
  /** Lines by boldness, width at size 1 and text. They are cached because each of 5,000 letters has the same paragraphs. */
  readonly #paragraphs = new Map<string, readonly string[]>();

  constructor(doc: InstanceType<typeof PDFDocument>) {
    this.#doc = doc;
  }

  #use(run: TextRun, style: TextStyle): void {
    const bold = style.bold === true && hasBold(run.face);
    const name = `${run.face}${bold ? '-bold' : ''}`;
    if (!this.#registered.has(name)) {
      this.#doc.registerFont(name, fontFile(run.face, bold));
      this.#registered.add(name);
    }
    this.#doc.font(name, style.size);
  }

  /** Measures a run. Its marks are placed on the letters, or left unplaced if the font cannot place them. */
  #measure(run: TextRun, style: TextStyle): { readonly width: number; readonly layout: Layout } {
    this.#use(run, style);
    const layout: Layout = run.rightToLeft ? { features: [] } : {};
    try {
      return { width: this.#doc.widthOfString(run.text, layout), layout };
    } catch (fault) {
      if (!(fault instanceof TypeError)) throw fault;
      // fontkit throws if the font has no position for a mark on a letter: leave the marks unplaced.
      return { width: this.#doc.widthOfString(run.text, MARKS_UNPLACED), layout: MARKS_UNPLACED };
    }
  }

  width(text: string, style: TextStyle): number {
    const key = `${style.bold === true ? 'b' : 'r'}${text}`;
    let unit = this.#widths.get(key);
    if (unit === undefined) {
      unit = splitRuns(text).reduce((sum, run) => sum + this.#measure(run, style).width, 0) / style.size;
      if (this.#widths.size >= MAX_KEPT_WIDTHS) this.#widths.clear();
      this.#widths.set(key, unit);
    }
    return unit * style.size;
  }

  /** Breaks a text into lines of at most `width`. A longer word is broken between characters. */
  lines(text: string, style: TextStyle, width: number): readonly string[] {
    const key = `${style.bold === true ? 'b' : 'r'}${width / style.size} ${text}`;
    const known = this.#paragraphs.get(key);
    if (known !== undefined) return known;
    const lines = this.#break(text, style, width);
    if (this.#paragraphs.size >= MAX_KEPT_PARAGRAPHS) this.#paragraphs.clear();
    this.#paragraphs.set(key, lines);
    return lines;
  }

  #break(text: string, style: TextStyle, width: number): string[] {
    if (this.width(text, style) <= width) return [text];
    const fitting = (parts: readonly string[]): number =>
      mostThat(parts.length, (count) => this.width(parts.slice(0, count).join('').trimEnd(), style) <= width);
    const lines: string[] = [];
    let parts = breakable(text);
    while (parts.length > 0) {
      let count = fitting(parts);
      const [word = ''] = parts;
      if (count === 0) {
        parts = [...charactersOf(word), ...parts.slice(1)];
        count = Math.max(1, fitting(parts.slice(0, word.length)));
      }
      lines.push(parts.slice(0, count).join('').trimEnd());
      parts = parts.slice(count);
    }
    return isolateLines(lines.filter((line) => line !== ''));
  }

  /** The text if it fits; otherwise as much of its beginning as fits, with an ellipsis. */
  cut(text: string, style: TextStyle, width: number): string {
    if (this.width(text, style) <= width) return text;
    const characters = charactersOf(text);
    const shown = (count: number): string => characters.slice(0, count).join('').trimEnd() + ELLIPSIS;
    return shown(mostThat(characters.length, (count) => this.width(shown(count), style) <= width));
  }

  /** Draws one line. Its top left corner is at the given point. */
  draw(text: string, x: number, top: number, style: TextStyle): void {
    const runs = splitRuns(text);
    // Glyphs of other text than plain Latin are reordered, joined and split: attach the text itself, for reading aloud and searching.
    const plain = isPlain(text);
    if (!plain) this.#doc.markContent('Span', { actual: withoutIsolates(text) });
    let left = x;
    for (const run of runs) {
      const { width, layout } = this.#measure(run, style);
      this.#doc.fillColor(run.missing ? MISSING_COLOR : (style.color ?? '#1b1f24'));
      this.#doc.text(run.text, left, top + style.size * BASELINE, {
        lineBreak: false,
        baseline: 'alphabetic',
        ...layout,
      });
      left += width;
    }
    if (!plain) this.#doc.endMarkedContent();
  }
}
