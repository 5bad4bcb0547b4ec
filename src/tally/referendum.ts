import { BallotSums } from './ballot-sums.ts';
import { requireThat } from './count-refused.ts';
import { scaledToDecimal, WEIGHT_DECIMALS } from './exact.ts';
import { isMark } from './mark-check.ts';
import { Ties } from './ties.ts';
import type {
  Fraction,
  PositionCount,
  PositionResult,
  ReferendumResult,
  ReferendumRole,
  ReferendumRuleResult,
  ReferendumRules,
  ReportOptions,
  SavedCount,
  TallyPosition,
} from './types.ts';

/** Weights in millionths that the rules compare. */
interface Votes {
  readonly yes: bigint;
  readonly no: bigint;
  readonly abstain: bigint;
  /** All ballots, those without entries too. */
  readonly turnout: bigint;
  /** Zero where there is no roll: a quorum of an unknown number is never met. */
  readonly electorate: bigint;
}

/** Referendum: a ballot marks one option; yes passes by its share of yes and no, if the quorums are met. */
export function countReferendum(position: TallyPosition, saved?: SavedCount): PositionCount {
  const { rules } = position;
  requireThat(rules !== null, 'a referendum has no rules');
  const sums = new BallotSums(position, { maxEntries: 1, isValue: isMark }, saved);
  let turnoutMicro = saved?.turnoutMicro ?? 0n;
  return {
    add(ballot, weightMicro, times = 1) {
      sums.add(ballot, weightMicro, times);
      turnoutMicro += weightMicro * BigInt(times);
    },
    report: (options) => report(position, rules, sums, turnoutMicro, options),
    save: () => sums.save(turnoutMicro),
  };
}

function report(
  position: TallyPosition,
  rules: ReferendumRules,
  sums: BallotSums,
  turnoutMicro: bigint,
  options: ReportOptions,
): PositionResult {
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
    id: position.id,
    title: position.title,
    votingMethod: position.votingMethod,
    seats: position.seats,
    ballots,
    abstentions,
    ...sums.rows(weightsMicro, options.wholeWeights, winners, []),
    winners: winners.flatMap((candidate) => position.candidates[candidate]?.id ?? []),
    tie: null,
    rounds: null,
    referendum,
  };
}

function decide(rules: ReferendumRules, votes: Votes, electorateMicro: bigint | null): ReferendumResult {
  const threshold = applyRule('threshold', rules.threshold, votes.yes, votes.yes + votes.no);
  const quorums: ReferendumRuleResult[] = [];
  if (rules.turnoutQuorum !== null) {
    quorums.push(applyRule('turnout_quorum', rules.turnoutQuorum, votes.turnout, votes.electorate));
  }
  if (rules.approvalQuorum !== null) {
    quorums.push(applyRule('approval_quorum', rules.approvalQuorum, votes.yes, votes.electorate));
  }
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

/** Compares part / whole with the fraction by cross-multiplication: a division would round. */
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

/** Withdrawn options keep their votes here: taking an option off must not turn a decision. */
function sumOfRole(position: TallyPosition, weightsMicro: readonly bigint[], role: ReferendumRole): bigint {
  return position.candidates.reduce(
    (sum, candidate, index) => (candidate.referendumRole === role ? sum + (weightsMicro[index] ?? 0n) : sum),
    0n,
  );
}

function winnersOf(position: TallyPosition, outcome: ReferendumResult['outcome']): number[] {
  if (outcome === 'no_quorum') {
    return [];
  }
  const role = outcome === 'passed' ? 'yes' : 'no';
  const carried = [...position.candidates.keys()].filter((index) => {
    const candidate = position.candidates[index];
    return candidate !== undefined && candidate.referendumRole === role && !candidate.withdrawn;
  });
  return new Ties(position, null).inCandidateOrder(carried);
}

function weight(micro: bigint): string {
  return scaledToDecimal(micro, WEIGHT_DECIMALS);
}
