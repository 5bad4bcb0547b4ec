import { Piles } from './piles.ts';
import type { Rankings } from './rankings.ts';
import { RoundLog } from './round-log.ts';
import { type SeatTie, Ties } from './ties.ts';
import type { ReportOptions, TallyPosition } from './types.ts';

/** How a ranked count ended; candidates are indexes into the position's. */
export interface RankedOutcome {
  /** In order of election. */
  readonly winners: readonly number[];
  /** Those who shared the last seat's tally, and what was decided on them. */
  readonly tied: readonly number[];
  readonly seatTie: SeatTie | null;
}

/** What both ranked methods work on: the piles, the candidates who continue, the log of rounds. */
export class RankedCount {
  readonly position: TallyPosition;
  readonly wholeWeights: boolean;
  readonly piles: Piles;
  readonly log: RoundLog;
  readonly ties: Ties;

  constructor(position: TallyPosition, rankings: Rankings, options: ReportOptions) {
    this.position = position;
    this.wholeWeights = options.wholeWeights;
    this.piles = new Piles(
      rankings,
      position.candidates.map((candidate) => candidate.withdrawn),
    );
    this.log = new RoundLog(position, this.piles, options.wholeWeights);
    this.ties = new Ties(position, options.seed);
  }

  /** The candidates who continue, in the position's order. */
  continuing(): number[] {
    return [...this.position.candidates.keys()].filter((candidate) => this.piles.continues(candidate));
  }

  tally(candidate: number): bigint {
    return this.piles.weight[candidate] ?? 0n;
  }

  /** Sum of all tallies: before the first transfer, the weight of the valid ballots. */
  activeWeight(): bigint {
    return this.piles.weight.reduce((sum, weight) => sum + weight, 0n);
  }

  /** Those of the candidates who share the lowest tally. */
  lowest(candidates: readonly number[]): number[] {
    const least = candidates.reduce(
      (low, candidate) => {
        const tally = this.tally(candidate);
        return low === undefined || tally < low ? tally : low;
      },
      undefined as bigint | undefined,
    );
    return candidates.filter((candidate) => this.tally(candidate) === least);
  }

  /** Takes a candidate out, passes its ballots on at the value they have, and closes the round. */
  eliminate(candidate: number, elected: readonly number[], tie: SeatTie['decision'] | null): void {
    this.piles.close(candidate);
    const passed = this.piles.pass(candidate);
    this.piles.weight[candidate] = 0n;
    this.piles.heads[candidate] = 0n;
    this.log.close({ elected, eliminated: [candidate], transfer: { from: candidate, passed }, tie });
  }

  /** Eliminates the lowest of the candidates, with ties decided by earlier rounds, the lot or the candidate order. */
  eliminateLowest(candidates: readonly number[], elected: readonly number[]): void {
    const lowest = this.lowest(candidates);
    const [only] = lowest;
    if (only !== undefined && lowest.length === 1) {
      this.eliminate(only, elected, null);
      return;
    }
    const { picked, decision } = this.ties.forElimination(lowest, this.log.earlier);
    this.eliminate(picked, elected, decision);
  }
}
