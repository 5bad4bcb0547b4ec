import { setImmediate } from 'node:timers/promises';
import { drawTable } from './draw-table.ts';
import { type ReportInput, stampOf, standingOf } from './report-input.ts';
import { reportWords } from './report-words.ts';
import { INK, MUTED, RULE, Sheet, type SheetOptions, WARNING } from './sheet.ts';
import { isolate } from './text-runs.ts';
import { writeCover } from './write-cover.ts';
import { writePosition } from './write-position.ts';

const BODY = { size: 9, color: INK };

/** Writes the log, the lot, and how anyone can verify the figures. */
async function writeVerification(sheet: Sheet, input: ReportInput): Promise<void> {
  const { log, lot, issuer, event } = input;
  const { log: texts } = sheet.words;
  sheet.y += 10;
  sheet.heading(2, texts.title, { size: 14, bold: true }, { keep: 170, outline: true });
  sheet.paragraph(texts.intro, BODY, 8);
  const rows = [
    [texts.size, texts.leaves(log.size)],
    [texts.rootHash, log.rootHash],
    [texts.seedHash, lot.seedHash ?? texts.seedHashLater],
    [texts.seed, lot.seed ?? texts.seedLater],
    ...(lot.root === null ? [] : [[texts.root, lot.root] as const]),
    [texts.eventId, event.id],
  ].map(([name = '', value = '']) => [{ text: name, color: MUTED }, { text: value }]);
  await drawTable(sheet, [{ title: texts.what, width: 150 }, { title: texts.value }], rows);
  sheet.heading(3, texts.verify, { size: 10.5, bold: true }, { gap: 2 });
  const { baseUrl } = issuer;
  const verifier = `${baseUrl}/verify/voting-verifier.mjs`;
  for (const step of [
    texts.inBrowser(`${baseUrl}/verify#event=${event.id}`),
    texts.onMachine(verifier, `VOTING_KEY=… node voting-verifier.mjs --base-url ${baseUrl} --event ${event.id}`),
    texts.byHand(
      `${baseUrl}/public/voting-events/${event.code}/log/checkpoint`,
      `${baseUrl}/.well-known/voting-log-key`,
    ),
    texts.forPrograms,
  ]) {
    sheet.paragraph(step, BODY, 4);
  }
}

const LINES = 2;
const LINE_HEIGHT = 46;
const GAP = 18;
/** The fields of a signature line, with their shares of the width. */
const FIELDS = [
  ['name', 0.36],
  ['signature', 0.4],
  ['date', 0.24],
] as const;

/** Writes lines for the signatures of the officials who declare the result, if it is final and undisputed. */
function writeSignatures(sheet: Sheet, { final, disputed, event }: ReportInput): void {
  if (!final || disputed) return;
  sheet.y += 10;
  const { declaration } = sheet.words;
  sheet.heading(2, declaration.title, { size: 14, bold: true }, { keep: 40 + LINES * LINE_HEIGHT });
  sheet.paragraph(declaration.text(isolate(event.title)), { size: 9, color: INK }, 0);
  for (let line = 0; line < LINES; line += 1) {
    const y = sheet.y + LINE_HEIGHT - 14;
    let x = sheet.left;
    for (const [what, share] of FIELDS) {
      const width = (sheet.width - GAP * (FIELDS.length - 1)) * share;
      sheet.rule(y, MUTED, x, width);
      sheet.content('P', () => sheet.box([declaration[what]], x, y + 2, width, { size: 7.5, color: MUTED }));
      x += width + GAP;
    }
    sheet.y += LINE_HEIGHT;
  }
}

/** Most candidate rows of a report. So a report of a hundred positions with a thousand candidates each has some hundred pages. */
const MAX_ROWS = 10_000;
const LEAST_ROWS = 50;

/** Marks a page of a rehearsal at its top, so that a single sheet cannot be mistaken for a real result. */
function drawRehearsal(sheet: Sheet): void {
  const style = { size: 8.5, bold: true, color: '#ffffff' };
  const text = sheet.words.cover.rehearsal;
  sheet.doc.rect(0, 16, sheet.doc.page.width, 20).fill(WARNING);
  sheet.text.draw(text, (sheet.doc.page.width - sheet.text.width(text, style)) / 2, 20, style);
}

function writeFooter(sheet: Sheet, input: ReportInput, page: number, pages: number): void {
  const style = { size: 7.5, color: MUTED };
  const y = sheet.doc.page.height - 42;
  const { cover, date, language } = sheet.words;
  const number = cover.page(page, pages);
  const standing = standingOf(input);
  const stamp = stampOf(input, sheet.words);
  const right = sheet.left + sheet.width - sheet.text.width(number, style);
  const named = `${stamp.charAt(0).toLocaleUpperCase(language)}${stamp.slice(1)}`;
  const middle = cover.foot(named, date(input.asOf, input.event.timeZone));
  const middleWidth = sheet.text.width(middle, style);
  const middleX = right - 16 - middleWidth;
  const title = sheet.text.cut(`${input.event.title} (${input.event.code})`, style, middleX - sheet.left - 16);
  sheet.artifact(() => {
    sheet.stroke(0.6, RULE, [sheet.left, y - 5], [sheet.left + sheet.width, y - 5]);
    sheet.text.draw(title, sheet.left, y, style);
    sheet.text.draw(middle, middleX, y, standing === 'final' ? style : { ...style, color: WARNING });
    sheet.text.draw(number, right, y, style);
    if (input.event.rehearsal) drawRehearsal(sheet);
  });
}

/** Writes the report as a tagged PDF with embedded fonts. Other work runs between positions and rows. */
export async function writeReport(input: ReportInput, paper: SheetOptions['paper']): Promise<Uint8Array<ArrayBuffer>> {
  const words = reportWords(input.event.language);
  const { cover } = words;
  const marked = (text: string): string => (input.event.rehearsal ? `${cover.rehearsal} ${text}` : text);
  const sheet = new Sheet({
    paper,
    words,
    title: marked(cover.documentTitle(input.event.title)),
    author: input.issuer.company,
    subject: marked(cover.subject(input.event.code, stampOf(input, words))),
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
