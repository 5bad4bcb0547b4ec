import { setImmediate } from 'node:timers/promises';
import encodeQR from 'qr';
import { type Language, mailWords } from '#src/mail/mail-words.ts';
import { reportWords } from '#src/results/report/report-words.ts';
import { ACCENT, INK, MUTED, PALE, RULE, Sheet, type SheetOptions, WARNING } from '#src/results/report/sheet.ts';
import { isolate } from '#src/results/report/text-runs.ts';
import { lineHeight, type TextStyle } from '#src/results/report/text-setter.ts';

export interface Letter {
  readonly name: string;
  readonly key: string;
  /** What the voter enters together with the key. */
  readonly identity: { readonly kind: 'voterId' | 'email'; readonly value: string };
  /** URL of the voting page with the voter's own fragment; null if the event has no voting page. */
  readonly link: string | null;
}

export interface LetterOrder {
  readonly paper: SheetOptions['paper'];
  readonly language: Language;
  readonly title: string;
  readonly author: string;
  readonly madeAt: number;
  readonly rehearsal: boolean;
  /** Sentences with the times at which voting begins and ends. */
  readonly times: readonly string[];
  readonly contactEmail: string | null;
  readonly letters: readonly Letter[];
}

const mm = (millimetres: number): number => (millimetres * 72) / 25.4;

/**
 * The fold lines, and the area that stays visible in the envelope's window however the letter shifts in the envelope. A4: DIN 5008
 * form B in a DL envelope, 5 mm of play. Letter: a sheet folded in thirds in a No. 10 envelope, 0.46 in of play.
 */
const FORMATS = {
  a4: { folds: [mm(105), mm(210)], window: { x: mm(25), y: mm(58), width: mm(80), height: mm(31) } },
  letter: { folds: [264, 528], window: { x: 74, y: 181, width: 300, height: 46 } },
} as const;

const FOLD_MARK = { from: 12, to: 24 } as const;
const BELOW_FOLD = 22;
const ADDRESS: TextStyle = { size: 12, color: INK };
const SMALLEST = 6;
const GAP = 7;
const KEY_PADDING = 12;
const QR_LEAST = mm(34);
/** Smallest module that cameras read, in points. */
const QR_MODULE = 1.25;
/** Capacity of the densest QR code in bytes, minus a reserve. */
const QR_MOST_BYTES = 2_900;
/** Most lines of a paragraph; a longer text is cut. */
const MOST_LINES = 4;

/** A part of the text below the fold: its height, and how to draw it at `y`. */
interface Block {
  readonly height: number;
  draw(y: number): void;
}

/** Breaks a text into at most `most` lines. The last line ends with an ellipsis if the text has more. */
function cutLines(sheet: Sheet, text: string, style: TextStyle, width: number, most: number): readonly string[] {
  const lines = sheet.text.lines(text, style, width);
  const last = lines[most - 1];
  if (lines.length <= most || last === undefined) return lines;
  return [...lines.slice(0, most - 1), sheet.text.cut(`${last}…`, style, width)];
}

/** Draws name and identity, in a font as large as the window allows. */
function drawAddress(sheet: Sheet, order: LetterOrder, { name, identity }: Letter): void {
  const { x, y, width, height } = FORMATS[order.paper].window;
  const below = mailWords(order.language).letter[identity.kind](isolate(identity.value));
  let size = ADDRESS.size;
  for (;;) {
    const [bold, plain] = [
      { ...ADDRESS, size, bold: true },
      { ...ADDRESS, size: size * 0.85, color: MUTED },
    ];
    const [lines, more] = [sheet.text.lines(name, bold, width), sheet.text.lines(below, plain, width)];
    if (lines.length * lineHeight(bold) + more.length * lineHeight(plain) > height && size > SMALLEST) {
      size -= 0.5;
      continue;
    }
    const room = Math.floor(height / lineHeight(bold));
    const shown = cutLines(sheet, name, bold, width, Math.max(1, room - 1));
    sheet.content('P', () => sheet.box(shown, x, y, width, bold));
    const from = y + shown.length * lineHeight(bold);
    const left = Math.max(1, Math.floor((y + height - from) / lineHeight(plain)));
    sheet.content('P', () => sheet.box(cutLines(sheet, below, plain, width, left), x, from, width, plain));
    return;
  }
}

function drawFolds(sheet: Sheet, order: LetterOrder): void {
  sheet.artifact(() => {
    for (const y of FORMATS[order.paper].folds) sheet.stroke(0.5, RULE, [FOLD_MARK.from, y], [FOLD_MARK.to, y]);
  });
}

const paragraph = (sheet: Sheet, text: string, style: TextStyle, most: number, type = 'P'): Block => {
  const lines = cutLines(sheet, text, style, sheet.width, most);
  return {
    height: lines.length * lineHeight(style) + GAP,
    draw: (y) => sheet.content(type, () => sheet.box(lines, sheet.left, y, sheet.width, style)),
  };
};

type Modules = readonly (readonly boolean[])[];

/** The modules of a QR code row by row, with its quiet zone; undefined if the text is too long for a code. */
export function modulesOf(link: string): Modules | undefined {
  if (Buffer.byteLength(link) > QR_MOST_BYTES) return undefined;
  const ecc = Buffer.byteLength(link) > QR_MOST_BYTES / 4 ? 'low' : 'medium';
  return encodeQR(link, 'raw', { ecc, encoding: 'byte', border: 4 });
}

function drawCode(sheet: Sheet, modules: Modules, x: number, y: number, side: number): void {
  const step = side / modules.length;
  sheet.doc.rect(x, y, side, side).fill('#ffffff');
  modules.forEach((row, top) => {
    for (let at = 0; at < row.length; at += 1) {
      if (row[at] !== true) continue;
      const from = at;
      while (row[at + 1] === true) at += 1;
      // Slightly higher than a row, so that no light line shows between two rows.
      sheet.doc.rect(x + from * step, y + top * step, (at - from + 1) * step, step * 1.02);
    }
  });
  sheet.doc.fill('#000000');
}

/** The key and the voter's identity in a box, with the QR code beside them. */
function keyBlock(
  sheet: Sheet,
  order: LetterOrder,
  { key, identity }: Letter,
  modules: Modules | undefined,
  size: number,
): Block {
  const words = mailWords(order.language).letter;
  const side = modules === undefined ? 0 : Math.max(QR_LEAST, modules.length * QR_MODULE);
  const caption = { size: size * 0.8, color: MUTED };
  const scan = modules === undefined ? [] : sheet.text.lines(words.scan, caption, side);
  const width = sheet.width - 2 * KEY_PADDING - (side === 0 ? 0 : side + 2 * KEY_PADDING);
  const large = { size: size * 1.9, bold: true, color: ACCENT };
  // Shrink the key to one line if the QR code leaves little width.
  const keyStyle = { ...large, size: large.size * Math.min(1, width / sheet.text.width(key, large)) };
  const style = { size, color: INK };
  const named = sheet.text.lines(words[identity.kind](isolate(identity.value)), style, width);
  const text = lineHeight(caption) + lineHeight(keyStyle) + GAP + named.length * lineHeight(style);
  const inner = Math.max(text, side + scan.length * lineHeight(caption));
  const draw = (top: number): void => {
    sheet.artifact(() => sheet.doc.rect(sheet.left, top, sheet.width, inner + 2 * KEY_PADDING).fill(PALE));
    const [x, y] = [sheet.left + KEY_PADDING, top + KEY_PADDING];
    sheet.content('P', () => sheet.box([words.key], x, y, width, caption));
    const keyTop = y + lineHeight(caption);
    sheet.content('P', () => sheet.box([key], x, keyTop, width, keyStyle));
    sheet.content('P', () => sheet.box(named, x, keyTop + lineHeight(keyStyle) + GAP, width, style));
    if (modules === undefined) return;
    const right = sheet.left + sheet.width - KEY_PADDING - side;
    sheet.content('Figure', () => drawCode(sheet, modules, right, y, side), { alt: words.scan });
    sheet.content('P', () => sheet.box(scan, right, y + side, side, caption, 'center'));
  };
  return { height: inner + 2 * KEY_PADDING + GAP, draw };
}

/** Makes all blocks of a letter below the first fold, at font size `size`. */
function blocksOf(
  sheet: Sheet,
  order: LetterOrder,
  letter: Letter,
  modules: Modules | undefined,
  size: number,
): Block[] {
  const words = mailWords(order.language);
  const body = { size, color: INK };
  const title = isolate(order.title);
  const page = letter.link?.split('#')[0];
  const say = (text: string, style: TextStyle = body): Block => paragraph(sheet, text, style, MOST_LINES);
  return [
    ...(order.rehearsal ? [say(words.rehearsal, { ...body, bold: true, color: WARNING })] : []),
    paragraph(sheet, words.key.subject(title), { size: size * 1.4, bold: true, color: INK }, MOST_LINES, 'H1'),
    say(words.hello(isolate(letter.name))),
    say(words.letter.intro(title)),
    keyBlock(sheet, order, letter, modules, size),
    say(words.letter.use[letter.identity.kind]),
    ...(page === undefined ? [] : [say(words.letter.page(page))]),
    ...order.times.map((time) => say(time)),
    ...(order.contactEmail === null ? [] : [say(words.contact(order.contactEmail))]),
    say(words.letter.opened, { ...body, color: MUTED }),
  ];
}

function drawLetter(sheet: Sheet, order: LetterOrder, letter: Letter): void {
  drawFolds(sheet, order);
  drawAddress(sheet, order, letter);
  const top = (FORMATS[order.paper].folds[0] ?? 0) + BELOW_FOLD;
  // Made once for all font sizes: encoding the densest code takes 20 ms.
  const modules = letter.link === null ? undefined : modulesOf(letter.link);
  for (let size = 10.5; ; size -= 0.75) {
    const blocks = blocksOf(sheet, order, letter, modules, size);
    const height = blocks.reduce((sum, block) => sum + block.height, 0);
    if (top + height > sheet.doc.page.height - BELOW_FOLD && size > SMALLEST) continue;
    let y = top;
    for (const block of blocks) {
      block.draw(y);
      y += block.height;
    }
    return;
  }
}

const TURN = 20;

/** Runs in a thread: draws letters as a tagged PDF, one page a voter. */
export async function work(order: LetterOrder): Promise<Uint8Array<ArrayBuffer>> {
  const words = mailWords(order.language);
  const sheet = new Sheet({
    paper: order.paper,
    words: reportWords(order.language),
    title: words.key.subject(order.title),
    author: order.author,
    subject: words.key.subject(order.title),
    madeAt: new Date(order.madeAt),
    letsGo: true,
  });
  for (const [index, letter] of order.letters.entries()) {
    if (index % TURN === 0) await setImmediate();
    if (index > 0) sheet.newPage();
    sheet.group('Sect', () => drawLetter(sheet, order, letter));
  }
  return sheet.finish(() => undefined);
}
