import type { BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import type { Fraction, PositionResult, ReferendumRuleResult } from '#src/tally/types.ts';
import { fractionText } from './describe-rules.ts';
import { drawShares } from './draw-bars.ts';
import { type Cell, drawTable } from './draw-table.ts';
import { decimalToScaled, groupDigits, percent } from './exact-figures.ts';
import { LOST, type Sheet, WON } from './sheet.ts';

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
export async function writeReferendum(sheet: Sheet, result: PositionResult, definition: BallotPosition): Promise<void> {
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
