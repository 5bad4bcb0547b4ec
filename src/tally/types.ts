import type { Candidate, Majority, Position } from '#src/ballot-definition/types.ts';
import type { PositionResult, Round } from './position-result.ts';

/**
 * Input and output of a count. Shapes follow section 5 of the API reference ("Results").
 *
 * Weights are integers in millionths ("micro"): a voter of weight 1.5 has `1_500_000n`.
 * Everything that leaves a count is an integer or an exact decimal string.
 */

/** `sortOrder` is the place in the candidate order, lowest first. Candidates with the same `sortOrder` are ordered by `id`. */
export interface TallyCandidate extends Pick<Candidate, 'id' | 'name' | 'sortOrder' | 'referendumRole'> {
  /** A withdrawn candidate wins no seat. Ranked counts skip the candidate; the ballots in the log keep the votes. */
  readonly withdrawn: boolean;
}

/** `rules` is null except for referendums. */
export interface TallyPosition
  extends Pick<Position, 'id' | 'title' | 'votingMethod' | 'seats' | 'tieBreak' | 'rules'> {
  /** Most entries of a ballot. By default 1 for plurality and referendum, otherwise the number of candidates. */
  readonly maxSelections?: number;
  /** Score: the lowest and highest mark. Without these, the scale is unbounded and includes 0. */
  readonly scoreMin?: number | null;
  readonly scoreMax?: number | null;
  /** Plurality and approval: the share that a winner must exceed. The whole is the weight of the ballots that answered the position. */
  readonly majorityRequired?: Majority | null;
  /** A ballot's entries name a candidate by its index in this array. */
  readonly candidates: readonly TallyCandidate[];
}

/** The entries of a ballot for one position, in arrays that the reader may reuse. `values`: 1, the score, points or votes, or the rank. */
export interface PositionBallot {
  readonly length: number;
  readonly candidates: ArrayLike<number>;
  readonly values: ArrayLike<number>;
  /** Whether the reader has checked that the candidates ascend and belong to the position. Then no candidate is named twice. */
  readonly isAscending?: boolean;
  /** The lowest and highest value, if the reader has checked that all values are exact whole numbers. */
  readonly lowest?: number;
  readonly highest?: number;
}

/** Inputs for drawing lots, in hex. Both are known only once the result is final. */
export interface Lot {
  readonly seed: string;
  /** Root of the event's log before its close leaf. This root could not be known when the seed was drawn. */
  readonly root: string;
}

export interface ReportOptions {
  /** Null until the result is final. Without it, a tie that needs a lot leaves a seat undecided, or makes an elimination provisional. */
  readonly lot: Lot | null;
  /** Weight of the approved voters to whom the position is open; null in polls, which have no roll of voters. */
  readonly electorateMicro: bigint | null;
  /** Whether `electorateMicro` may lack approvals that are not disclosed yet. Then the electorate is at least the turnout. */
  readonly atLeastTurnout?: boolean;
  /** Whether every weight of the event is whole. Then `votesWon` is a sum of weights, otherwise a number of ballots. */
  readonly wholeWeights: boolean;
  /** Whether every weight of the event is 1. Then margins are exact, and a transferable vote has the Droop quota. */
  readonly unitWeights: boolean;
}

export interface RoundPage {
  readonly rounds: readonly Round[];
  /** The round that the next page begins with; null at the end. */
  readonly nextRound: number | null;
}

/** Lets a reader write rankings directly into the count's memory, without a copy or an object for each ballot. */
export interface RankingSink {
  /** Memory for the next ranking, from `end` on. A ranking is candidates of the position, first choice first, each at most once. */
  readonly cells: Uint8Array | Uint16Array;
  readonly end: number;
  /** Announces an upper bound of the number of rankings that will be added. */
  expect(rankings: number): void;
  /** Makes room for a ranking of `length` candidates. This may replace `cells`. */
  makeRoom(length: number): void;
  /** Counts the ranking that the caller wrote into `cells` from `end` on, of `length` ≥ 1 candidates. `times` as in `PositionCount.add`. */
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
  /** About how many bytes of memory the added ballots take. */
  readonly heldBytes: number;
  /** Ranked methods only: adds ballots from a reader that already has their candidates in rank order. */
  readonly rankingSink?: RankingSink;
  report(options: ReportOptions): PositionResult;
  /** The rounds from `fromRound` on, as many as one answer may contain; empty for methods without rounds. */
  rounds(options: ReportOptions, fromRound: number): RoundPage;
}

/** The first fields of a result. */
export const headOf = ({ id, title, votingMethod, seats }: TallyPosition) => ({ id, title, votingMethod, seats });
/** Empty values of the fields that only ranked counts have. */
export const NOT_RANKED = { rounds: null, roundsOmitted: false, firstChoices: null, pairwise: null, finalTwo: null };
