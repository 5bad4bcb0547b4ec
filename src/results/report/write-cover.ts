import { microToDecimal } from '#src/platform/decimal.ts';
import { methodName } from './describe-rules.ts';
import { type Cell, drawTable } from './draw-table.ts';
import { groupDigits, percent } from './exact-figures.ts';
import { type ReportInput, standingOf } from './report-input.ts';
import { ACCENT, INK, MUTED, PALE, type Sheet, WARNING, WON } from './sheet.ts';
import { lineHeight } from './text-setter.ts';
import { outcomeText } from './write-position.ts';

/** `21 November 2026, 08:15 GMT+01:00`, in the event's own time zone. */
export function dateText(timeMs: number | null, timeZone: string): string {
  if (timeMs === null) return '–';
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'longOffset',
  });
  return format.format(timeMs).replace(' at ', ', ');
}

const weightText = (micro: bigint): string => groupDigits(microToDecimal(micro));

/** Final, provisional or disputed: one must not be taken for another. */
function drawStamp(sheet: Sheet, input: ReportInput): void {
  const standing = standingOf(input);
  const text = standing.toUpperCase();
  const color = standing === 'final' ? WON : WARNING;
  const style = { size: 10, bold: true, color };
  const width = sheet.text.width(text, style) + 20;
  const x = sheet.left + sheet.width - width;
  sheet.content('P', () => {
    sheet.doc.lineWidth(1.4).strokeColor(color).roundedRect(x, sheet.y, width, 22, 4).stroke();
    sheet.text.draw(text, x + 10, sheet.y + 4, style);
  });
}

function drawTiles(sheet: Sheet, tiles: readonly { readonly label: string; readonly figure: string }[]): void {
  const gap = 10;
  const width = (sheet.width - gap * (tiles.length - 1)) / tiles.length;
  const height = 52;
  sheet.ensure(height);
  const top = sheet.y;
  tiles.forEach(({ label, figure }, index) => {
    const x = sheet.left + index * (width + gap);
    sheet.artifact(() => sheet.doc.roundedRect(x, top, width, height, 4).fill(PALE));
    sheet.content('P', () => {
      const style = { size: 17, bold: true, color: ACCENT };
      sheet.text.draw(sheet.text.cut(figure, style, width - 20), x + 10, top + 6, style);
      sheet.text.draw(label, x + 10, top + 32, { size: 8, color: MUTED });
    });
  });
  sheet.y = top + height + 14;
}

function factsOf(input: ReportInput): [string, string][] {
  const { event, roll } = input;
  const date = (timeMs: number | null): string => dateText(timeMs, event.timeZone);
  const secrecy = {
    secret: 'Secret: nothing stored joins a voter and a ballot',
    pseudonymous: 'Pseudonymous: ballots carry the visible voter ID',
    identified: 'Identified: paid ballots can be traced to a payment',
  }[event.secrecy];
  const facts: [string, string][] = [
    ['Event', `${event.type === 'election' ? 'Election' : 'Poll'} ${event.code}`],
    ['Opened', date(event.openedAt)],
    [event.status === 'closed' ? 'Closed' : 'Closes', date(event.closesAt)],
    ['Counted', date(input.asOf)],
    ['Time zone', event.timeZone],
    ['Secrecy', secrecy],
  ];
  if (roll !== null && !input.unitWeights) {
    const turnout = percent(roll.votedWeightMicro, roll.approvedWeightMicro);
    const [voted, all] = [weightText(roll.votedWeightMicro), weightText(roll.approvedWeightMicro)];
    facts.push(['Turnout by weight', `${voted} of ${all} (${turnout})`]);
  }
  return facts;
}

function writeFacts(sheet: Sheet, facts: readonly (readonly [string, string])[]): void {
  const label = { size: 9, color: MUTED };
  const value = { size: 9, color: INK };
  const labelWidth = 104;
  for (const [name, text] of facts) {
    const lines = sheet.text.lines(text, value, sheet.width - labelWidth);
    sheet.ensure(lines.length * lineHeight(value) + 3);
    sheet.content('P', () => {
      sheet.text.draw(name, sheet.left, sheet.y, label);
      sheet.box(lines, sheet.left + labelWidth, sheet.y, sheet.width - labelWidth, value);
    });
    sheet.y += lines.length * lineHeight(value) + 3;
  }
  sheet.y += 8;
}

function provisionalText(input: ReportInput): string {
  if (input.event.status === 'closed') {
    return 'Provisional: ballots cast before the close may still be confirmed for fifteen minutes after it.';
  }
  return input.event.status === 'open'
    ? 'Provisional: the event is open, and these figures will change.'
    : 'Provisional: the event has not opened yet.';
}

/** The first page: what was voted on, when, by how many, and how each position came out. */
export async function writeCover(sheet: Sheet, input: ReportInput): Promise<void> {
  const { event, roll } = input;
  drawStamp(sheet, input);
  sheet.content('P', () => {
    sheet.text.draw('RESULT REPORT', sheet.left, sheet.y + 4, { size: 9, bold: true, color: ACCENT });
  });
  sheet.y += 32;
  sheet.heading(1, event.title, { size: event.title.length > 90 ? 16 : 22, bold: true, color: INK }, 120, 6);
  sheet.doc.outline.addItem('Summary');
  sheet.rule();
  sheet.y += 12;
  const left = input.ballotsAfterReversals;
  if (left !== null) {
    const text = `After the final result payments were reversed: ${groupDigits(input.ballots - left)} of the ballots counted here became void. The figures of the result stay those of its close.`;
    sheet.paragraph(text, { size: 9, bold: true, color: WARNING }, 8);
  }
  if (input.disputed) {
    const text =
      'Disputed: the ballots or their log are not what was signed. Do not rely on these figures until whoever runs the service has mended it.';
    sheet.paragraph(text, { size: 9, bold: true, color: WARNING }, 8);
  }
  if (!input.final) sheet.paragraph(provisionalText(input), { size: 9, bold: true, color: WARNING }, 8);
  const tiles = [{ label: 'ballots counted', figure: groupDigits(input.ballots) }];
  if (roll !== null) {
    tiles.push({ label: 'eligible voters', figure: groupDigits(roll.approved) });
    tiles.push({ label: 'turnout', figure: percent(BigInt(roll.voted), BigInt(roll.approved)) });
  }
  tiles.push({
    label: input.positions.length === 1 ? 'position' : 'positions',
    figure: groupDigits(input.positions.length),
  });
  drawTiles(sheet, tiles);
  writeFacts(sheet, factsOf(input));
  if (input.positions.length === 0) {
    sheet.paragraph('This event has no positions yet.', { size: 9, color: MUTED });
    return;
  }
  sheet.heading(2, 'Summary', { size: 12, bold: true }, 60);
  const columns = [
    { title: '#', width: 30, align: 'right' as const },
    { title: 'Position', width: 150 },
    { title: 'Method', width: 104 },
    { title: 'Outcome' },
  ];
  const rows = input.positions.map((position, index): Cell[] => {
    const { text, color } = outcomeText(input, position);
    return [
      { text: String(index + 1), color: MUTED },
      { text: position.result.title },
      { text: methodName(position.definition) },
      { text, color, bold: true },
    ];
  });
  await drawTable(sheet, columns, rows);
}
