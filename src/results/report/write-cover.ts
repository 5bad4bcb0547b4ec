import { microToDecimal } from '#src/platform/decimal.ts';
import { methodName } from './describe-rules.ts';
import { type Cell, drawTable } from './draw-table.ts';
import { type ReportInput, stampOf, standingOf } from './report-input.ts';
import type { ReportWords } from './report-words.ts';
import { ACCENT, INK, MUTED, PALE, type Sheet, WARNING, WON } from './sheet.ts';
import { lineHeight } from './text-setter.ts';
import { outcomeText } from './write-position.ts';

/** Draws the standing (final, provisional, disputed or rehearsal), so that readers do not mistake one for another. */
function drawStamp(sheet: Sheet, input: ReportInput): void {
  const text = stampOf(input, sheet.words).toLocaleUpperCase(sheet.words.language);
  const color = standingOf(input) === 'final' && !input.event.rehearsal ? WON : WARNING;
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

function factsOf(input: ReportInput, { cover, date, digits, percent, position }: ReportWords): [string, string][] {
  const { event, roll } = input;
  const at = (timeMs: number | null): string => date(timeMs, event.timeZone);
  const facts: [string, string][] = [
    [cover.event, `${cover[event.type]} ${event.code}`],
    [cover.opened, at(event.openedAt)],
    [event.status === 'closed' ? cover.closed : cover.closes, at(event.closesAt)],
    [cover.counted, at(input.asOf)],
    [cover.timeZone, event.timeZone],
    [cover.secrecy, cover[event.secrecy]],
  ];
  if (roll !== null && !input.unitWeights) {
    const turnout = percent(roll.votedWeightMicro, roll.approvedWeightMicro);
    const [voted, all] = [roll.votedWeightMicro, roll.approvedWeightMicro].map((micro) =>
      digits(microToDecimal(micro)),
    );
    facts.push([cover.weightTurnout, position.actualShare(voted ?? '', all ?? '', turnout)]);
  }
  return facts;
}

const LEAST_LABEL = 104;
const LABEL_GAP = 12;

function writeFacts(sheet: Sheet, facts: readonly (readonly [string, string])[]): void {
  const label = { size: 9, color: MUTED };
  const value = { size: 9, color: INK };
  const labelWidth = Math.max(LEAST_LABEL, ...facts.map(([name]) => sheet.text.width(name, label) + LABEL_GAP));
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

function provisionalText({ event }: ReportInput, { cover }: ReportWords): string {
  if (event.status === 'closed') return cover.closedProvisional;
  return event.status === 'open' ? cover.openProvisional : cover.unopened;
}

/** Writes warnings that readers need before the figures. */
function writeWarnings(sheet: Sheet, input: ReportInput): void {
  const { cover } = sheet.words;
  const left = input.ballotsAfterReversals;
  const warnings = [
    ...(input.event.rehearsal ? [cover.rehearsal] : []),
    ...(left === null ? [] : [cover.reversed(input.ballots - left)]),
    ...(input.disputed ? [cover.disputedWarning] : []),
    ...(input.final ? [] : [provisionalText(input, sheet.words)]),
  ];
  for (const warning of warnings) sheet.paragraph(warning, { size: 9, bold: true, color: WARNING }, 8);
}

async function writeGroups(sheet: Sheet, { groups }: ReportInput): Promise<void> {
  if (groups.length === 0) return;
  const { groups: texts, digits, percent } = sheet.words;
  sheet.heading(2, texts.title, { size: 12, bold: true });
  const columns = [
    { title: texts.group },
    ...[texts.voters, texts.voted, texts.turnout].map((title) => ({ title, width: 96, align: 'right' as const })),
  ];
  const rows = groups.map(({ name, voters, voted }): Cell[] => [
    name === null ? { text: texts.others, color: MUTED } : { text: name },
    { text: digits(voters) },
    { text: digits(voted) },
    { text: percent(BigInt(voted), BigInt(voters)) },
  ]);
  await drawTable(sheet, columns, rows);
  sheet.paragraph(texts.note, { size: 7.5, color: MUTED }, 8);
}

/** Writes the first page: what was voted on, when, by how many, and the outcome of each position. */
export async function writeCover(sheet: Sheet, input: ReportInput): Promise<void> {
  const { event, roll } = input;
  const { cover, digits, language, percent } = sheet.words;
  drawStamp(sheet, input);
  sheet.content('P', () => {
    const title = cover.title.toLocaleUpperCase(language);
    sheet.text.draw(title, sheet.left, sheet.y + 4, { size: 9, bold: true, color: ACCENT });
  });
  sheet.y += 32;
  sheet.heading(1, event.title, { size: event.title.length > 90 ? 16 : 22, bold: true, color: INK }, { gap: 6 });
  sheet.ensure(120);
  sheet.doc.outline.addItem(cover.summary);
  sheet.rule();
  sheet.y += 12;
  writeWarnings(sheet, input);
  const tiles = [{ label: cover.ballots, figure: digits(input.ballots) }];
  if (roll !== null) {
    tiles.push({ label: cover.voters, figure: digits(roll.approved) });
    tiles.push({ label: cover.turnout, figure: percent(BigInt(roll.voted), BigInt(roll.approved)) });
  }
  tiles.push({ label: cover.positions(input.positions.length), figure: digits(input.positions.length) });
  drawTiles(sheet, tiles);
  writeFacts(sheet, factsOf(input, sheet.words));
  if (input.positions.length === 0) sheet.paragraph(cover.empty, { size: 9, color: MUTED });
  else await writeSummary(sheet, input);
  await writeGroups(sheet, input);
}

async function writeSummary(sheet: Sheet, input: ReportInput): Promise<void> {
  const { words } = sheet;
  sheet.heading(2, words.cover.summary, { size: 12, bold: true });
  const columns = [
    { title: '#', width: 30, align: 'right' as const },
    { title: words.cover.position, width: 150 },
    { title: words.cover.method, width: 104 },
    { title: words.cover.outcome },
  ];
  const rows = input.positions.map((position, index): Cell[] => {
    const { text, color } = outcomeText(input, position, words);
    return [
      { text: words.digits(index + 1), color: MUTED },
      { text: position.result.title },
      { text: methodName(position.definition, words) },
      { text, color, bold: true },
    ];
  });
  await drawTable(sheet, columns, rows);
}
