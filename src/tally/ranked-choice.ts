import { scaledToDecimal, WEIGHT_DECIMALS } from '#src/platform/decimal.ts';
import { Participation } from './ballot-sums.ts';
import { cutToWholeNumber, refuseCount, requireThat } from './exact.ts';
import { runInstantRunoff } from './instant-runoff.ts';
import { ceilTo, NO_MARGIN, stepOf } from './margin.ts';
import { MarkCheck } from './mark-check.ts';
import { comparePairs } from './pairwise.ts';
import { TALLY_DECIMALS, VALUE_DECIMALS } from './piles.ts';
import type { Margin, PositionResult, RoundTally } from './position-result.ts';
import { RankedCount, type RankedOutcome } from './ranked-count.ts';
import { Rankings } from './rankings.ts';
import { runSingleTransferableVote } from './single-transferable-vote.ts';
import { headOf, type PositionBallot, type PositionCount, type ReportOptions, type TallyPosition } from './types.ts';

/** Upper bound of a rank. A valid rank is at most the number of candidates, which is below this. */
const MAX_RANK = 2 ** 16;

/** Most ranks that a bit mask checks: one bit for each rank, in a positive 32-bit integer. */
const MAX_BIT = 29;

/** Sorts a ballot's candidates by rank, first choice first, without gaps. */
class RankReader {
  /** Output of `read`: the ballot's candidates, first choice first, from index 0. Later elements are left from longer ballots. */
  readonly places: Uint16Array;
  /** By rank: candidate + 1; 0 if no candidate has the rank. Between two ballots, all are 0. */
  #candidateAt: Uint16Array;

  constructor(candidates: number) {
    this.places = new Uint16Array(candidates);
    this.#candidateAt = new Uint16Array(candidates + 1);
  }

  read(ballot: PositionBallot): void {
    if (!this.#readWithoutGaps(ballot)) this.#readWithGaps(ballot);
  }

  /** Reads the ranks 1 to n, each once, as most ballots have them. @returns false for other ballots, and for more than `MAX_BIT` ranks */
  #readWithoutGaps({ candidates, values, length }: PositionBallot): boolean {
    if (length > MAX_BIT) return false;
    const { places } = this;
    let seen = 0;
    for (let entry = 0; entry < length; entry += 1) {
      const rank = values[entry] as number;
      // `rank | 0` equals the rank only if it is a 32-bit integer.
      if (!(rank >= 1 && rank <= length && (rank | 0) === rank)) return false;
      seen |= 1 << rank;
      places[rank - 1] = candidates[entry] as number;
    }
    return seen === (1 << (length + 1)) - 2;
  }

  #readWithGaps(ballot: PositionBallot): void {
    const { places } = this;
    const { candidates, length } = ballot;
    let candidateAt = this.#candidateAt;
    let lowest = 0;
    try {
      for (let entry = 0; entry < length; entry += 1) {
        const rank = rankAt(ballot, entry);
        if (rank >= candidateAt.length) candidateAt = this.#makeRoom(rank);
        if (candidateAt[rank] !== 0) refuseCount('a ballot gives a rank twice');
        candidateAt[rank] = (candidates[entry] as number) + 1;
        if (rank > lowest) lowest = rank;
      }
    } catch (fault) {
      candidateAt.fill(0);
      throw fault;
    }
    let place = 0;
    for (let rank = 1; rank <= lowest; rank += 1) {
      const candidate = candidateAt[rank] as number;
      if (candidate !== 0) {
        places[place] = candidate - 1;
        place += 1;
        // Clear only the used ranks, because clearing the whole array would take longer.
        candidateAt[rank] = 0;
      }
    }
  }

  /** Makes room for ranks above the number of candidates. When the ballot was cast, the position may have had more candidates. */
  #makeRoom(rank: number): Uint16Array {
    const larger = new Uint16Array(rank + 1);
    larger.set(this.#candidateAt);
    this.#candidateAt = larger;
    return larger;
  }
}

function rankAt(ballot: PositionBallot, entry: number): number {
  const rank = ballot.values[entry] as number;
  if (!(rank >= 1 && rank <= MAX_RANK && (rank | 0) === rank)) refuseCount('a rank is not a positive whole number');
  return rank;
}

/** Ranked choice: instant runoff for one seat, the single transferable vote for several. */
export function countRankedChoice(position: TallyPosition): PositionCount {
  const check = new MarkCheck(position, position.candidates.length);
  const rankings = new Rankings(position.candidates.length);
  const participation = new Participation();
  const reader = new RankReader(position.candidates.length);
  return {
    add(ballot, weightMicro, times = 1) {
      check.require(ballot, weightMicro, times);
      reader.read(ballot);
      participation.add(ballot.length > 0, times);
      if (ballot.length > 0) rankings.add(reader.places, ballot.length, weightMicro, times);
    },
    get heldBytes() {
      return rankings.heldBytes;
    },
    rankingSink: {
      get cells() {
        return rankings.cells;
      },
      get end() {
        return rankings.end;
      },
      expect: (coming) => rankings.expect(coming),
      makeRoom: (length) => rankings.makeRoom(length),
      addWritten(length, weightMicro, times) {
        check.requireSize(length, weightMicro, times);
        participation.add(true, times);
        rankings.addWritten(length, weightMicro, times);
      },
    },
    report: (options) => report(position, rankings, participation, options),
    rounds(options, fromRound) {
      const { log } = runCount(position, rankings, options, fromRound).count;
      return { rounds: log.rounds, nextRound: log.nextRound };
    },
  };
}

function runCount(position: TallyPosition, rankings: Rankings, options: ReportOptions, fromRound: number) {
  requireThat(!options.wholeWeights || rankings.areWeightsWhole(), 'weights said to be whole are fractions');
  const count = new RankedCount(position, rankings, options, fromRound);
  const outcome = position.seats === 1 ? runInstantRunoff(count) : runSingleTransferableVote(count);
  return { count, outcome };
}

function report(
  position: TallyPosition,
  rankings: Rankings,
  participation: Participation,
  options: ReportOptions,
): PositionResult {
  const { count, outcome } = runCount(position, rankings, options, 1);
  const { log } = count;
  const { rankedWeight, rankedHeads } = count.piles;
  const [won, tied] = [new Set(outcome.winners), new Set(outcome.tied)];
  const undecided = outcome.seatTie?.undecided === true;
  const idOf = (candidate: number): string => position.candidates[candidate]?.id ?? '';
  const tallyOf = (candidate: number, weight: bigint, heads: bigint): RoundTally => ({
    candidateId: idOf(candidate),
    ...log.figures(weight, heads),
  });
  return {
    ...headOf(position),
    vacantSeats: undecided ? 0 : Math.max(0, position.seats - outcome.winners.length),
    totalVotes: options.wholeWeights
      ? cutToWholeNumber(rankedWeight, TALLY_DECIMALS)
      : cutToWholeNumber(rankedHeads, VALUE_DECIMALS),
    ballots: participation.ballots,
    abstentions: participation.abstentions,
    candidates: position.candidates.map(({ id, name }, candidate) => ({
      id,
      name,
      ...log.finalFigures(candidate),
      winner: won.has(candidate),
      tied: tied.has(candidate),
    })),
    winners: outcome.winners.map(idOf),
    runnerUp: outcome.runnerUp === null ? null : idOf(outcome.runnerUp),
    runoff: null,
    margin: marginOfFinalTwo(outcome, options.unitWeights),
    tie: outcome.seatTie?.decision ?? null,
    // Give all rounds or none, because a reader could take a part for the whole.
    rounds: log.nextRound === null ? log.rounds : null,
    roundsOmitted: log.nextRound !== null,
    firstChoices: count.firstWeight.flatMap((weight, candidate) =>
      weight === 0n ? [] : tallyOf(candidate, weight, count.firstHeads[candidate] ?? 0n),
    ),
    pairwise: comparePairs(position, rankings),
    finalTwo: outcome.finalTwo?.map(({ candidate, weight, heads }) => tallyOf(candidate, weight, heads)) ?? null,
    referendum: null,
  };
}

/** Upper bound: half of the difference of the last two; 0 for a tie. Null unless all weights are 1: others may not add up to this half. */
function marginOfFinalTwo({ finalTwo, seatTie }: RankedOutcome, unitWeights: boolean): Margin | null {
  if (seatTie !== null) return NO_MARGIN;
  const [first, second] = finalTwo ?? [];
  if (first === undefined || second === undefined || !unitWeights) return null;
  const micro = ceilTo(stepOf(true), first.weight - second.weight, 2n * 10n ** BigInt(VALUE_DECIMALS));
  return { votes: scaledToDecimal(micro, WEIGHT_DECIMALS), exact: false, bound: 'upper' };
}
