import type { BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import type { CandidateResult, Fraction, PositionResult, ReferendumRuleResult } from '#src/tally/types.ts';
import { describeRules, fractionText, listNames, marginText, methodName, tieText } from './describe-rules.ts';
import { drawBars, drawShares, MAX_BARS } from './draw-bars.ts';
import { drawFlow, flowHeight } from './draw-flow.ts';
import { type Cell, type Column, drawTable } from './draw-table.ts';
import { decimalToScaled, groupDigits, percent, quotient } from './exact-figures.ts';
import { inOrderOfResult, type ReportInput, type ReportPosition } from './report-input.ts';
import { INK, LOST, MUTED, type Sheet, WARNING, WON } from './sheet.ts';
import { isolate } from './text-runs.ts';
import { writeRounds } from './write-rounds.ts';

const RULE_TITLES = {
  threshold: 'Share of yes',
  turnout_quorum: 'Turnout of the electorate',
  approval_quorum: 'Yes of the electorate',
} as const;

/** `60/100` → `60 of 100 (60.0 %)`. */
function actualText(rule: ReferendumRuleResult): string {
  const [part = '0', whole = '0'] = rule.actual.split('/');
  return `${groupDigits(part)} of ${groupDigits(whole)} (${percent(decimalToScaled(part), decimalToScaled(whole))})`;
}

/** Yes against no with the threshold between them, and each rule with what it asked for and what there was. */
async function writeReferendum(sheet: Sheet, result: PositionResult, definition: BallotPosition): Promise<void> {
  const { referendum } = result;
  const rules = definition.rules;
  if (referendum === null || rules === null) return;
  const { threshold } = rules;
  const shares = [
    { label: 'Yes', figure: referendum.yes, color: WON },
    { label: 'No', figure: referendum.no, color: LOST },
  ];
  const at = threshold.numerator / threshold.denominator;
  if (result.ballots > 0) drawShares(sheet, shares, { at, label: `needed: ${fractionText(threshold)}` });
  const asked: Readonly<Record<ReferendumRuleResult['name'], Fraction | null>> = {
    threshold,
    turnout_quorum: rules.turnoutQuorum,
    approval_quorum: rules.approvalQuorum,
  };
  const columns = [
    { title: 'Rule' },
    { title: 'Required', width: 110 },
    { title: 'Actual', width: 160 },
    { title: 'Met', width: 46 },
  ];
  const rows = referendum.rules.map((rule): Cell[] => {
    const fraction = asked[rule.name];
    return [
      { text: RULE_TITLES[rule.name] },
      { text: fraction === null ? rule.required : fractionText(fraction) },
      { text: actualText(rule) },
      { text: rule.met ? 'Yes' : 'No', bold: true, color: rule.met ? WON : LOST },
    ];
  });
  await drawTable(sheet, columns, rows);
}

const plural = (count: number, noun: string): string => `${groupDigits(count)} ${noun}${count === 1 ? '' : 's'}`;

function winnerWord(input: ReportInput): string {
  if (!input.final) return 'Leading';
  return input.event.type === 'election' ? 'Elected' : 'Won';
}

/** One line that says how it came out. */
export function outcomeText(input: ReportInput, { result }: ReportPosition): { text: string; color: string } {
  const nameOf = (id: string): string => result.candidates.find((one) => one.id === id)?.name ?? id;
  if (result.ballots === 0) return { text: 'No ballot answered this position.', color: MUTED };
  if (result.referendum !== null) {
    const { outcome } = result.referendum;
    const text = { passed: 'Passed', rejected: 'Rejected', no_quorum: 'No quorum' }[outcome];
    const color = { passed: WON, rejected: LOST, no_quorum: WARNING }[outcome];
    return { text: input.final ? text : `${text} as of now`, color };
  }
  if (result.winners.length === 0 && result.tie === null) return { text: 'Nobody won a seat.', color: MUTED };
  const undecided = result.tie?.policy === 'lot' && result.tie.seed === null;
  const joint = result.winners.length > result.seats;
  const shared = joint || undecided ? (result.tie?.candidateIds ?? []) : [];
  const sure = result.winners.filter((id) => !shared.includes(id));
  // All of a joint tie have won, as in every other form of the result.
  const tied = `${joint ? `${winnerWord(input)} jointly` : 'Tied'}: ${listNames(shared, nameOf)}`;
  if (sure.length === 0) return { text: tied, color: WARNING };
  const won = `${winnerWord(input)}: ${sure.map((id) => isolate(nameOf(id))).join(', ')}`;
  if (shared.length > 0) return { text: `${won}. ${tied}`, color: WARNING };
  return { text: won, color: input.final ? WON : INK };
}

const FIGURE_TITLES = {
  plurality: 'Votes',
  approval: 'Approvals',
  referendum: 'Votes',
  score: 'Score',
  cumulative: 'Points',
  quadratic: 'Votes',
  ranked_choice: 'Final votes',
} as const;

interface Figure extends Column {
  readonly of: (candidate: CandidateResult) => string;
}

/** The columns of figures: always the exact votes; weights where they differ; a share where there is one that makes sense. */
function figureColumns(input: ReportInput, { result }: ReportPosition): Figure[] {
  const method = result.votingMethod;
  const weighted = result.candidates.some(({ votesWon, weightWon }) => String(votesWon) !== weightWon);
  const columns: Figure[] = [];
  if (result.firstChoices !== null) {
    const firsts = new Map(result.firstChoices.map(({ candidateId, weightWon }) => [candidateId, weightWon]));
    columns.push({
      title: 'First choices',
      width: 80,
      align: 'right',
      of: ({ id }) => groupDigits(firsts.get(id) ?? '0'),
    });
  }
  const title = weighted && method !== 'ranked_choice' ? `${FIGURE_TITLES[method]} (heads)` : FIGURE_TITLES[method];
  if (!(weighted && method === 'ranked_choice')) {
    columns.push({ title, width: weighted ? 88 : 76, align: 'right', of: ({ votesWon }) => groupDigits(votesWon) });
  }
  if (weighted) {
    const heading = method === 'ranked_choice' ? 'Final votes' : 'Weighted';
    columns.push({ title: heading, width: 92, align: 'right', of: ({ weightWon }) => groupDigits(weightWon) });
  }
  const whole = result.candidates.reduce((sum, { weightWon }) => sum + decimalToScaled(weightWon), 0n);
  const ballots = BigInt(result.ballots) * decimalToScaled('1');
  if (method === 'plurality' || method === 'cumulative' || method === 'quadratic') {
    columns.push({
      title: 'Share',
      width: 58,
      align: 'right',
      of: ({ weightWon }) => percent(decimalToScaled(weightWon), whole),
    });
  }
  if (method === 'approval' && input.unitWeights) {
    columns.push({
      title: 'Of ballots',
      width: 62,
      align: 'right',
      of: ({ weightWon }) => percent(decimalToScaled(weightWon), ballots),
    });
  }
  if (method === 'score' && input.unitWeights) {
    const mean = ({ weightWon }: CandidateResult): string => quotient(decimalToScaled(weightWon), ballots, 2) ?? '–';
    columns.push({ title: 'Mean', width: 54, align: 'right', of: mean });
  }
  return columns;
}

function standingOf(input: ReportInput, result: PositionResult, candidate: CandidateResult, withdrawn: boolean): Cell {
  if (withdrawn) return { text: 'Withdrawn', color: MUTED };
  if (candidate.winner && candidate.tied && result.winners.length > result.seats)
    return { text: `${winnerWord(input)} jointly`, color: WARNING, bold: true };
  if (candidate.winner) {
    const text = winnerWord(input);
    return { text: candidate.tied ? `${text} (tie)` : text, color: input.final ? WON : INK, bold: true };
  }
  return candidate.tied ? { text: 'Lost the tie', color: WARNING } : { text: '' };
}

async function writeCandidates(
  sheet: Sheet,
  input: ReportInput,
  position: ReportPosition,
  maxRows: number,
): Promise<void> {
  const { result, definition } = position;
  const ordered = inOrderOfResult(result);
  const figures = figureColumns(input, position);
  const withdrawn = new Set(
    definition.everCandidates.filter(({ status }) => status === 'withdrawn').map(({ id }) => id),
  );
  const referendum = result.referendum !== null;
  const columns: Column[] = [
    { title: '#', width: 30, align: 'right' },
    { title: referendum ? 'Option' : 'Candidate', indent: 2 },
    ...figures,
    ...(referendum ? [] : [{ title: 'Outcome', width: 88, indent: 10 }]),
  ];
  const rows = ordered
    .slice(0, maxRows)
    .map((candidate, index): Cell[] => [
      { text: String(index + 1), color: MUTED },
      { text: candidate.name, bold: candidate.winner && !referendum },
      ...figures.map(({ of }): Cell => ({ text: of(candidate), bold: candidate.winner && !referendum })),
      ...(referendum ? [] : [standingOf(input, result, candidate, withdrawn.has(candidate.id))]),
    ]);
  await drawTable(sheet, columns, rows);
  if (ordered.length > maxRows) {
    const text = `${groupDigits(ordered.length - maxRows)} more candidates stand in the CSV and JSON exports.`;
    sheet.paragraph(text, { size: 8, color: MUTED });
  }
}

const HEAD_HEIGHT = 90;
const ROW_HEIGHT = 18.5;
const BAR_HEIGHT = 19;
const SHARES_HEIGHT = 70;

/** About what chart, figures and rules need: a position begins on a new page rather than break across two, where it can. */
function heightOf(sheet: Sheet, result: PositionResult): number {
  const rules = result.referendum?.rules.length;
  const chart =
    rules === undefined
      ? Math.min(result.candidates.length, MAX_BARS) * BAR_HEIGHT
      : SHARES_HEIGHT + (rules + 1) * ROW_HEIGHT;
  const needed = HEAD_HEIGHT + chart + (result.candidates.length + 1) * ROW_HEIGHT + 50;
  return Math.min(needed, sheet.pageHeight * 0.85);
}

/** One position: how it came out, chart, figures, rounds, ties and the rules that were applied. */
export async function writePosition(
  sheet: Sheet,
  input: ReportInput,
  position: ReportPosition,
  place: { readonly number: number; readonly maxRows: number },
): Promise<void> {
  const { result, definition, groupName } = position;
  const nameOf = (id: string): string => result.candidates.find((one) => one.id === id)?.name ?? id;
  sheet.y += 10;
  sheet.heading(
    2,
    `${place.number}. ${result.title}`,
    { size: 14, bold: true, color: INK },
    heightOf(sheet, result),
    2,
  );
  sheet.doc.outline.addItem(`${place.number}. ${result.title}`);
  const seats = result.referendum === null ? [plural(result.seats, 'seat')] : [];
  const facts = [
    methodName(definition),
    ...seats,
    plural(result.ballots, 'ballot'),
    plural(result.abstentions, 'abstention'),
  ];
  sheet.paragraph(facts.join('  ·  '), { size: 9, color: MUTED }, 4);
  const outcome = outcomeText(input, position);
  sheet.paragraph(outcome.text, { size: 11, bold: true, color: outcome.color }, 8);
  if (result.tie !== null) sheet.paragraph(tieText(result.tie, nameOf), { size: 8.5, color: WARNING }, 8);
  const close = result.referendum === null ? marginText(result, nameOf) : undefined;
  if (close !== undefined) sheet.paragraph(close, { size: 9, color: INK }, 8);
  if (result.candidates.length > 0) {
    const bars = inOrderOfResult(result).map(({ name, weightWon, winner }) => ({
      label: name,
      figure: weightWon,
      winner,
    }));
    if (result.referendum !== null) await writeReferendum(sheet, result, definition);
    else if (result.ballots > 0) drawBars(sheet, bars, FIGURE_TITLES[result.votingMethod].toLowerCase());
    await writeCandidates(sheet, input, position, place.maxRows);
  }
  if (result.roundsOmitted) {
    const text = 'The rounds are too many for this report; the API gives them in pages.';
    sheet.paragraph(text, { size: 8, color: MUTED }, 6);
  } else if (result.rounds !== null && result.ballots > 0) {
    const rounds = result.rounds.length;
    sheet.heading(
      3,
      rounds === 1 ? 'One round' : `${groupDigits(rounds)} rounds`,
      { size: 10.5, bold: true },
      flowHeight(result) + 80,
    );
    drawFlow(sheet, result);
    await writeRounds(sheet, position);
  }
  sheet.heading(3, 'Rules applied', { size: 10.5, bold: true }, 30, 2);
  sheet.paragraph(describeRules(definition, groupName).join(' '), { size: 8.5, color: INK }, 10);
}
