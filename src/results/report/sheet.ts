import { Buffer } from 'node:buffer';
import PDFDocument from 'pdfkit';
import type { ReportWords } from './report-words.ts';
import { withoutIsolates } from './text-runs.ts';
import { lineHeight, TextSetter, type TextStyle } from './text-setter.ts';

export const INK = '#1b1f24';
export const MUTED = '#57606a';
export const RULE = '#d0d7de';
export const PALE = '#f3f5f7';
export const TRACK = '#eaeef2';
export const ACCENT = '#1f4e79';
export const WON = '#1a7f37';
export const WARNING = '#9a6700';
export const LOST = '#a40e26';

export type Align = 'left' | 'right' | 'center';
type Structure = ReturnType<InstanceType<typeof PDFDocument>['struct']>;

const MARGIN = 54;
const TOP = 54;
const BOTTOM = 62;
const PAPERS = { a4: 'A4', letter: 'LETTER' } as const;

export interface SheetOptions {
  readonly paper: keyof typeof PAPERS;
  /** The document's own texts, in contrast to the organizer's. */
  readonly words: ReportWords;
  readonly title: string;
  readonly author: string;
  readonly subject: string;
  /** Creation date in the document's metadata. */
  readonly madeAt: Date;
  /** Frees each page when the next one begins, so that thousands fit into memory. `finish` can then draw on the last page only. */
  readonly letsGo?: boolean;
}

/** Pages that fill from top to bottom. All that is drawn belongs to the structure of a tagged PDF, or is an artifact outside of it. */
export class Sheet {
  readonly doc: InstanceType<typeof PDFDocument>;
  readonly text: TextSetter;
  readonly words: ReportWords;
  readonly left = MARGIN;
  readonly width: number;
  /** Position of the next content, in points from the top. */
  y = TOP;
  readonly #chunks: Buffer[] = [];
  readonly #parents: Structure[] = [];
  readonly #finished: Promise<void>;
  /** Headings that are not drawn yet. `ensure` draws them on the same page as the content that follows. */
  readonly #headings: { readonly height: number; readonly keep: number; readonly draw: () => void }[] = [];

  constructor(options: SheetOptions) {
    const settings = {
      size: PAPERS[options.paper],
      margins: { top: 0, bottom: 0, left: 0, right: 0 },
      bufferPages: options.letsGo !== true,
      pdfVersion: '1.7',
      subset: 'PDF/UA',
      tagged: true,
      displayTitle: true,
      lang: options.words.language,
      font: '',
      info: {
        Title: options.title,
        Author: options.author,
        Subject: options.subject,
        Creator: options.author,
        CreationDate: options.madeAt,
        ModDate: options.madeAt,
      },
    };
    // pdfkit's types lack PDF/UA, and the empty font name that keeps the built-in font out.
    this.doc = new PDFDocument(settings as unknown as PDFKit.PDFDocumentOptions);
    this.doc.on('data', (chunk: Buffer) => this.#chunks.push(chunk));
    this.#finished = new Promise((resolve, reject) => {
      this.doc.once('end', resolve);
      this.doc.once('error', reject);
    });
    this.text = new TextSetter(this.doc);
    this.words = options.words;
    this.width = this.doc.page.width - 2 * MARGIN;
  }

  get bottom(): number {
    return this.doc.page.height - BOTTOM;
  }

  get pageHeight(): number {
    return this.bottom - TOP;
  }

  newPage(): void {
    this.doc.addPage();
    this.y = TOP;
  }

  /** Whether the page has this height left below the waiting headings. */
  fits(height: number): boolean {
    const waiting = this.#headings.reduce((sum, heading) => sum + heading.height, 0);
    const keep = Math.max(0, ...this.#headings.map((heading) => heading.keep));
    return this.y + waiting + Math.max(height, keep) <= this.bottom;
  }

  /** Starts a new page unless this height is left, then draws the waiting headings. */
  ensure(height: number): void {
    if (!this.fits(height) && this.y > TOP) this.newPage();
    for (const { draw } of this.#headings.splice(0)) draw();
  }

  /** Makes everything that `work` draws part of one structure element. */
  group(type: string, work: () => void): void {
    const element = this.doc.struct(type);
    this.#add(element);
    this.#parents.push(element);
    work();
    this.#parents.pop();
    element.end();
  }

  /** Draws one structure element: a paragraph, a cell, a figure with an alternative text. */
  content(
    type: string,
    draw: () => void,
    options: { readonly alt?: string; readonly scope?: 'Column' | 'Row' } = {},
  ): void {
    this.#add(this.doc.struct(type, options as Parameters<typeof this.doc.struct>[1], draw));
  }

  #add(element: Structure): void {
    const parent = this.#parents.at(-1);
    if (parent === undefined) this.doc.addStructure(element);
    else parent.add(element);
  }

  /** Draws ornaments, which are outside the structure: rules, backgrounds, page numbers. Never call it within `content`. */
  artifact(draw: () => void): void {
    this.doc.markContent('Artifact');
    draw();
    this.doc.endMarkedContent();
  }

  rule(y = this.y, color = RULE, x = this.left, width = this.width): void {
    this.artifact(() => this.stroke(0.6, color, [x, y], [x + width, y]));
  }

  /** Draws a straight line, within `content` or `artifact`. */
  stroke(thickness: number, color: string, from: readonly [number, number], to: readonly [number, number]): void {
    this.doc
      .lineWidth(thickness)
      .strokeColor(color)
      .moveTo(...from)
      .lineTo(...to)
      .stroke();
  }

  /** Draws lines in a box without breaking pages. */
  box(lines: readonly string[], x: number, y: number, width: number, style: TextStyle, align: Align = 'left'): void {
    const step = lineHeight(style);
    lines.forEach((line, index) => {
      const spare = width - this.text.width(line, style);
      const shift = align === 'right' ? spare : align === 'center' ? spare / 2 : 0;
      this.text.draw(line, x + shift, y + index * step, style);
    });
  }

  /** Draws a paragraph over the whole width, on as many pages as it needs. */
  paragraph(text: string, style: TextStyle, gapAfter = 6, type = 'P'): void {
    const step = lineHeight(style);
    const lines = this.text.lines(text, style, this.width);
    this.ensure(Math.min(lines.length, 3) * step);
    for (let at = 0; at < lines.length; ) {
      const room = Math.max(1, Math.floor((this.bottom - this.y) / step));
      const part = lines.slice(at, at + room);
      this.content(type, () => this.box(part, this.left, this.y, this.width, style));
      this.y += part.length * step;
      at += part.length;
      if (at < lines.length) this.newPage();
    }
    this.y += gapAfter;
  }

  /** Adds a heading, never alone at a page's end. @param options `keep`: points below it to keep with it; `outline`: list it in the PDF */
  heading(
    level: 1 | 2 | 3,
    text: string,
    style: TextStyle,
    { keep = 0, gap = 4, outline = false }: { keep?: number; gap?: number; outline?: boolean } = {},
  ): void {
    const lines = this.text.lines(text, style, this.width);
    const height = lines.length * lineHeight(style) + gap;
    const draw = (): void => {
      this.content(`H${level}`, () => this.box(lines, this.left, this.y, this.width, style));
      this.y += height;
      if (outline) this.doc.outline.addItem(withoutIsolates(text));
    };
    this.#headings.push({ height, keep, draw });
  }

  /** Calls `onPage` for every page when all pages exist, and closes the document. */
  async finish(onPage: (page: number, pages: number) => void): Promise<Uint8Array<ArrayBuffer>> {
    this.ensure(0);
    const { start, count } = this.doc.bufferedPageRange();
    for (let page = 0; page < count; page += 1) {
      this.doc.switchToPage(start + page);
      onPage(page + 1, count);
    }
    this.doc.end();
    await this.#finished;
    return Uint8Array.from(Buffer.concat(this.#chunks));
  }
}
