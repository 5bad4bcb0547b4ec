import { requireThat } from './count-refused.ts';
import { cutToWholeNumber } from './exact.ts';
import { runInstantRunoff } from './instant-runoff.ts';
import { isPositiveWhole, MarkCheck } from './mark-check.ts';
import { Participation } from './participation.ts';
import { TALLY_DECIMALS, VALUE_DECIMALS } from './piles.ts';
import { RankedCount } from './ranked-count.ts';
import { Rankings } from './rankings.ts';
import { runSingleTransferableVote } from './single-transferable-vote.ts';
import type { PositionBallot, PositionCount, PositionResult, ReportOptions, TallyPosition } from './types.ts';

/** A rank and the index of its candidate fit one exact number: candidates take 16 bits, ranks 37. */
const CANDIDATE_SPAN = 2 ** 16;
const MAX_RANK = 2 ** 37 - 1;

/** Ranked choice: instant runoff for one seat, the single transferable vote for several. */
export function countRankedChoice(position: TallyPosition): PositionCount {
  const check = new MarkCheck(position, position.candidates.length, isRank);
  const rankings = new Rankings(position.candidates.length);
  const participation = new Participation();
  const places = new Float64Array(position.candidates.length);
  return {
    add(ballot, weightMicro, times = 1) {
      check.require(ballot, weightMicro, times);
      readRanking(ballot, places);
      participation.add(ballot.length > 0, times);
      if (ballot.length > 0) {
        rankings.add(places, ballot.length, weightMicro, times);
      }
    },
    report: (options) => report(position, rankings, participation, options),
  };
}

function isRank(value: number): boolean {
  return isPositiveWhole(value) && value <= MAX_RANK;
}

/** Writes the ballot's candidates into the first places, first choice first; gaps in the ranks close. */
function readRanking(ballot: PositionBallot, places: Float64Array): void {
  let ascending = true;
  let last = 0;
  for (let entry = 0; entry < ballot.length; entry += 1) {
    const rank = ballot.values[entry] ?? 0;
    ascending &&= rank > last;
    last = rank;
    places[entry] = rank * CANDIDATE_SPAN + (ballot.candidates[entry] ?? 0);
  }
  const used = places.subarray(0, ballot.length);
  if (!ascending) {
    used.sort();
  }
  let lastRank = 0;
  for (const [place, ranked] of used.entries()) {
    const rank = Math.floor(ranked / CANDIDATE_SPAN);
    requireThat(rank !== lastRank, 'a ballot gives a rank twice');
    lastRank = rank;
    used[place] = ranked % CANDIDATE_SPAN;
  }
}

function report(
  position: TallyPosition,
  rankings: Rankings,
  participation: Participation,
  options: ReportOptions,
): PositionResult {
  requireThat(!options.wholeWeights || rankings.areWeightsWhole(), 'weights said to be whole are fractions');
  const count = new RankedCount(position, rankings, options);
  const outcome = position.seats === 1 ? runInstantRunoff(count) : runSingleTransferableVote(count);
  const { rankedWeight, rankedHeads } = count.piles;
  return {
    id: position.id,
    title: position.title,
    votingMethod: position.votingMethod,
    seats: position.seats,
    totalVotes: options.wholeWeights
      ? cutToWholeNumber(rankedWeight, TALLY_DECIMALS)
      : cutToWholeNumber(rankedHeads, VALUE_DECIMALS),
    ballots: participation.ballots,
    abstentions: participation.abstentions,
    candidates: position.candidates.map(({ id, name }, candidate) => ({
      id,
      name,
      ...count.log.figures(candidate),
      winner: outcome.winners.includes(candidate),
      tied: outcome.tied.includes(candidate),
    })),
    winners: outcome.winners.flatMap((candidate) => position.candidates[candidate]?.id ?? []),
    tie: outcome.seatTie?.decision ?? null,
    rounds: count.log.rounds,
    referendum: null,
  };
}
