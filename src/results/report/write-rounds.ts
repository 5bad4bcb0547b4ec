import type { PositionResult, Round } from '#src/tally/position-result.ts';
import { listNames, tieText } from './describe-rules.ts';
import { drawFlow, flowHeight } from './draw-flow.ts';
import { type Cell, type Column, drawTable, TABLE_GAP } from './draw-table.ts';
import { FEW, inOrderOfResult, namesOf, type ReportPosition } from './report-input.ts';
import type { ReportWords } from './report-words.ts';
import { LOST, MUTED, type Sheet, WARNING, WON } from './sheet.ts';
import { isolate } from './text-runs.ts';
import { lineHeight } from './text-setter.ts';

const MAX_ROUNDS_A_BLOCK = 5;
const MAX_TARGETS = 20;
const KEEP_WITH_TABLE = 90;

/** Splits the rounds into blocks of about equal width. A block shows its rounds side by side. */
function blocksOf(rounds: readonly Round[]): readonly Round[][] {
  const blocks = Math.ceil(rounds.length / MAX_ROUNDS_A_BLOCK);
  const breadth = Math.ceil(rounds.length / Math.max(1, blocks));
  return Array.from({ length: blocks }, (_, index) => rounds.slice(index * breadth, (index + 1) * breadth));
}

async function writeTallies(sheet: Sheet, result: PositionResult, rounds: readonly Round[]): Promise<void> {
  const candidates = inOrderOfResult(result);
  sheet.ensure(KEEP_WITH_TABLE);
  const { words } = sheet;
  const { digits } = words;
  const legend = { size: 7.5, color: MUTED };
  const blocks = blocksOf(rounds);
  for (const block of blocks) {
    const tallies = block.map(
      (round) => new Map(round.tallies.map(({ candidateId, weightWon }) => [candidateId, weightWon])),
    );
    const all = candidates.filter(({ id }) => tallies.some((round) => round.has(id)));
    const voteless = all.filter(({ id }) => tallies.every((round) => (round.get(id) ?? '0') === '0'));
    const folded = new Set(voteless.length > FEW ? voteless : []);
    const standing = all.filter((candidate) => !folded.has(candidate));
    const columns: Column[] = [
      { title: words.position.candidate },
      ...block.map((round): Column => ({ title: words.rounds.numbered(round.round), width: 72, align: 'right' })),
    ];
    const rows = standing.map(({ id, name }): Cell[] => [
      { text: name },
      ...block.map((round, index): Cell => {
        const figure = tallies[index]?.get(id);
        if (figure === undefined) return { text: '–', color: MUTED };
        if (round.elected.includes(id)) return { text: digits(figure), bold: true, color: WON };
        return round.eliminated.includes(id) ? { text: digits(figure), color: LOST } : { text: digits(figure) };
      }),
    ]);
    const summary = (title: string, of: (round: Round) => string): Cell[] => [
      { text: title, color: MUTED },
      ...block.map((round): Cell => ({ text: digits(of(round)), color: MUTED })),
    ];
    if (folded.size > 0) rows.push(summary(words.rounds.withoutVotes(folded.size), () => '0'));
    if (block.some(({ others }) => others !== null))
      rows.push(summary(words.rounds.others, (round) => round.others?.weightWon ?? '0'));
    rows.push(summary(words.rounds.exhausted, (round) => round.exhausted));
    if (block.some(({ roundingLoss }) => roundingLoss !== '0'))
      rows.push(summary(words.rounds.lost, (round) => round.roundingLoss));
    rows.push(summary(words.rounds.needed, (round) => round.threshold));
    await drawTable(sheet, columns, rows, block === blocks.at(-1) ? TABLE_GAP + lineHeight(legend) : 0);
  }
  sheet.paragraph(words.rounds.legend, legend);
}

/** Describes transfers, as in `Ada to Bea 12, Cy 3, exhausted 1`, with a part for each candidate whose votes are transferred. */
function transferText(round: Round, nameOf: (id: string) => string, words: ReportWords): string {
  const targets = new Map<string, string[]>();
  for (const { from, to, weight } of round.transfers) {
    const votes = words.digits(weight);
    const target = to === null ? words.rounds.toNobody(votes) : `${isolate(nameOf(to))} ${votes}`;
    targets.getOrInsertComputed(from, () => []).push(target);
  }
  return [...targets]
    .map(([from, own]) => {
      const shown = own.slice(0, MAX_TARGETS).join(', ');
      const targets = own.length > MAX_TARGETS ? words.more(shown, own.length - MAX_TARGETS) : shown;
      return words.rounds.transfers(isolate(nameOf(from)), targets);
    })
    .join(' ');
}

function decisionOf(round: Round, nameOf: (id: string) => string, words: ReportWords): Cell {
  const { elected, eliminated } = round;
  const out = eliminated.length === 0 ? undefined : words.rounds.out(listNames(eliminated, nameOf, words));
  if (elected.length > 0) {
    // If elected candidates leave no surplus, the lowest candidate is eliminated in the same round.
    const text = words.rounds.elected(listNames(elected, nameOf, words));
    return out === undefined ? { text, color: WON, bold: true } : { text: `${text}. ${out}`, bold: true };
  }
  if (out !== undefined) return { text: out, color: LOST };
  return round.tie === null ? { text: '' } : { text: words.rounds.tied, color: WARNING };
}

async function writeDecisions(sheet: Sheet, rounds: readonly Round[], nameOf: (id: string) => string): Promise<void> {
  const { words } = sheet;
  const columns: Column[] = [
    { title: words.rounds.round, width: 44, align: 'right' },
    { title: words.rounds.decision, width: 150, indent: 6 },
    { title: words.rounds.passOn },
  ];
  const rows = rounds.map((round): Cell[] => {
    const tie = round.tie === null ? [] : [tieText(round.tie, nameOf, words)];
    if (round.provisional) tie.push(words.rounds.provisional);
    const passed = [transferText(round, nameOf, words), ...tie].filter((text) => text !== '').join(' ');
    return [{ text: String(round.round) }, decisionOf(round, nameOf, words), { text: passed }];
  });
  await drawTable(sheet, columns, rows);
}

/** Writes the rounds of a ranked count: diagram, tallies, decisions, transfers. */
export async function writeRounds(sheet: Sheet, { result }: ReportPosition): Promise<void> {
  const rounds = result.rounds ?? [];
  const nameOf = namesOf(result);
  const picture = flowHeight(result);
  // Draw the diagram where it first fits, at the latest below the tables, so that it leaves no half-empty page.
  const first = sheet.fits(picture);
  if (first) drawFlow(sheet, result);
  await writeTallies(sheet, result, rounds);
  const second = !first && sheet.fits(picture);
  if (second) drawFlow(sheet, result);
  await writeDecisions(sheet, rounds, nameOf);
  if (!first && !second) drawFlow(sheet, result);
}
