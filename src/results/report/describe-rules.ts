import type { BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import type { Fraction, PositionResult, TieDecision } from '#src/tally/types.ts';
import { groupDigits } from './exact-figures.ts';
import { isolate } from './text-runs.ts';

/** The method's name as a heading gives it. */
export function methodName(position: BallotPosition): string {
  switch (position.votingMethod) {
    case 'plurality':
      return 'Plurality';
    case 'approval':
      return 'Approval';
    case 'referendum':
      return 'Referendum';
    case 'score':
      return 'Score';
    case 'cumulative':
      return 'Cumulative';
    case 'quadratic':
      return 'Quadratic';
    case 'ranked_choice':
      return position.seats === 1 ? 'Ranked choice (instant runoff)' : 'Ranked choice (single transferable vote)';
  }
}

/** `more than 1/2`, `at least 2/3`. */
export function fractionText(fraction: Fraction): string {
  return `${fraction.inclusive ? 'at least' : 'more than'} ${fraction.numerator}/${fraction.denominator}`;
}

function selections(position: BallotPosition): string {
  const { minSelections: least, selectionLimit: most } = position;
  const noun = (count: number): string => (count === 1 ? 'candidate' : 'candidates');
  return least === most ? `exactly ${least} ${noun(least)}` : `${least} to ${most} ${noun(most)}`;
}

function methodRule(position: BallotPosition): string {
  const marks = selections(position);
  switch (position.votingMethod) {
    case 'plurality':
      return `Each ballot chooses ${marks}. The most votes win.`;
    case 'approval':
      return `Each ballot approves of ${marks}. The most approvals win.`;
    case 'referendum':
      return 'Each ballot marks one option. Abstentions and blank ballots are no votes.';
    case 'score':
      return `Each ballot scores ${marks} from ${position.scoreMin ?? 0} to ${position.scoreMax ?? 5}, whole numbers. The highest sum wins.`;
    case 'cumulative':
      return `Each ballot spreads up to ${position.cumulativePointBudget ?? 0} points over ${marks}. The most points win.`;
    case 'quadratic':
      return `Each ballot has ${position.quadraticBaseCreditBudget ?? 0} credits${position.quadraticTopUp === null ? '' : ' and those bought'}; votes for a candidate cost their square. The most votes win.`;
    case 'ranked_choice':
      return position.seats === 1
        ? `Each ballot ranks ${marks}. In each round the candidate with the fewest votes goes out and its ballots pass to their next choice, until one has more than half of the active votes or two remain.`
        : `Each ballot ranks ${marks}. The quota is floor(valid votes / (seats + 1)) + 1 where every weight is 1; otherwise more than valid votes / (seats + 1) elects. A surplus passes on in proportion (weighted inclusive Gregory, five decimals cut down); where nobody reaches the quota the lowest goes out.`;
  }
}

const THRESHOLD_BASES = {
  yes_no: 'yes and no',
  answers: 'yes, no and abstentions',
  electorate: 'the electorate',
} as const;

const TIE_RULES = {
  joint: 'A tie for a seat is reported jointly: all tied are named as winners.',
  lot: 'A tie for a seat is decided by lot: the smaller SHA-256(seed, log root before the close, candidate ID) goes first. The hash of the seed was published at the opening, the seed is revealed when the result is final.',
  candidate_order: 'A tie for a seat goes to the candidate who stands first in the candidate order.',
} as const;

/** What was applied to a position, one sentence a rule. */
export function describeRules(position: BallotPosition, groupName: string | null): string[] {
  const rules = [methodRule(position)];
  if (position.votingMethod === 'referendum' && position.rules !== null) {
    const { threshold, turnoutQuorum, approvalQuorum } = position.rules;
    rules.push(`Yes passes with ${fractionText(threshold)} of ${THRESHOLD_BASES[threshold.base]}.`);
    if (turnoutQuorum !== null) rules.push(`Quorum: ${fractionText(turnoutQuorum)} of the electorate takes part.`);
    if (approvalQuorum !== null) rules.push(`Quorum: ${fractionText(approvalQuorum)} of the electorate votes yes.`);
    return rules;
  }
  rules.push(position.seats === 1 ? 'One seat.' : `${position.seats} seats.`);
  rules.push(TIE_RULES[position.tieBreak]);
  if (position.votingMethod === 'ranked_choice') {
    const last = position.tieBreak === 'candidate_order' ? 'the candidate order' : 'lot';
    rules.push(
      `A tie for elimination is decided by the latest earlier round in which the tied differ, then by ${last}.`,
    );
  }
  if (position.majorityRequired !== null) {
    const { numerator, denominator } = position.majorityRequired;
    rules.push(`A winner needs more than ${numerator}/${denominator} of the ballots that answered.`);
  }
  if (groupName !== null) rules.push(`Open to the group ${groupName} alone.`);
  return rules;
}

const MAX_NAMES = 12;

/** Names in a sentence; of many the first ones. */
export function listNames(ids: readonly string[], nameOf: (id: string) => string): string {
  const names = ids
    .slice(0, MAX_NAMES)
    .map((id) => isolate(nameOf(id)))
    .join(', ');
  return ids.length > MAX_NAMES ? `${names} and ${groupDigits(ids.length - MAX_NAMES)} more` : names;
}

export function tieText(tie: TieDecision, nameOf: (id: string) => string): string {
  const names = listNames(tie.candidateIds, nameOf);
  switch (tie.policy) {
    case 'joint':
      return `Tied for the last seat: ${names}. Reported jointly.`;
    case 'lot':
      return tie.seed === null
        ? `Tied: ${names}. The lot is not drawn yet.`
        : `Tied: ${names}. Decided by lot, seed ${tie.seed}.`;
    case 'candidate_order':
      return `Tied: ${names}. Decided by the candidate order.`;
    case 'earlier_round':
      return `Tied: ${names}. Decided by an earlier round.`;
  }
}

const BOUNDS = { lower: 'at least ', upper: 'at most ' } as const;

/** How close it was, in a sentence that a chair can read aloud; undefined where there is nothing to say. */
export function marginText(
  { runnerUp, margin, tie }: Pick<PositionResult, 'runnerUp' | 'margin' | 'tie'>,
  nameOf: (id: string) => string,
): string | undefined {
  const next = runnerUp === null ? [] : [`Next after the seats: ${isolate(nameOf(runnerUp))}.`];
  if (tie !== null) return [...next, 'It was a tie: one vote would have decided it.'].join(' ');
  if (margin === null) return next[0];
  const about = margin.bound === null ? '' : BOUNDS[margin.bound];
  const votes = margin.votes === '1' ? 'vote' : 'votes';
  const change = `It would have taken ${about}${groupDigits(margin.votes)} changed ${votes} to change who won.`;
  return [...next, change].join(' ');
}
