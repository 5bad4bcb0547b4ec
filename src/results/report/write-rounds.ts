import type { PositionResult, Round } from '#src/tally/types.ts';
import { listNames, tieText } from './describe-rules.ts';
import { type Cell, type Column, drawTable } from './draw-table.ts';
import { groupDigits } from './exact-figures.ts';
import { inOrderOfResult, type ReportPosition } from './report-input.ts';
import { LOST, MUTED, type Sheet, WARNING, WON } from './sheet.ts';
import { isolate } from './text-runs.ts';

const MAX_ROUNDS_A_BLOCK = 5;
const MAX_TARGETS = 20;
const KEEP_WITH_TABLE = 90;

/** Rounds side by side, in blocks of about the same breadth. */
function blocksOf(rounds: readonly Round[]): readonly Round[][] {
  const blocks = Math.ceil(rounds.length / MAX_ROUNDS_A_BLOCK);
  const breadth = Math.ceil(rounds.length / Math.max(1, blocks));
  return Array.from({ length: blocks }, (_, index) => rounds.slice(index * breadth, (index + 1) * breadth));
}

async function writeTallies(sheet: Sheet, result: PositionResult, rounds: readonly Round[]): Promise<void> {
  const candidates = inOrderOfResult(result);
  sheet.ensure(KEEP_WITH_TABLE);
  sheet.paragraph('Green: elected in this round. Red: eliminated after it.', { size: 7.5, color: MUTED }, 4);
  for (const block of blocksOf(rounds)) {
    const tallies = block.map(
      (round) => new Map(round.tallies.map(({ candidateId, weightWon }) => [candidateId, weightWon])),
    );
    const standing = candidates.filter(({ id }) => tallies.some((round) => round.has(id)));
    const columns: Column[] = [
      { title: 'Candidate' },
      ...block.map((round): Column => ({ title: `Round ${round.round}`, width: 72, align: 'right' })),
    ];
    const rows = standing.map(({ id, name }): Cell[] => [
      { text: name },
      ...block.map((round, index): Cell => {
        const figure = tallies[index]?.get(id);
        if (figure === undefined) return { text: '–', color: MUTED };
        if (round.elected.includes(id)) return { text: groupDigits(figure), bold: true, color: WON };
        return round.eliminated.includes(id)
          ? { text: groupDigits(figure), color: LOST }
          : { text: groupDigits(figure) };
      }),
    ]);
    const summary = (title: string, of: (round: Round) => string): Cell[] => [
      { text: title, color: MUTED },
      ...block.map((round): Cell => ({ text: groupDigits(of(round)), color: MUTED })),
    ];
    if (block.some(({ others }) => others !== null))
      rows.push(summary('All others', (round) => round.others?.weightWon ?? '0'));
    rows.push(summary('Exhausted', (round) => round.exhausted));
    if (block.some(({ roundingLoss }) => roundingLoss !== '0'))
      rows.push(summary('Lost by cutting down', (round) => round.roundingLoss));
    rows.push(summary('Needed', (round) => round.threshold));
    await drawTable(sheet, columns, rows);
  }
}

/** `Ada to Bea 12, Cy 3, exhausted 1`, one part for each whose votes pass on. */
function transferText(round: Round, nameOf: (id: string) => string): string {
  const targets = new Map<string, string[]>();
  for (const { from, to, weight } of round.transfers) {
    const own = targets.get(from) ?? [];
    own.push(`${to === null ? 'exhausted' : isolate(nameOf(to))} ${groupDigits(weight)}`);
    targets.set(from, own);
  }
  return [...targets]
    .map(([from, own]) => {
      const more = own.length > MAX_TARGETS ? ` and ${own.length - MAX_TARGETS} more` : '';
      return `From ${isolate(nameOf(from))}: ${own.slice(0, MAX_TARGETS).join(', ')}${more}.`;
    })
    .join(' ');
}

function decisionOf(round: Round, nameOf: (id: string) => string): Cell {
  if (round.elected.length > 0) return { text: `Elected: ${listNames(round.elected, nameOf)}`, color: WON, bold: true };
  if (round.eliminated.length > 0) return { text: `Out: ${listNames(round.eliminated, nameOf)}`, color: LOST };
  return round.tie === null ? { text: '' } : { text: 'Tied', color: WARNING };
}

/** What each round decided, and where the votes went. */
async function writeDecisions(sheet: Sheet, rounds: readonly Round[], nameOf: (id: string) => string): Promise<void> {
  const columns: Column[] = [
    { title: 'Round', width: 40, align: 'right' },
    { title: 'Decision', width: 150, indent: 6 },
    { title: 'Votes pass on' },
  ];
  const rows = rounds.map((round): Cell[] => {
    const tie = round.tie === null ? [] : [tieText(round.tie, nameOf)];
    if (round.provisional) tie.push('Provisional: the lot is not drawn yet.');
    const passed = [transferText(round, nameOf), ...tie].filter((text) => text !== '').join(' ');
    return [{ text: String(round.round) }, decisionOf(round, nameOf), { text: passed }];
  });
  await drawTable(sheet, columns, rows);
}

/** The rounds of a ranked count in figures: tallies, decisions, transfers. */
export async function writeRounds(sheet: Sheet, { result }: ReportPosition): Promise<void> {
  const rounds = result.rounds ?? [];
  const names = new Map(result.candidates.map(({ id, name }) => [id, name]));
  const nameOf = (id: string): string => names.get(id) ?? id;
  await writeTallies(sheet, result, rounds);
  await writeDecisions(sheet, rounds, nameOf);
}
