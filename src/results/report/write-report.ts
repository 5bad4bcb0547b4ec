import { setImmediate } from 'node:timers/promises';
import { type ReportInput, standingOf } from './report-input.ts';
import { MUTED, RULE, Sheet, type SheetOptions, WARNING } from './sheet.ts';
import { dateText, writeCover } from './write-cover.ts';
import { writePosition } from './write-position.ts';
import { writeSignatures } from './write-signatures.ts';
import { writeVerification } from './write-verification.ts';

/** Rows of candidates in the whole report: a hundred positions of a thousand candidates each stay some hundred pages. */
const MAX_ROWS = 10_000;
const LEAST_ROWS = 50;

function writeFooter(sheet: Sheet, input: ReportInput, page: number, pages: number): void {
  const style = { size: 7.5, color: MUTED };
  const y = sheet.doc.page.height - 42;
  const number = `Page ${page} of ${pages}`;
  const standing = standingOf(input);
  const stamp = `${standing.charAt(0).toUpperCase()}${standing.slice(1)}`;
  const right = sheet.left + sheet.width - sheet.text.width(number, style);
  const middle = `${stamp}, counted ${dateText(input.asOf, input.event.timeZone)}`;
  const middleWidth = sheet.text.width(middle, style);
  const middleX = right - 16 - middleWidth;
  const title = sheet.text.cut(`${input.event.title} (${input.event.code})`, style, middleX - sheet.left - 16);
  sheet.artifact(() => {
    sheet.doc
      .lineWidth(0.6)
      .strokeColor(RULE)
      .moveTo(sheet.left, y - 5)
      .lineTo(sheet.left + sheet.width, y - 5)
      .stroke();
    sheet.text.draw(title, sheet.left, y, style);
    sheet.text.draw(middle, middleX, y, standing === 'final' ? style : { ...style, color: WARNING });
    sheet.text.draw(number, right, y, style);
  });
}

/**
 * The result report as a tagged PDF with embedded fonts. Other requests have their turn between positions and rows; the
 * result is a few hundred kilobytes, a few megabytes for the largest events.
 */
export async function writeReport(input: ReportInput, paper: SheetOptions['paper']): Promise<Uint8Array<ArrayBuffer>> {
  const sheet = new Sheet({
    paper,
    title: `${input.event.title} – results`,
    author: input.issuer.company,
    subject: `Results of ${input.event.code}, ${standingOf(input)}`,
    madeAt: new Date(input.asOf),
  });
  const maxRows = Math.max(LEAST_ROWS, Math.floor(MAX_ROWS / Math.max(1, input.positions.length)));
  await writeCover(sheet, input);
  writeSignatures(sheet, input);
  for (const [index, position] of input.positions.entries()) {
    await setImmediate();
    await writePosition(sheet, input, position, { number: index + 1, maxRows });
  }
  await writeVerification(sheet, input);
  return sheet.finish((page, pages) => writeFooter(sheet, input, page, pages));
}
