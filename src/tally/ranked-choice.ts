import { requireThat } from './count-refused.ts';
import { cutToWholeNumber } from './exact.ts';
import { runInstantRunoff } from './instant-runoff.ts';
import { MarkCheck } from './mark-check.ts';
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
  const check = new MarkCheck(position, position.candidates.length);
  const rankings = new Rankings(position.candidates.length);
  const participation = new Participation();
  const places = new Uint16Array(position.candidates.length);
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

/** Writes the ballot's candidates into the first places, first choice first; gaps in the ranks close. */
function readRanking(ballot: PositionBallot, places: Uint16Array): void {
  let last = 0;
  for (let entry = 0; entry < ballot.length; entry += 1) {
    const rank = rankAt(ballot, entry);
    if (rank <= last) {
      sortByRank(ballot, places);
      return;
    }
    last = rank;
    places[entry] = ballot.candidates[entry] as number;
  }
}

function rankAt(ballot: PositionBallot, entry: number): number {
  const rank = ballot.values[entry] ?? Number.NaN;
  requireThat(rank >= 1 && rank <= MAX_RANK && Math.trunc(rank) === rank, 'a rank is not a positive whole number');
  return rank;
}

function sortByRank(ballot: PositionBallot, places: Uint16Array): void {
  const ranked = new Float64Array(ballot.length);
  for (let entry = 0; entry < ballot.length; entry += 1) {
    ranked[entry] = rankAt(ballot, entry) * CANDIDATE_SPAN + (ballot.candidates[entry] as number);
  }
  ranked.sort();
  let lastRank = 0;
  for (let place = 0; place < ballot.length; place += 1) {
    const rank = Math.floor((ranked[place] as number) / CANDIDATE_SPAN);
    requireThat(rank !== lastRank, 'a ballot gives a rank twice');
    lastRank = rank;
    places[place] = (ranked[place] as number) % CANDIDATE_SPAN;
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
