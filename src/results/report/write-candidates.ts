import type { CandidateResult, PositionResult } from '#src/tally/position-result.ts';
import { type Cell, type Column, drawTable } from './draw-table.ts';
import { decimalToScaled, quotient } from './exact-figures.ts';
import { FEW, inOrderOfResult, type ReportInput, type ReportPosition } from './report-input.ts';
import type { ReportWords } from './report-words.ts';
import { INK, MUTED, type Sheet, WARNING, WON } from './sheet.ts';
import { isolate } from './text-runs.ts';

const FIGURE_TITLES = {
  plurality: 'votes',
  approval: 'approvals',
  referendum: 'votes',
  score: 'score',
  cumulative: 'points',
  quadratic: 'votes',
  ranked_choice: 'finalVotes',
} as const;

export const figureTitle = (method: PositionResult['votingMethod'], { position }: ReportWords): string =>
  position[FIGURE_TITLES[method]];

export function winnerWord(input: ReportInput, { outcome }: ReportWords): string {
  if (!input.final) return outcome.leading;
  return input.event.type === 'election' ? outcome.elected : outcome.won;
}

interface Figure extends Column {
  readonly of: (candidate: CandidateResult) => string;
}

/** The columns of figures: exact votes, weights if they differ from the votes, and a share if it is meaningful for the method. */
function figureColumns(input: ReportInput, { result }: ReportPosition, words: ReportWords): Figure[] {
  const { digits, percent, position } = words;
  const method = result.votingMethod;
  const ranked = method === 'ranked_choice';
  const weighted = result.candidates.some(({ votesWon, weightWon }) => String(votesWon) !== weightWon);
  const columns: Figure[] = [];
  const add = (title: string, width: number, of: Figure['of']): void => {
    columns.push({ title, width, align: 'right', of });
  };
  if (result.firstChoices !== null) {
    const firsts = new Map(result.firstChoices.map(({ candidateId, weightWon }) => [candidateId, weightWon]));
    add(position.firstChoices, 80, ({ id }) => digits(firsts.get(id) ?? '0'));
  }
  const title = figureTitle(method, words);
  if (!(weighted && ranked))
    add(weighted ? position.heads(title) : title, weighted ? 88 : 76, ({ votesWon }) => digits(votesWon));
  if (weighted) add(ranked ? title : position.weighted, 92, ({ weightWon }) => digits(weightWon));
  const whole = result.candidates.reduce((sum, { weightWon }) => sum + decimalToScaled(weightWon), 0n);
  const ballots = BigInt(result.ballots) * decimalToScaled('1');
  if (method === 'plurality' || method === 'cumulative' || method === 'quadratic')
    add(position.share, 58, ({ weightWon }) => percent(decimalToScaled(weightWon), whole));
  if (method === 'approval' && input.unitWeights)
    add(position.ofBallots, 66, ({ weightWon }) => percent(decimalToScaled(weightWon), ballots));
  if (method === 'score' && input.unitWeights) {
    add(position.mean, 54, ({ weightWon }) => {
      const mean = quotient(decimalToScaled(weightWon), ballots, 2);
      return mean === undefined ? '–' : digits(mean);
    });
  }
  return columns;
}

function standingOf(
  input: ReportInput,
  result: PositionResult,
  candidate: CandidateResult,
  withdrawn: boolean,
  words: ReportWords,
): Cell {
  const { outcome } = words;
  const won = winnerWord(input, words);
  if (withdrawn) return { text: outcome.withdrawn, color: MUTED };
  if (candidate.winner && candidate.tied && result.winners.length > result.seats)
    return { text: outcome.jointly(won), color: WARNING, bold: true };
  if (candidate.winner)
    return { text: candidate.tied ? outcome.afterTie(won) : won, color: input.final ? WON : INK, bold: true };
  return candidate.tied ? { text: outcome.lostTie, color: WARNING } : { text: '' };
}

const withdrawnOf = ({ definition }: ReportPosition): ReadonlySet<string> =>
  new Set(definition.everCandidates.filter(({ status }) => status === 'withdrawn').map(({ id }) => id));

/** Candidates in the order of the result: each of `shown` gets a row, and `folded` have only zeros. */
export function foldZeros(position: ReportPosition): { shown: CandidateResult[]; folded: CandidateResult[] } {
  const { result } = position;
  const ordered = inOrderOfResult(result);
  const withdrawn = withdrawnOf(position);
  const firsts = new Set(result.firstChoices?.map(({ candidateId }) => candidateId));
  const isZero = ({ id, votesWon, weightWon, winner, tied }: CandidateResult): boolean =>
    votesWon === 0 && weightWon === '0' && !winner && !tied && !firsts.has(id) && !withdrawn.has(id);
  // If some sums are negative, a sum of 0 has a meaningful place in the order: fold nothing.
  const belowZero = result.candidates.some(({ votesWon }) => votesWon < 0);
  const zeros = result.referendum === null && !belowZero ? ordered.filter(isZero) : [];
  if (zeros.length <= FEW) return { shown: ordered, folded: [] };
  const folded = new Set(zeros);
  return { shown: ordered.filter((candidate) => !folded.has(candidate)), folded: zeros };
}

export async function writeCandidates(
  sheet: Sheet,
  input: ReportInput,
  position: ReportPosition,
  maxRows: number,
): Promise<void> {
  const { words } = sheet;
  const { result } = position;
  const { shown, folded } = foldZeros(position);
  const figures = figureColumns(input, position, words);
  const withdrawn = withdrawnOf(position);
  const referendum = result.referendum !== null;
  const columns: Column[] = [
    { title: '#', width: 30, align: 'right' },
    { title: referendum ? words.position.option : words.position.candidate, indent: 2 },
    ...figures,
    ...(referendum ? [] : [{ title: words.position.outcome, width: 88, indent: 10 }]),
  ];
  const rows = shown.slice(0, maxRows).map((candidate, index): Cell[] => {
    const bold = candidate.winner && !referendum;
    return [
      { text: words.digits(index + 1), color: MUTED },
      { text: candidate.name, bold },
      ...figures.map(({ of }): Cell => ({ text: of(candidate), bold })),
      ...(referendum ? [] : [standingOf(input, result, candidate, withdrawn.has(candidate.id), words)]),
    ];
  });
  if (rows.length > 0) await drawTable(sheet, columns, rows);
  if (shown.length > maxRows)
    sheet.paragraph(words.position.moreInExports(shown.length - maxRows), { size: 8, color: MUTED });
  if (folded.length > 0) {
    const names = folded.map(({ name }) => isolate(name)).join(', ');
    const { withoutPoints, withoutVotes } = words.position;
    // A score of zero may be the sum of many marks, so the text must not be "without votes".
    const text = result.votingMethod === 'score' ? withoutPoints(names) : withoutVotes(names);
    sheet.paragraph(text, { size: 8.5, color: MUTED }, 8);
  }
}
