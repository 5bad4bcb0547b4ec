import type { ReportInput } from './report-input.ts';
import { INK, MUTED, type Sheet } from './sheet.ts';

const LINES = 2;
const LINE_HEIGHT = 46;
const GAP = 18;
/** The fields of a line, each with its share of the width. */
const FIELDS = [
  ['Name and office', 0.36],
  ['Signature', 0.4],
  ['Place and date', 0.24],
] as const;

/** Lines for those who declare the result, which has to be final and undisputed. */
export function writeSignatures(sheet: Sheet, { final, disputed, event }: ReportInput): void {
  if (!final || disputed) return;
  sheet.y += 10;
  sheet.heading(2, 'Declaration', { size: 14, bold: true }, 40 + LINES * LINE_HEIGHT);
  sheet.paragraph(`I declare the result of ${event.title} as it stands in this report.`, { size: 9, color: INK }, 0);
  for (let line = 0; line < LINES; line += 1) {
    const y = sheet.y + LINE_HEIGHT - 14;
    let x = sheet.left;
    for (const [what, share] of FIELDS) {
      const width = (sheet.width - GAP * (FIELDS.length - 1)) * share;
      sheet.rule(y, MUTED, x, width);
      sheet.content('P', () => sheet.box([what], x, y + 2, width, { size: 7.5, color: MUTED }));
      x += width + GAP;
    }
    sheet.y += LINE_HEIGHT;
  }
}
