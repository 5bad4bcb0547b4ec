import { Piles } from './piles.ts';
import type { TieDecision } from './position-result.ts';
import type { Rankings } from './rankings.ts';
import { RoundLog } from './round-log.ts';
import { type SeatTie, Ties } from './ties.ts';
import type { ReportOptions, TallyPosition } from './types.ts';

/** The end of a ranked count. Candidates are indexes into the position's candidates. */
export interface RankedOutcome {
  /** The loser who came nearest to a seat. Null if there is no loser, or no winner yet. */
  readonly runnerUp: number | null;
  /** Instant runoff: the last two candidates; the winner, or else the higher tally, comes first. Null if fewer than two remain. */
  readonly finalTwo: readonly FinalTally[] | null;
  /** In order of election. */
  readonly winners: readonly number[];
  /** Candidates who tied for the last seat; `seatTie` decides between them. */
  readonly tied: readonly number[];
  readonly seatTie: SeatTie | null;
}

export interface FinalTally {
  readonly candidate: number;
  readonly weight: bigint;
  readonly heads: bigint;
}

/** The state of a ranked count by either method: which candidate has which ballots, who continues, and the log of rounds. */
export class RankedCount {
  readonly position: TallyPosition;
  readonly wholeWeights: boolean;
  readonly piles: Piles;
  readonly log: RoundLog;
  readonly ties: Ties;
  readonly unitWeights: boolean;
  /** By candidate: the tallies before any transfer, that is, the first preferences. */
  readonly firstWeight: readonly bigint[];
  readonly firstHeads: readonly bigint[];
  /** Candidates who may still receive ballots, in the position's order. */
  #continuing: number[] | undefined;

  /** @param fromRound the first round to record */
  constructor(position: TallyPosition, rankings: Rankings, options: ReportOptions, fromRound = 1) {
    this.position = position;
    this.unitWeights = options.unitWeights;
    this.wholeWeights = options.wholeWeights;
    this.piles = new Piles(
      rankings,
      position.candidates.map((candidate) => candidate.withdrawn),
    );
    this.firstWeight = [...this.piles.weight];
    this.firstHeads = [...this.piles.heads];
    this.log = new RoundLog(position, this.piles, options.wholeWeights, fromRound);
    this.ties = new Ties(position, options.lot);
  }

  /** The candidates who continue, in the position's order. */
  continuing(): readonly number[] {
    this.#continuing ??= [...this.position.candidates.keys()].filter((candidate) => this.piles.continues(candidate));
    return this.#continuing;
  }

  /** Stops transfers to a candidate who was elected or eliminated. */
  stop(candidate: number): void {
    this.piles.close(candidate);
    this.#continuing = this.continuing().filter((other) => other !== candidate);
  }

  tally(candidate: number): bigint {
    return this.piles.weight[candidate] ?? 0n;
  }

  /** Sum of all tallies: before the first transfer, the weight of the valid ballots. */
  activeWeight(): bigint {
    return this.piles.weight.reduce((sum, weight) => sum + weight, 0n);
  }

  /** The candidates who share the lowest tally. */
  lowest(candidates: readonly number[]): number[] {
    const [first, ...others] = candidates;
    if (first === undefined) return [];
    let least = this.tally(first);
    let lowest = [first];
    for (const candidate of others) {
      const tally = this.tally(candidate);
      if (tally < least) {
        least = tally;
        lowest = [candidate];
      } else if (tally === least) lowest.push(candidate);
    }
    return lowest;
  }

  /** Eliminates a candidate, passes its ballots on at their present value, and closes the round. */
  eliminate(candidate: number, elected: readonly number[], tie: (() => TieDecision) | null, provisional = false): void {
    this.stop(candidate);
    const passed = this.piles.pass(candidate);
    this.piles.weight[candidate] = 0n;
    this.piles.heads[candidate] = 0n;
    this.log.close({ elected, eliminated: [candidate], transfer: { from: candidate, passed }, tie, provisional });
  }

  /** Eliminates the candidate with the lowest tally; `forElimination` decides a tie. @param least continuing candidates that must remain */
  eliminateLowest(candidates: readonly number[], elected: readonly number[], least: number): void {
    const lowest = this.lowest(candidates);
    const [only] = lowest;
    if (only !== undefined && lowest.length === 1) {
      this.eliminate(only, elected, null);
      return;
    }
    const areVoteless = lowest.every((candidate) => this.tally(candidate) === 0n && this.piles.heads[candidate] === 0n);
    const { picked, decision, provisional } = this.ties.forElimination(lowest, this.log.earlier);
    this.eliminate(picked, elected, decision, provisional);
    if (areVoteless) this.#skipVoteless(lowest, least);
  }

  /** Eliminates the other candidates without a ballot together, which moves no ballot; at most as many as there are unrecorded rounds. */
  #skipVoteless(voteless: readonly number[], least: number): void {
    const rounds = Math.min(this.log.unread, this.continuing().length - least);
    const left = voteless.filter((candidate) => this.piles.continues(candidate));
    const out = rounds > 0 ? this.ties.outFirst(left).slice(0, rounds) : [];
    for (const candidate of out) this.piles.close(candidate);
    this.#continuing = this.continuing().filter((candidate) => this.piles.continues(candidate));
    this.log.skip(out.length);
  }
}
