/**
 * What a count reads and what it answers. Shapes follow section 5 of the API reference ("Results").
 *
 * Weights are integers in millionths ("micro"): a voter of weight 1.5 has `1_500_000n`.
 * Everything that leaves a count is an integer or an exact decimal string.
 */

export type VotingMethod =
  | 'plurality'
  | 'approval'
  | 'referendum'
  | 'score'
  | 'cumulative'
  | 'quadratic'
  | 'ranked_choice';

export type TieBreak = 'joint' | 'lot' | 'candidate_order';
export type ReferendumRole = 'yes' | 'no' | 'abstain';

/** A share such as 2/3; `inclusive` means that reaching it exactly is enough. */
export interface Fraction {
  readonly numerator: number;
  readonly denominator: number;
  readonly inclusive: boolean;
}

export interface ReferendumRules {
  /** Share of yes among yes and no. */
  readonly threshold: Fraction;
  /** Share of the electorate's weight that must take part. */
  readonly turnoutQuorum: Fraction | null;
  /** Share of the electorate's weight that must vote yes. */
  readonly approvalQuorum: Fraction | null;
}

export interface TallyCandidate {
  readonly id: string;
  readonly name: string;
  /** Rank in the candidate order; lower stands earlier. Ties in it are broken by `id`. */
  readonly sortOrder: number;
  /** A withdrawn candidate keeps its votes in the log, is skipped by ranked counts, and wins no seat. */
  readonly withdrawn: boolean;
  readonly referendumRole: ReferendumRole | null;
}

export interface TallyPosition {
  readonly id: string;
  readonly title: string;
  readonly votingMethod: VotingMethod;
  readonly seats: number;
  /** Most entries a ballot may have; left out, 1 for plurality and referendum and the number of candidates otherwise. */
  readonly maxSelections?: number;
  readonly tieBreak: TieBreak;
  /** Present for referendums only. */
  readonly rules: ReferendumRules | null;
  /** Entries of a ballot name a candidate by its index in this array. */
  readonly candidates: readonly TallyCandidate[];
}

/**
 * One ballot's entries for one position, as parallel arrays that the reader may reuse for the next ballot.
 * `values[i]`: 1 for plurality, approval and referendum; the score, points or votes; the rank (1 is first) for ranked choice.
 */
export interface PositionBallot {
  readonly length: number;
  readonly candidates: ArrayLike<number>;
  readonly values: ArrayLike<number>;
}

export interface ReportOptions {
  /** Hex of the lot's seed, or null while it is not revealed: a `lot` tie is then reported as `joint` is, undecided by lot. */
  readonly seed: string | null;
  /** Weight of the approved voters, or null where there is no roll (polls). */
  readonly electorateMicro: bigint | null;
  /** Whether every weight of the event is a whole number: then `votesWon` is the weighted figure, otherwise heads. */
  readonly wholeWeights: boolean;
}

/** A running count of one position. Adding ballots in any order gives the same report. */
export interface PositionCount {
  /**
   * Counts one ballot. An empty ballot (length 0) is an abstention. A ballot that the method does not allow is refused
   * (`CountRefused`) and leaves the count as it was.
   * @param times 1 to add, -1 to take a voided ballot out again, or the number of identical ballots.
   */
  add(ballot: PositionBallot, weightMicro: bigint, times?: number): void;
  report(options: ReportOptions): PositionResult;
  /** What `startCount` goes on from; undefined where that would take more room than the ballots are worth. */
  save(): SavedCount | undefined;
}

/** A count as it stood, of plain values that can be cloned and stored. */
export interface SavedCount {
  readonly ballots: number;
  readonly abstentions: number;
  /** Referendums: the weight of all ballots. */
  readonly turnoutMicro: bigint;
  /** Sums of values by candidate, a row for each weight; their bounds as in `CandidateSums`. */
  readonly rows: readonly { readonly weightMicro: bigint; readonly heads: Float64Array; readonly bound: number }[];
  readonly wide: { readonly heads: readonly bigint[]; readonly weightMicro: readonly bigint[] } | null;
  /** Ranked choice: candidates by place, one array for each ranking and weight, and how often it was given. */
  readonly rankings: readonly { readonly places: Uint16Array; readonly weightMicro: bigint; readonly heads: number }[];
}

export interface CandidateResult {
  readonly id: string;
  readonly name: string;
  readonly votesWon: number;
  readonly weightWon: string;
  readonly winner: boolean;
  readonly tied: boolean;
}

export interface TieDecision {
  readonly candidateIds: readonly string[];
  readonly policy: TieBreak | 'earlier_round';
  readonly seed: string | null;
}

export interface RoundTally {
  readonly candidateId: string;
  readonly votesWon: number;
  readonly weightWon: string;
}

export interface RoundTransfer {
  readonly from: string;
  /** Null where the ballots are exhausted, and for what cutting down left over. */
  readonly to: string | null;
  readonly weight: string;
}

export interface Round {
  readonly round: number;
  /** Weight needed to be elected in this round, an exact decimal string. */
  readonly threshold: string;
  readonly tallies: readonly RoundTally[];
  /**
   * Weight of the ballots that name no continuing candidate, an exact decimal string. A transferable vote adds what
   * cutting down left over, so that tallies and exhausted make up the same weight in every round.
   */
  readonly exhausted: string;
  readonly elected: readonly string[];
  readonly eliminated: readonly string[];
  readonly transfers: readonly RoundTransfer[];
  readonly tie: TieDecision | null;
}

export interface ReferendumRuleResult {
  readonly name: 'threshold' | 'turnout_quorum' | 'approval_quorum';
  /** Both as exact fractions written `numerator/denominator`, weights in the roll's unit. */
  readonly required: string;
  readonly actual: string;
  readonly met: boolean;
}

export interface ReferendumResult {
  readonly yes: string;
  readonly no: string;
  readonly abstain: string;
  readonly electorate: string | null;
  readonly rules: readonly ReferendumRuleResult[];
  readonly outcome: 'passed' | 'rejected' | 'no_quorum';
}

export interface PositionResult {
  readonly id: string;
  readonly title: string;
  readonly votingMethod: VotingMethod;
  readonly seats: number;
  readonly totalVotes: number;
  /** Ballots that answered this position. */
  readonly ballots: number;
  /** Ballots that could have answered and did not. */
  readonly abstentions: number;
  readonly candidates: readonly CandidateResult[];
  readonly winners: readonly string[];
  readonly tie: TieDecision | null;
  readonly rounds: readonly Round[] | null;
  readonly referendum: ReferendumResult | null;
}
