import { type BallotRule, BallotSums } from './ballot-sums.ts';
import { type SeatTie, Ties } from './ties.ts';
import type { PositionCount, PositionResult, ReportOptions, SavedCount, TallyPosition } from './types.ts';

export interface HighestSumsRule extends BallotRule {
  /** Whether a sum of nothing, or below, can win a seat. */
  readonly zeroMayWin: boolean;
}

interface Seats {
  readonly winners: readonly number[];
  readonly tied: readonly number[];
  readonly tie: SeatTie | null;
}

const NO_SEATS: Seats = { winners: [], tied: [], tie: null };

/** Counts a method in which the candidates with the highest weighted sums of values win the seats. */
export function countHighestSums(position: TallyPosition, rule: HighestSumsRule, saved?: SavedCount): PositionCount {
  const sums = new BallotSums(position, rule, saved);
  return {
    add(ballot, weightMicro, times = 1) {
      sums.add(ballot, weightMicro, times);
    },
    report: (options) => report(position, rule, sums, options),
    save: () => sums.save(),
  };
}

function report(
  position: TallyPosition,
  rule: HighestSumsRule,
  sums: BallotSums,
  options: ReportOptions,
): PositionResult {
  const { ballots, abstentions } = sums.participation;
  const weightsMicro = sums.weightsMicro();
  const ties = new Ties(position, options.seed);
  const seats = ballots === 0 ? NO_SEATS : fillSeats(position, weightsMicro, ties, rule.zeroMayWin);
  return {
    id: position.id,
    title: position.title,
    votingMethod: position.votingMethod,
    seats: position.seats,
    ballots,
    abstentions,
    ...sums.rows(weightsMicro, options.wholeWeights, seats.winners, seats.tied),
    winners: seats.winners.flatMap((candidate) => position.candidates[candidate]?.id ?? []),
    tie: seats.tie?.decision ?? null,
    rounds: null,
    referendum: null,
  };
}

function fillSeats(position: TallyPosition, weightsMicro: readonly bigint[], ties: Ties, zeroMayWin: boolean): Seats {
  const figure = (candidate: number): bigint => weightsMicro[candidate] ?? 0n;
  const eligible = [...position.candidates.keys()].filter(
    (candidate) => position.candidates[candidate]?.withdrawn === false && (zeroMayWin || figure(candidate) > 0n),
  );
  const ranked = ties.byFigure(eligible, figure);
  const lastSeat = ranked[position.seats - 1];
  const firstLoser = ranked[position.seats];
  if (lastSeat === undefined || firstLoser === undefined || figure(lastSeat) > figure(firstLoser)) {
    return { winners: ranked.slice(0, position.seats), tied: [], tie: null };
  }
  const above = ranked.filter((candidate) => figure(candidate) > figure(lastSeat));
  const tied = ranked.filter((candidate) => figure(candidate) === figure(lastSeat));
  const tie = ties.forSeat(tied, position.seats - above.length);
  return { winners: [...above, ...tie.winners], tied, tie };
}
