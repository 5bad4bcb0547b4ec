import type { BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import type { PositionResult, TieDecision } from '#src/tally/position-result.ts';
import type { ReportWords } from './report-words.ts';
import { isolate } from './text-runs.ts';

export function methodName(position: BallotPosition, { methods }: ReportWords): string {
  if (position.votingMethod !== 'ranked_choice') return methods[position.votingMethod];
  return position.seats === 1 ? methods.instantRunoff : methods.transferable;
}

function methodRule(position: BallotPosition, { rules, selections }: ReportWords): string {
  const marks = selections(position.minSelections, position.selectionLimit);
  switch (position.votingMethod) {
    case 'plurality':
      return rules.plurality(marks);
    case 'approval':
      return rules.approval(marks);
    case 'referendum':
      return rules.referendum;
    case 'score':
      return rules.score(marks, position.scoreMin ?? 0, position.scoreMax ?? 5);
    case 'cumulative':
      return rules.cumulative(marks, position.cumulativePointBudget ?? 0);
    case 'quadratic':
      return rules.quadratic(position.quadraticBaseCreditBudget ?? 0, position.quadraticTopUp !== null);
    case 'ranked_choice':
      return position.seats === 1 ? rules.instantRunoff(marks) : rules.transferable(marks);
  }
}

/** The rules that were applied to a position, one sentence each. */
export function describeRules(position: BallotPosition, groupName: string | null, words: ReportWords): string[] {
  const { rules: texts, fraction } = words;
  const rules = [methodRule(position, words)];
  if (position.votingMethod === 'referendum' && position.rules !== null) {
    const { threshold, turnoutQuorum, approvalQuorum } = position.rules;
    rules.push(texts.passes(fraction(threshold), texts.bases[threshold.base]));
    if (turnoutQuorum !== null) rules.push(texts.turnoutQuorum(fraction(turnoutQuorum)));
    if (approvalQuorum !== null) rules.push(texts.approvalQuorum(fraction(approvalQuorum)));
  } else {
    rules.push(texts.seats(position.seats), texts.ties[position.tieBreak]);
    if (position.votingMethod === 'ranked_choice')
      rules.push(position.tieBreak === 'candidate_order' ? texts.eliminationByOrder : texts.eliminationByLot);
    if (position.majorityRequired !== null) {
      const { numerator, denominator } = position.majorityRequired;
      rules.push(texts.majority(numerator, denominator));
    }
  }
  if (groupName !== null) rules.push(texts.group(isolate(groupName)));
  return rules;
}

const MAX_NAMES = 12;

/** Names for a sentence. Of more than MAX_NAMES, only the first are named, with the number of the others. */
export function listNames(ids: readonly string[], nameOf: (id: string) => string, words: ReportWords): string {
  const names = ids
    .slice(0, MAX_NAMES)
    .map((id) => isolate(nameOf(id)))
    .join(', ');
  return ids.length > MAX_NAMES ? words.more(names, ids.length - MAX_NAMES) : names;
}

export function tieText(tie: TieDecision, nameOf: (id: string) => string, words: ReportWords): string {
  const names = listNames(tie.candidateIds, nameOf, words);
  if (tie.policy !== 'lot') return words.ties[tie.policy](names);
  return tie.seed === null ? words.ties.undrawn(names) : words.ties.lot(names, tie.seed);
}

/** A sentence about how close the result was, to be read aloud; undefined if there is nothing to say. */
export function marginText(
  { runnerUp, margin, tie }: Pick<PositionResult, 'runnerUp' | 'margin' | 'tie'>,
  nameOf: (id: string) => string,
  words: ReportWords,
): string | undefined {
  const next = runnerUp === null ? [] : [words.runnerUp(isolate(nameOf(runnerUp)))];
  if (tie !== null) return [...next, words.tieMargin].join(' ');
  if (margin === null) return next[0];
  return [...next, words.margin(margin.votes, margin.bound)].join(' ');
}
