import { setImmediate } from 'node:timers/promises';
import { drawTable } from './draw-table.ts';
import { groupDigits } from './exact-figures.ts';
import { type ReportInput, standingOf } from './report-input.ts';
import { INK, MUTED, RULE, Sheet, type SheetOptions, WARNING } from './sheet.ts';
import { dateText, writeCover } from './write-cover.ts';
import { writePosition } from './write-position.ts';

const BODY = { size: 9, color: INK };

/** Log, lot and how anybody can check the figures from the outside. */
async function writeVerification(sheet: Sheet, input: ReportInput): Promise<void> {
  const { log, lot, issuer, event } = input;
  sheet.y += 10;
  sheet.heading(2, 'Ballot log and verification', { size: 14, bold: true }, 170);
  sheet.doc.outline.addItem('Ballot log and verification');
  const text =
    'Every confirmed ballot is sealed into an append-only Merkle log (RFC 6962 hashing). Size and root hash stand for its whole content: a ballot that was changed or removed would give another root.';
  sheet.paragraph(text, BODY, 8);
  const rows = [
    ['Log size', `${groupDigits(log.size)} ${log.size === 1 ? 'leaf' : 'leaves'}`],
    ['Root hash (base64)', log.rootHash],
    ['Lot, SHA-256 of the seed', lot.seedHash ?? 'published at the opening'],
    ['Lot, seed', lot.seed ?? 'revealed when the result is final'],
    ...(lot.root === null ? [] : [['Lot, log root before the close', lot.root] as const]),
    ['Event ID', event.id],
  ].map(([name = '', value = '']) => [{ text: name, color: MUTED }, { text: value }]);
  await drawTable(sheet, [{ title: 'What', width: 140 }, { title: 'Value' }], rows);
  sheet.heading(3, 'How to verify', { size: 10.5, bold: true }, 60, 2);
  const reference = event.code;
  for (const step of [
    `1. In a browser: open ${issuer.baseUrl}/verify#event=${event.id}. The page reads the whole log and checks it; with a confirmation code it finds that ballot. With an observe key it also counts the opened ballots again and compares them with this report.`,
    `2. On a machine of your own: ${issuer.baseUrl}/verify/voting-verifier.mjs is the same program in one file: VOTING_KEY=… node voting-verifier.mjs --base-url ${issuer.baseUrl} --event ${event.id}`,
    `3. By hand: read the signed checkpoint at ${issuer.baseUrl}/public/voting-events/${reference}/log/checkpoint and check its signature with the key at ${issuer.baseUrl}/.well-known/voting-log-key. Once all ballots are sealed, size and root hash are those above or a later extension of them.`,
    '4. CSV, JSON and the cast vote records (NIST SP 1500-103) hold the same figures for programs.',
  ]) {
    sheet.paragraph(step, BODY, 4);
  }
}

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
function writeSignatures(sheet: Sheet, { final, disputed, event }: ReportInput): void {
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
