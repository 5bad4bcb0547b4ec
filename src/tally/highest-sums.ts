import { type BallotRule, BallotSums } from './ballot-sums.ts';
import { leastChange, marginOf, NO_MARGIN } from './margin.ts';
import type { Margin, PositionResult } from './position-result.ts';
import { type SeatTie, Ties } from './ties.ts';
import { headOf, NOT_RANKED, type PositionCount, type ReportOptions, type TallyPosition } from './types.ts';

export interface HighestSumsRule extends BallotRule {
  /** Whether a candidate with a sum of zero or less can win a seat. */
  readonly zeroMayWin: boolean;
  /** Whether any vote can move from one candidate to any other; only then is the margin exact. */
  readonly votesMoveFreely: boolean;
}

interface Seats {
  readonly winners: readonly number[];
  readonly tied: readonly number[];
  readonly tie: SeatTie | null;
}

const NO_SEATS: Seats = { winners: [], tied: [], tie: null };

/** Counts a method in which the seats go to the candidates with the highest weighted sums of values. */
export function countHighestSums(position: TallyPosition, rule: HighestSumsRule): PositionCount {
  const sums = new BallotSums(position, rule);
  return {
    add(ballot, weightMicro, times = 1) {
      sums.add(ballot, weightMicro, times);
    },
    get heldBytes() {
      return sums.heldBytes;
    },
    report: (options) => report(position, rule, sums, options),
    rounds: () => ({ rounds: [], nextRound: null }),
  };
}

function report(
  position: TallyPosition,
  { zeroMayWin, votesMoveFreely }: HighestSumsRule,
  sums: BallotSums,
  { lot, unitWeights, wholeWeights }: ReportOptions,
): PositionResult {
  const ties = new Ties(position, lot);
  const weightsMicro = sums.weightsMicro();
  const { ballots, abstentions } = sums.participation;
  const majority = position.majorityRequired ?? null;
  const figure = (candidate: number): bigint => weightsMicro[candidate] ?? 0n;
  const ids = (candidates: readonly number[]): string[] =>
    candidates.flatMap((candidate) => position.candidates[candidate]?.id ?? []);
  const staying = [...position.candidates.keys()].filter(
    (candidate) => position.candidates[candidate]?.withdrawn === false,
  );

  function hasMajority(candidate: number): boolean {
    if (majority === null) return true;
    const reached = figure(candidate) * BigInt(majority.denominator);
    return reached > sums.answeredMicro * BigInt(majority.numerator);
  }

  /** @param ranked the candidates who may win, highest first */
  function fillSeats(ranked: readonly number[]): Seats {
    const [lastSeat, firstLoser] = [ranked[position.seats - 1], ranked[position.seats]];
    if (lastSeat === undefined || firstLoser === undefined || figure(lastSeat) > figure(firstLoser))
      return { winners: ranked.slice(0, position.seats), tied: [], tie: null };
    const above = ranked.filter((candidate) => figure(candidate) > figure(lastSeat));
    const tied = ranked.filter((candidate) => figure(candidate) === figure(lastSeat));
    const tie = ties.forSeat(tied, position.seats - above.length);
    return { winners: [...above, ...tie.winners], tied, tie };
  }

  /** The first `count` candidates of a sorted list, and all further candidates with the same figure as the last of these. */
  function best(sorted: readonly number[], count: number): readonly number[] {
    const last = sorted[count - 1];
    return last === undefined ? sorted : sorted.filter((candidate) => figure(candidate) >= figure(last));
  }

  function margin({ winners, tie }: Seats): Margin | null {
    if (tie !== null) return NO_MARGIN;
    const won = new Set(winners);
    const least = leastChange(
      {
        winning: winners.map(figure),
        losing: staying.filter((candidate) => !won.has(candidate)).map(figure),
        seats: position.seats,
        answered: sums.answeredMicro,
        majority,
        zeroMayWin,
      },
      unitWeights,
    );
    return least === undefined ? null : marginOf(least, unitWeights, votesMoveFreely);
  }

  const electable = staying.filter((candidate) => zeroMayWin || figure(candidate) > 0n);
  // The candidates who can win, highest sum first.
  const standing = ballots === 0 ? [] : ties.byFigure(electable, figure);
  const seats = ballots === 0 ? NO_SEATS : fillSeats(standing.filter(hasMajority));
  const decided = seats.tie?.undecided !== true;
  const others = standing.filter((candidate) => !seats.winners.includes(candidate));
  const open = decided ? Math.max(0, position.seats - seats.winners.length) : 0;
  return {
    ...headOf(position),
    vacantSeats: open,
    ballots,
    abstentions,
    ...sums.rows(weightsMicro, wholeWeights, seats.winners, seats.tied),
    winners: ids(seats.winners),
    runnerUp: decided ? (ids(others)[0] ?? null) : null,
    runoff: majority === null || open === 0 ? null : ids(best(others, open + 1)),
    margin: ballots === 0 ? null : margin(seats),
    tie: seats.tie?.decision ?? null,
    ...NOT_RANKED,
    referendum: null,
  };
}
