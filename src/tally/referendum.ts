import type { Fraction, ReferendumRole, ReferendumRules } from '#src/ballot-definition/types.ts';
import { scaledToDecimal, WEIGHT_DECIMALS } from '#src/platform/decimal.ts';
import { BallotSums } from './ballot-sums.ts';
import { requireThat } from './exact.ts';
import { marginOf, stepOf } from './margin.ts';
import { MARK } from './mark-check.ts';
import type { Margin, PositionResult, ReferendumResult, ReferendumRuleResult } from './position-result.ts';
import { Ties } from './ties.ts';
import { headOf, NOT_RANKED, type PositionCount, type ReportOptions, type TallyPosition } from './types.ts';

/** The weights that the rules compare, in millionths. */
interface Votes {
  readonly yes: bigint;
  readonly no: bigint;
  readonly abstain: bigint;
  /** All ballots, including ballots without entries. */
  readonly turnout: bigint;
  /** Zero in polls, which have no roll of voters: a quorum of an unknown electorate is never reached. */
  readonly electorate: bigint;
}

/** Referendum: a ballot marks one option. The proposal passes if yes has the required share (`baseOf`), and the quorums are met. */
export function countReferendum(position: TallyPosition): PositionCount {
  const { rules } = position;
  requireThat(rules !== null, 'a referendum has no rules');
  const sums = new BallotSums(position, { maxEntries: 1, values: MARK });
  let turnoutMicro = 0n;
  return {
    add(ballot, weightMicro, times = 1) {
      sums.add(ballot, weightMicro, times);
      turnoutMicro += weightMicro * BigInt(times);
    },
    get heldBytes() {
      return sums.heldBytes;
    },
    report: (options) => report(position, rules, sums, turnoutMicro, options),
    rounds: () => ({ rounds: [], nextRound: null }),
  };
}

function report(
  position: TallyPosition,
  rules: ReferendumRules,
  sums: BallotSums,
  turnoutMicro: bigint,
  given: ReportOptions,
): PositionResult {
  const isShort =
    given.atLeastTurnout === true && given.electorateMicro !== null && given.electorateMicro < turnoutMicro;
  const options = isShort ? { ...given, electorateMicro: turnoutMicro } : given;
  const { ballots, abstentions } = sums.participation;
  const weightsMicro = sums.weightsMicro();
  const votes: Votes = {
    yes: sumOfRole(position, weightsMicro, 'yes'),
    no: sumOfRole(position, weightsMicro, 'no'),
    abstain: sumOfRole(position, weightsMicro, 'abstain'),
    turnout: turnoutMicro,
    electorate: options.electorateMicro ?? 0n,
  };
  const referendum = decide(rules, votes, options.electorateMicro);
  const winners = ballots === 0 ? [] : winnersOf(position, referendum.outcome);
  return {
    ...headOf(position),
    ballots,
    abstentions,
    vacantSeats: 0,
    ...sums.rows(weightsMicro, options.wholeWeights, winners, []),
    winners: winners.flatMap((candidate) => position.candidates[candidate]?.id ?? []),
    runnerUp: null,
    runoff: null,
    margin: ballots === 0 ? null : marginOfReferendum(rules, votes, options),
    tie: null,
    ...NOT_RANKED,
    referendum,
  };
}

function decide(rules: ReferendumRules, votes: Votes, electorateMicro: bigint | null): ReferendumResult {
  const threshold = applyRule('threshold', rules.threshold, votes.yes, baseOf(rules, votes));
  const quorums: ReferendumRuleResult[] = [];
  if (rules.turnoutQuorum !== null)
    quorums.push(applyRule('turnout_quorum', rules.turnoutQuorum, votes.turnout, votes.electorate));
  if (rules.approvalQuorum !== null)
    quorums.push(applyRule('approval_quorum', rules.approvalQuorum, votes.yes, votes.electorate));
  const quorate = quorums.every((quorum) => quorum.met);
  return {
    yes: weight(votes.yes),
    no: weight(votes.no),
    abstain: weight(votes.abstain),
    electorate: electorateMicro === null ? null : weight(electorateMicro),
    rules: [threshold, ...quorums],
    outcome: quorate ? (threshold.met ? 'passed' : 'rejected') : 'no_quorum',
  };
}

/** The weight of which yes needs the required share. */
function baseOf({ threshold }: ReferendumRules, { yes, no, abstain, electorate }: Votes): bigint {
  if (threshold.base === 'electorate') return electorate;
  return threshold.base === 'answers' ? yes + no + abstain : yes + no;
}

/**
 * The least weight of changed answers that changes the outcome. Answers change from yes to no, or to yes: first from no, then from
 * abstain. A larger change moves all shares of yes further in one direction, so bisection works. Null if no change suffices.
 */
function marginOfReferendum(rules: ReferendumRules, votes: Votes, options: ReportOptions): Margin | null {
  const { unitWeights, electorateMicro } = options;
  const step = stepOf(unitWeights);
  const outcome = decide(rules, votes, electorateMicro).outcome;
  const less = (change: bigint): Votes => ({ ...votes, yes: votes.yes - change, no: votes.no + change });
  const more = (change: bigint): Votes => {
    const fromNo = change < votes.no ? change : votes.no;
    return { ...votes, yes: votes.yes + change, no: votes.no - fromNo, abstain: votes.abstain - (change - fromNo) };
  };
  const ways = [
    { most: votes.yes, after: less },
    { most: votes.no + votes.abstain, after: more },
  ];
  const least = ways.flatMap(({ most, after }) => {
    const changes = (steps: bigint): boolean => decide(rules, after(steps * step), electorateMicro).outcome !== outcome;
    let [low, high] = [0n, most / step];
    if (!changes(high)) return [];
    while (high - low > 1n) {
      const middle = (low + high) / 2n;
      if (changes(middle)) high = middle;
      else low = middle;
    }
    return [high * step];
  });
  const [first, second] = least;
  if (first === undefined) return null;
  return marginOf(second !== undefined && second < first ? second : first, unitWeights, true);
}

/** Compares part / whole with a fraction by cross-multiplication, because a division would round. */
function applyRule(
  name: ReferendumRuleResult['name'],
  fraction: Fraction,
  part: bigint,
  whole: bigint,
): ReferendumRuleResult {
  const reached = part * BigInt(fraction.denominator);
  const required = whole * BigInt(fraction.numerator);
  return {
    name,
    required: `${fraction.numerator}/${fraction.denominator}`,
    actual: `${weight(part)}/${weight(whole)}`,
    met: whole > 0n && (reached > required || (fraction.inclusive && reached === required)),
  };
}

/** Sums also withdrawn options, because withdrawing an option must not change the decision. */
function sumOfRole(position: TallyPosition, weightsMicro: readonly bigint[], role: ReferendumRole): bigint {
  return position.candidates.reduce(
    (sum, candidate, index) => (candidate.referendumRole === role ? sum + (weightsMicro[index] ?? 0n) : sum),
    0n,
  );
}

function winnersOf(position: TallyPosition, outcome: ReferendumResult['outcome']): number[] {
  if (outcome === 'no_quorum') return [];
  const role = outcome === 'passed' ? 'yes' : 'no';
  const carried = [...position.candidates.keys()].filter((index) => {
    const candidate = position.candidates[index];
    return candidate !== undefined && candidate.referendumRole === role && !candidate.withdrawn;
  });
  return new Ties(position, null).inCandidateOrder(carried);
}

const weight = (micro: bigint): string => scaledToDecimal(micro, WEIGHT_DECIMALS);
