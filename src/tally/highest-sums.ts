import { type BallotRule, BallotSums } from './ballot-sums.ts';
import { leastChange, marginOf, NO_MARGIN } from './margin.ts';
import type { Margin, PositionResult } from './position-result.ts';
import { type SeatTie, Ties } from './ties.ts';
import { headOf, NOT_RANKED, type PositionCount, type ReportOptions, type TallyPosition } from './types.ts';

export interface HighestSumsRule extends BallotRule {
  /** Whether a sum of zero or less can win a seat. */
  readonly zeroMayWin: boolean;
  /** Whether one vote can always move from one candidate to another; only then the margin is exact. */
  readonly votesMoveFreely: boolean;
}

interface Seats {
  readonly winners: readonly number[];
  readonly tied: readonly number[];
  readonly tie: SeatTie | null;
}

const NO_SEATS: Seats = { winners: [], tied: [], tie: null };

/** Counts a method in which the candidates with the highest weighted sums of values win the seats. */
export function countHighestSums(position: TallyPosition, rule: HighestSumsRule): PositionCount {
  const sums = new BallotSums(position, rule);
  return {
    add(ballot, weightMicro, times = 1) {
      sums.add(ballot, weightMicro, times);
    },
    report: (options) => new SeatsBySum(position, rule, sums, options).report(),
    rounds: () => ({ rounds: [], nextRound: null }),
  };
}

class SeatsBySum {
  readonly #position: TallyPosition;
  readonly #rule: HighestSumsRule;
  readonly #sums: BallotSums;
  readonly #options: ReportOptions;
  readonly #ties: Ties;
  readonly #weightsMicro: readonly bigint[];

  constructor(position: TallyPosition, rule: HighestSumsRule, sums: BallotSums, options: ReportOptions) {
    this.#position = position;
    this.#rule = rule;
    this.#sums = sums;
    this.#options = options;
    this.#ties = new Ties(position, options.lot);
    this.#weightsMicro = sums.weightsMicro();
  }

  report(): PositionResult {
    const position = this.#position;
    const { ballots, abstentions } = this.#sums.participation;
    // Candidates who can win, highest sum first.
    const standing =
      ballots === 0 ? [] : this.#ties.byFigure(this.#electable(), (candidate) => this.#figure(candidate));
    const seats = ballots === 0 ? NO_SEATS : this.#fillSeats(standing.filter((one) => this.#hasMajority(one)));
    const decided = seats.tie?.undecided !== true;
    const others = standing.filter((candidate) => !seats.winners.includes(candidate));
    const open = decided ? Math.max(0, position.seats - seats.winners.length) : 0;
    return {
      ...headOf(position),
      vacantSeats: open,
      ballots,
      abstentions,
      ...this.#sums.rows(this.#weightsMicro, this.#options.wholeWeights, seats.winners, seats.tied),
      winners: this.#ids(seats.winners),
      runnerUp: decided ? (this.#ids(others)[0] ?? null) : null,
      runoff: this.#majority === null || open === 0 ? null : this.#ids(this.#best(others, open + 1)),
      margin: ballots === 0 ? null : this.#margin(seats),
      tie: seats.tie?.decision ?? null,
      ...NOT_RANKED,
      referendum: null,
    };
  }

  get #majority(): (TallyPosition['majorityRequired'] & object) | null {
    return this.#position.majorityRequired ?? null;
  }

  #figure(candidate: number): bigint {
    return this.#weightsMicro[candidate] ?? 0n;
  }

  #ids(candidates: readonly number[]): string[] {
    return candidates.flatMap((candidate) => this.#position.candidates[candidate]?.id ?? []);
  }

  #electable(): number[] {
    return this.#standing().filter((candidate) => this.#rule.zeroMayWin || this.#figure(candidate) > 0n);
  }

  #standing(): number[] {
    return [...this.#position.candidates.keys()].filter(
      (candidate) => this.#position.candidates[candidate]?.withdrawn === false,
    );
  }

  #hasMajority(candidate: number): boolean {
    const majority = this.#majority;
    if (majority === null) return true;
    const reached = this.#figure(candidate) * BigInt(majority.denominator);
    return reached > this.#sums.answeredMicro * BigInt(majority.numerator);
  }

  /** @param ranked candidates who may win, highest first */
  #fillSeats(ranked: readonly number[]): Seats {
    const { seats } = this.#position;
    const [lastSeat, firstLoser] = [ranked[seats - 1], ranked[seats]];
    if (lastSeat === undefined || firstLoser === undefined || this.#figure(lastSeat) > this.#figure(firstLoser))
      return { winners: ranked.slice(0, seats), tied: [], tie: null };
    const above = ranked.filter((candidate) => this.#figure(candidate) > this.#figure(lastSeat));
    const tied = ranked.filter((candidate) => this.#figure(candidate) === this.#figure(lastSeat));
    const tie = this.#ties.forSeat(tied, seats - above.length);
    return { winners: [...above, ...tie.winners], tied, tie };
  }

  /** The first `count` candidates of a sorted list, and all further candidates with the same figure as the last of these. */
  #best(sorted: readonly number[], count: number): number[] {
    const last = sorted[count - 1];
    return last === undefined
      ? [...sorted]
      : sorted.filter((candidate) => this.#figure(candidate) >= this.#figure(last));
  }

  #margin({ winners, tie }: Seats): Margin | null {
    const { unitWeights } = this.#options;
    const { votesMoveFreely } = this.#rule;
    if (tie !== null) return NO_MARGIN;
    const won = new Set(winners);
    const least = leastChange(
      {
        winning: winners.map((candidate) => this.#figure(candidate)),
        losing: this.#standing().flatMap((candidate) => (won.has(candidate) ? [] : this.#figure(candidate))),
        seats: this.#position.seats,
        answered: this.#sums.answeredMicro,
        majority: this.#majority,
        zeroMayWin: this.#rule.zeroMayWin,
      },
      unitWeights,
    );
    return least === undefined ? null : marginOf(least, unitWeights, votesMoveFreely);
  }
}
