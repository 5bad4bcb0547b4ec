import type {
  Majority,
  ReferendumRole,
  ReferendumRules,
  TieBreak,
  VotingMethod,
} from '#src/ballot-definition/types.ts';
import type { PositionResult, Round } from './position-result.ts';

/**
 * What a count reads and what it answers. Shapes follow section 5 of the API reference ("Results").
 *
 * Weights are integers in millionths ("micro"): a voter of weight 1.5 has `1_500_000n`.
 * Everything that leaves a count is an integer or an exact decimal string.
 */

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
  /** Score: the ends of the scale. Left out, the scale holds 0 and has no known ends. */
  readonly scoreMin?: number | null;
  readonly scoreMax?: number | null;
  /** Plurality and approval: the share of the answering weight that a winner must exceed. */
  readonly majorityRequired?: Majority | null;
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
  /** True where the reader has seen that each candidate stands after the one before, and in the position: none stands twice. */
  readonly isAscending?: boolean;
  /** The lowest and the highest value, where the reader has seen that all of them are exact whole numbers. */
  readonly lowest?: number;
  readonly highest?: number;
}

/** What lots are drawn from once the result is final; hex. */
export interface Lot {
  readonly seed: string;
  /** Root of the event's log before its close leaf: it could not be known when the seed was drawn. */
  readonly root: string;
}

export interface ReportOptions {
  /** Null until the result is final: a tie for a seat by lot stays undecided, and eliminations that need it are provisional. */
  readonly lot: Lot | null;
  /** Weight of the approved voters whom the position is open to, or null where there is no roll (polls). */
  readonly electorateMicro: bigint | null;
  /** Whether approvals are kept back that ballots show: no more than all have voted then. */
  readonly atLeastTurnout?: boolean;
  /** Whether every weight of the event is a whole number: then `votesWon` is the weighted figure, otherwise heads. */
  readonly wholeWeights: boolean;
  /** Whether every weight of the event is 1: margins are then exact, and a transferable vote has the Droop quota. */
  readonly unitWeights: boolean;
}

/** Some of the rounds of a ranked count, from a number on. */
export interface RoundPage {
  readonly rounds: readonly Round[];
  /** The round that the next page begins with; null at the end. */
  readonly nextRound: number | null;
}

/** Takes rankings that are written straight to the place where they stay: no copy and no object a ballot. */
export interface RankingSink {
  /** Where the next ranking is to be written, from `end` on: candidates of the position, first choice first, none twice. */
  readonly cells: Uint8Array | Uint16Array;
  readonly end: number;
  /** Says that so many rankings are to come, or fewer. */
  expect(rankings: number): void;
  /** Makes room for a ranking of so many places; `cells` may be others then. */
  makeRoom(length: number): void;
  /** Counts the ranking that was written there; its length is above 0. `times` as in `PositionCount.add`. */
  addWritten(length: number, weightMicro: bigint, times: number): void;
}

/** A running count of one position. Adding ballots in any order gives the same report. */
export interface PositionCount {
  /**
   * Counts one ballot. An empty ballot (length 0) is an abstention. A ballot that the method does not allow is refused
   * (`CountRefused`) and leaves the count as it was.
   * @param times 1 to add, -1 to take a voided ballot out again, or the number of identical ballots.
   */
  add(ballot: PositionBallot, weightMicro: bigint, times?: number): void;
  /** Only a ranked method has it: another way to add ballots, for a reader that knows their order. */
  readonly rankingSink?: RankingSink;
  report(options: ReportOptions): PositionResult;
  /** The rounds from a number on, as many as one answer may hold; empty where the method has none. */
  rounds(options: ReportOptions, fromRound: number): RoundPage;
}

/** What a result begins with. */
export const headOf = ({ id, title, votingMethod, seats }: TallyPosition) => ({ id, title, votingMethod, seats });
/** What is said of ranked counts alone. */
export const NOT_RANKED = { rounds: null, roundsOmitted: false, firstChoices: null, pairwise: null, finalTwo: null };
