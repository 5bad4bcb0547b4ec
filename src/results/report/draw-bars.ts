import { shareOf } from '#src/platform/decimal.ts';
import { decimalToScaled, groupDigits } from './exact-figures.ts';
import { ACCENT, INK, MUTED, RULE, type Sheet } from './sheet.ts';
import type { TextStyle } from './text-setter.ts';

interface Bar {
  readonly label: string;
  /** The exact figure, a decimal. */
  readonly figure: string;
  readonly winner: boolean;
}

export const MAX_BARS = 16;
const STEP = 19;
const THICKNESS = 11;
const LABEL: TextStyle = { size: 8.5, color: INK };
const PLAIN_BAR = '#9fb3c8';

/** Bars from zero, the largest as long as the width allows; figures stand beside them in full. */
export function drawBars(sheet: Sheet, bars: readonly Bar[], unit: string): void {
  const shown = bars.slice(0, MAX_BARS);
  const values = shown.map(({ figure }) => decimalToScaled(figure));
  const most = values.reduce((high, value) => (value > high ? value : high), 0n);
  const least = values.reduce((low, value) => (value < low ? value : low), 0n);
  const labelWidth = Math.min(
    sheet.width * 0.36,
    Math.max(60, ...shown.map(({ label, winner }) => sheet.text.width(label, { ...LABEL, bold: winner }))) + 8,
  );
  const figureWidth =
    Math.max(...shown.map(({ figure }) => sheet.text.width(groupDigits(figure), { ...LABEL, bold: true }))) + 8;
  const track = sheet.width - labelWidth - figureWidth;
  const zero = sheet.left + labelWidth + track * shareOf(-least, most - least);
  const more = bars.length - shown.length;
  const height = shown.length * STEP + (more > 0 ? 14 : 0) + 4;
  sheet.ensure(height);
  const top = sheet.y;
  const alt = `Bar chart of ${unit}: ${shown.map(({ label, figure }) => `${label} ${figure}`).join(', ')}${more > 0 ? `, and ${more} more in the table` : ''}.`;
  sheet.content(
    'Figure',
    () => {
      shown.forEach((bar, index) => {
        const y = top + index * STEP;
        const length = track * Math.abs(shareOf(values[index] ?? 0n, most - least));
        const style = { ...LABEL, bold: bar.winner };
        const label = sheet.text.cut(bar.label, style, labelWidth - 8);
        sheet.text.draw(label, sheet.left + labelWidth - 8 - sheet.text.width(label, style), y + 1, style);
        const negative = (values[index] ?? 0n) < 0n;
        const start = negative ? zero - length : zero;
        if (length > 0) sheet.doc.rect(start, y + 2, length, THICKNESS).fill(bar.winner ? ACCENT : PLAIN_BAR);
        sheet.text.draw(groupDigits(bar.figure), (negative ? zero : start + length) + 5, y + 1, style);
      });
      sheet.doc
        .lineWidth(0.8)
        .strokeColor(RULE)
        .moveTo(zero, top)
        .lineTo(zero, top + shown.length * STEP - 2)
        .stroke();
      if (more > 0) {
        const note = `and ${more} more in the table below`;
        sheet.text.draw(note, zero, top + shown.length * STEP, { size: 7.5, color: MUTED });
      }
    },
    { alt },
  );
  sheet.y = top + height + 4;
}

interface Share {
  readonly label: string;
  readonly figure: string;
  readonly color: string;
}

/** One bar of yes and no with a mark where the threshold lies. The alternative text says the same. */
export function drawShares(
  sheet: Sheet,
  shares: readonly Share[],
  mark: { readonly at: number; readonly label: string },
): void {
  const height = 58;
  sheet.ensure(height);
  const top = sheet.y + 16;
  const values = shares.map(({ figure }) => decimalToScaled(figure));
  const whole = values.reduce((sum, value) => sum + value, 0n);
  const alt = `Bar of shares: ${shares.map(({ label, figure }) => `${label} ${figure}`).join(', ')}; ${mark.label}.`;
  sheet.content(
    'Figure',
    () => {
      sheet.doc.rect(sheet.left, top, sheet.width, 20).fill('#eaeef2');
      let x = sheet.left;
      shares.forEach(({ label, figure, color }, index) => {
        const length = sheet.width * shareOf(values[index] ?? 0n, whole);
        if (length > 0) sheet.doc.rect(x, top, length, 20).fill(color);
        const text = `${label} ${groupDigits(figure)}`;
        const style = { size: 8.5, bold: true, color: '#ffffff' };
        const width = sheet.text.width(text, style);
        const last = index === shares.length - 1;
        if (width < length - 8) sheet.text.draw(text, last ? x + length - width - 5 : x + 5, top + 4, style);
        x += length;
      });
      const markX = sheet.left + sheet.width * mark.at;
      sheet.doc
        .lineWidth(1.2)
        .strokeColor(INK)
        .moveTo(markX, top - 5)
        .lineTo(markX, top + 25)
        .stroke();
      const style = { size: 7.5, color: INK };
      const width = sheet.text.width(mark.label, style);
      const left = Math.min(Math.max(markX - width / 2, sheet.left), sheet.left + sheet.width - width);
      sheet.text.draw(mark.label, left, top - 17, style);
    },
    { alt },
  );
  sheet.y = top + 34;
}
