import type { BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import type { Fraction, ReferendumRules } from '#src/ballot-definition/types.ts';
import { scaledToDecimal, shareOf } from '#src/platform/decimal.ts';
import type { PositionResult, ReferendumResult, ReferendumRuleResult } from '#src/tally/position-result.ts';
import { describeRules, listNames, marginText, methodName, tieText } from './describe-rules.ts';
import { BAR_STEP, drawBars, drawShares, LEAST_BARS, MAX_BARS, SHARES_HEIGHT, type Share } from './draw-bars.ts';
import { type Cell, drawTable } from './draw-table.ts';
import { decimalToScaled, SCALE_DECIMALS } from './exact-figures.ts';
import { namesOf, type ReportInput, type ReportPosition } from './report-input.ts';
import type { ReportWords } from './report-words.ts';
import { INK, LOST, MUTED, type Sheet, TRACK, WARNING, WON } from './sheet.ts';
import { isolate } from './text-runs.ts';
import { figureTitle, foldZeros, winnerWord, writeCandidates } from './write-candidates.ts';
import { writeRounds } from './write-rounds.ts';

/** `60/100` → `60 of 100 (60.0 %)`. */
function actualText(rule: ReferendumRuleResult, { digits, percent, position }: ReportWords): string {
  const [part = '0', whole = '0'] = rule.actual.split('/');
  const share = percent(decimalToScaled(part), decimalToScaled(whole));
  return position.actualShare(digits(part), digits(whole), share);
}

/** The parts of the threshold's base, and the place of the threshold on the bar; undefined if the base is 0. */
export function thresholdBar(
  { yes, no, abstain, rules }: ReferendumResult,
  { threshold }: ReferendumRules,
  words: ReportWords,
): { shares: Share[]; at: number } | undefined {
  const shares: Share[] = [
    { label: words.yes, figure: yes, color: WON },
    { label: words.no, figure: no, color: LOST },
  ];
  if (threshold.base !== 'yes_no') shares.push({ label: words.abstain, figure: abstain, color: MUTED });
  const [, whole = '0'] = rules.find(({ name }) => name === 'threshold')?.actual.split('/') ?? [];
  const base = decimalToScaled(whole);
  if (base === 0n) return undefined;
  const answered = shares.reduce((sum, { figure }) => sum + decimalToScaled(figure), 0n);
  if (base > answered) {
    const figure = scaledToDecimal(base - answered, SCALE_DECIMALS);
    shares.push({ label: words.noAnswer, figure, color: TRACK, textColor: INK });
  }
  // Answers may weigh more than the electorate: the ballot of a voter who was rejected later still counts.
  const all = base > answered ? base : answered;
  return { shares, at: shareOf(base * BigInt(threshold.numerator), all * BigInt(threshold.denominator)) };
}

/** Draws the bar of the threshold's base, and a table of each rule with the required and the actual share. */
async function writeReferendum(sheet: Sheet, result: PositionResult, definition: BallotPosition): Promise<void> {
  const { referendum } = result;
  const rules = definition.rules;
  if (referendum === null || rules === null) return;
  const { words } = sheet;
  const { threshold } = rules;
  const bar = thresholdBar(referendum, rules, words);
  const needed = words.position.needed(words.fraction(threshold), words.rules.bases[threshold.base]);
  if (bar !== undefined && result.ballots > 0) drawShares(sheet, bar.shares, { at: bar.at, label: needed });
  const asked: Readonly<Record<ReferendumRuleResult['name'], Fraction | null>> = {
    threshold,
    turnout_quorum: rules.turnoutQuorum,
    approval_quorum: rules.approvalQuorum,
  };
  const columns = [
    { title: words.position.rule },
    { title: words.position.required, width: 110 },
    { title: words.position.actual, width: 160 },
    { title: words.position.met, width: 46 },
  ];
  const rows = referendum.rules.map((rule): Cell[] => {
    const fraction = asked[rule.name];
    return [
      { text: words.position[rule.name] },
      { text: fraction === null ? rule.required : words.fraction(fraction) },
      { text: actualText(rule, words) },
      { text: rule.met ? words.yes : words.no, bold: true, color: rule.met ? WON : LOST },
    ];
  });
  await drawTable(sheet, columns, rows);
}

export function outcomeText(
  input: ReportInput,
  { result }: ReportPosition,
  words: ReportWords,
): { text: string; color: string } {
  const texts = words.outcome;
  const nameOf = namesOf(result);
  if (result.ballots === 0) return { text: texts.unanswered, color: MUTED };
  if (result.referendum !== null) {
    const { outcome } = result.referendum;
    const color = { passed: WON, rejected: LOST, no_quorum: WARNING }[outcome];
    return { text: input.final ? texts[outcome] : texts.asOfNow(texts[outcome]), color };
  }
  if (result.winners.length === 0 && result.tie === null) return { text: texts.vacant, color: MUTED };
  const won = winnerWord(input, words);
  const undecided = result.tie?.policy === 'lot' && result.tie.seed === null;
  const joint = result.winners.length > result.seats;
  const shared = joint || undecided ? (result.tie?.candidateIds ?? []) : [];
  const sure = result.winners.filter((id) => !shared.includes(id));
  // In a joint tie, all tied candidates have won.
  const tied = texts.of(joint ? texts.jointly(won) : texts.tied, listNames(shared, nameOf, words));
  if (sure.length === 0) return { text: tied, color: WARNING };
  const text = texts.of(won, sure.map((id) => isolate(nameOf(id))).join(', '));
  if (shared.length > 0) return { text: `${text}. ${tied}`, color: WARNING };
  return { text, color: input.final ? WON : INK };
}

const HEAD_HEIGHT = 90;
const ROW_HEIGHT = 18.5;
/** The share of a page that may stay empty so that a position is not split. */
const SPARED = 0.25;

/** The height to keep together with a position's heading: the whole position if that leaves little room empty, otherwise its beginning. */
function keptWith(sheet: Sheet, position: ReportPosition): number {
  const { result } = position;
  const { shown } = foldZeros(position);
  const bars = Math.min(shown.length, MAX_BARS);
  const rules = result.referendum?.rules.length;
  const chart = rules === undefined ? bars * BAR_STEP : SHARES_HEIGHT + (rules + 1) * ROW_HEIGHT;
  const whole = HEAD_HEIGHT + chart + (shown.length + 1) * ROW_HEIGHT + 50;
  const room = sheet.bottom - sheet.y;
  if (room < sheet.pageHeight * SPARED && whole < sheet.pageHeight) return whole;
  return HEAD_HEIGHT + (rules === undefined ? Math.min(bars, LEAST_BARS) * BAR_STEP : SHARES_HEIGHT);
}

/** Writes one position: outcome, chart, figures, rounds, ties, and the rules that were applied. */
export async function writePosition(
  sheet: Sheet,
  input: ReportInput,
  position: ReportPosition,
  place: { readonly number: number; readonly maxRows: number },
): Promise<void> {
  const { words } = sheet;
  const { result, definition, groupName } = position;
  const nameOf = namesOf(result);
  sheet.y += 10;
  const title = `${words.digits(place.number)}. ${isolate(result.title)}`;
  const keep = keptWith(sheet, position);
  sheet.heading(2, title, { size: 14, bold: true, color: INK }, { keep, gap: 2, outline: true });
  const facts = [
    methodName(definition, words),
    ...(result.referendum === null ? [words.position.seats(result.seats)] : []),
    words.position.ballots(result.ballots),
    words.position.abstentions(result.abstentions),
  ];
  sheet.paragraph(facts.join('  ·  '), { size: 9, color: MUTED }, 4);
  const outcome = outcomeText(input, position, words);
  sheet.paragraph(outcome.text, { size: 11, bold: true, color: outcome.color }, 8);
  if (result.tie !== null) sheet.paragraph(tieText(result.tie, nameOf, words), { size: 8.5, color: WARNING }, 8);
  const close = result.referendum === null ? marginText(result, nameOf, words) : undefined;
  if (close !== undefined) sheet.paragraph(close, { size: 9, color: INK }, 8);
  if (result.candidates.length > 0) {
    const bars = foldZeros(position).shown.map(({ name, weightWon, winner }) => ({
      label: name,
      figure: weightWon,
      winner,
    }));
    if (result.referendum !== null) await writeReferendum(sheet, result, definition);
    else if (result.ballots > 0 && bars.length > 0) drawBars(sheet, bars, figureTitle(result.votingMethod, words));
    await writeCandidates(sheet, input, position, place.maxRows);
  }
  if (result.roundsOmitted) sheet.paragraph(words.rounds.omitted, { size: 8, color: MUTED }, 6);
  else if (result.rounds !== null && result.ballots > 0) {
    sheet.heading(3, words.rounds.title(result.rounds.length), { size: 10.5, bold: true });
    await writeRounds(sheet, position);
  }
  sheet.heading(3, words.rules.title, { size: 10.5, bold: true }, { gap: 2 });
  sheet.paragraph(describeRules(definition, groupName, words).join(' '), { size: 8.5, color: INK }, 10);
}
