import { shareOf } from '#src/platform/decimal.ts';
import { decimalToScaled } from './exact-figures.ts';
import { ACCENT, INK, MUTED, RULE, type Sheet, TRACK } from './sheet.ts';
import type { TextStyle } from './text-setter.ts';

interface Bar {
  readonly label: string;
  readonly figure: string;
  readonly winner: boolean;
}

export const MAX_BARS = 16;
export const BAR_STEP = 19;
/** A chart that continues on the next page has at least so many bars on each page. */
export const LEAST_BARS = 4;
export const SHARES_HEIGHT = 70;
const THICKNESS = 11;
const LABEL: TextStyle = { size: 8.5, color: INK };
const PLAIN_BAR = '#9fb3c8';

/** The common scale of all bars of a chart. `span`: the largest minus the smallest figure, where 0 counts as a figure. */
function measureOf(sheet: Sheet, bars: readonly Bar[]) {
  const values = bars.map(({ figure }) => decimalToScaled(figure));
  const most = values.reduce((high, value) => (value > high ? value : high), 0n);
  const least = values.reduce((low, value) => (value < low ? value : low), 0n);
  const labelWidth = Math.min(
    sheet.width * 0.36,
    Math.max(60, ...bars.map(({ label, winner }) => sheet.text.width(label, { ...LABEL, bold: winner }))) + 8,
  );
  const figureWidth =
    Math.max(...bars.map(({ figure }) => sheet.text.width(sheet.words.digits(figure), { ...LABEL, bold: true }))) + 8;
  const track = sheet.width - labelWidth - figureWidth;
  const zero = sheet.left + labelWidth + track * shareOf(-least, most - least);
  return { labelWidth, track, zero, span: most - least };
}

function drawBar(
  sheet: Sheet,
  bar: Bar,
  y: number,
  { labelWidth, track, zero, span }: ReturnType<typeof measureOf>,
): void {
  const value = decimalToScaled(bar.figure);
  const length = track * shareOf(value < 0n ? -value : value, span);
  const style = { ...LABEL, bold: bar.winner };
  const label = sheet.text.cut(bar.label, style, labelWidth - 8);
  sheet.text.draw(label, sheet.left + labelWidth - 8 - sheet.text.width(label, style), y + 1, style);
  const start = value < 0n ? zero - length : zero;
  if (length > 0) sheet.doc.rect(start, y + 2, length, THICKNESS).fill(bar.winner ? ACCENT : PLAIN_BAR);
  sheet.text.draw(sheet.words.digits(bar.figure), (value < 0n ? zero : start + length) + 5, y + 1, style);
}

/** Draws bars from zero, beside their figures. A chart may continue on the next page, so that it leaves no half-empty page. */
export function drawBars(sheet: Sheet, bars: readonly Bar[], unit: string): void {
  const { charts } = sheet.words;
  const shown = bars.slice(0, MAX_BARS);
  const measure = measureOf(sheet, shown);
  const more = bars.length - shown.length;
  const note = more > 0 ? charts.moreBars(more) : undefined;
  const noteHeight = note === undefined ? 0 : 14;
  for (let at = 0; at < shown.length; ) {
    sheet.ensure(Math.min(LEAST_BARS, shown.length - at) * BAR_STEP + noteHeight + 4);
    const room = Math.max(1, Math.floor((sheet.bottom - sheet.y - noteHeight - 4) / BAR_STEP));
    // Leave at least two bars for the next page.
    const left = shown.length - at;
    const part = shown.slice(at, at + (left - room === 1 && room > LEAST_BARS ? room - 1 : room));
    const isLast = at + part.length === shown.length;
    const top = sheet.y;
    const named = part.map(({ label, figure }) => `${label} ${sheet.words.digits(figure)}`);
    if (isLast && note !== undefined) named.push(note);
    sheet.content(
      'Figure',
      () => {
        for (const [index, bar] of part.entries()) drawBar(sheet, bar, top + index * BAR_STEP, measure);
        sheet.stroke(0.8, RULE, [measure.zero, top], [measure.zero, top + part.length * BAR_STEP - 2]);
        if (isLast && note !== undefined)
          sheet.text.draw(note, measure.zero, top + part.length * BAR_STEP, { size: 7.5, color: MUTED });
      },
      { alt: charts.bars(unit, named.join(', ')) },
    );
    sheet.y = top + part.length * BAR_STEP + (isLast ? noteHeight : 0) + 8;
    at += part.length;
  }
}

export interface Share {
  readonly label: string;
  readonly figure: string;
  readonly color: string;
  /** White by default. */
  readonly textColor?: string;
}

/** Draws one bar that is divided into shares, with a mark at the threshold. The alternative text states the same facts. */
export function drawShares(
  sheet: Sheet,
  shares: readonly Share[],
  mark: { readonly at: number; readonly label: string },
): void {
  sheet.ensure(SHARES_HEIGHT);
  const top = sheet.y + 16;
  const values = shares.map(({ figure }) => decimalToScaled(figure));
  const whole = values.reduce((sum, value) => sum + value, 0n);
  const named = shares.map(({ label, figure }) => `${label} ${sheet.words.digits(figure)}`);
  const alt = sheet.words.charts.shares(named.join(', '), mark.label);
  const small = { size: 7.5, color: INK };
  let fit = true;
  sheet.content(
    'Figure',
    () => {
      sheet.doc.rect(sheet.left, top, sheet.width, 20).fill(TRACK);
      let x = sheet.left;
      shares.forEach(({ color, textColor = '#ffffff' }, index) => {
        const length = sheet.width * shareOf(values[index] ?? 0n, whole);
        if (length > 0) sheet.doc.rect(x, top, length, 20).fill(color);
        const text = named[index] ?? '';
        const style = { size: 8.5, bold: true, color: textColor };
        const width = sheet.text.width(text, style);
        const last = index === shares.length - 1;
        if (width < length - 8) sheet.text.draw(text, last ? x + length - width - 5 : x + 5, top + 4, style);
        else fit = false;
        x += length;
      });
      const markX = sheet.left + sheet.width * mark.at;
      sheet.stroke(1.2, INK, [markX, top - 5], [markX, top + 25]);
      const width = sheet.text.width(mark.label, small);
      const left = Math.min(Math.max(markX - width / 2, sheet.left), sheet.left + sheet.width - width);
      sheet.text.draw(mark.label, left, top - 17, small);
      // If a share is too narrow for its name, a line below the bar names all shares.
      if (!fit) sheet.text.draw(named.join('  ·  '), sheet.left, top + 27, small);
    },
    { alt },
  );
  sheet.y = top + (fit ? 34 : 44);
}
