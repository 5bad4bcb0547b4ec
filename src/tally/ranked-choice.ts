import { requireThat } from './count-refused.ts';
import { cutToWholeNumber } from './exact.ts';
import { runInstantRunoff } from './instant-runoff.ts';
import { MarkCheck } from './mark-check.ts';
import { Participation } from './participation.ts';
import { TALLY_DECIMALS, VALUE_DECIMALS } from './piles.ts';
import { RankReader } from './rank-reader.ts';
import { RankedCount } from './ranked-count.ts';
import { Rankings } from './rankings.ts';
import { runSingleTransferableVote } from './single-transferable-vote.ts';
import type { PositionCount, PositionResult, ReportOptions, SavedCount, TallyPosition } from './types.ts';

/** Where most ballots differ, reading them again is as quick as reading what was saved of them. */
const MAX_SAVED_RANKINGS = 20_000;

/** Ranked choice: instant runoff for one seat, the single transferable vote for several. */
export function countRankedChoice(position: TallyPosition, saved?: SavedCount): PositionCount {
  const check = new MarkCheck(position, position.candidates.length);
  const rankings = new Rankings(position.candidates.length);
  const participation = new Participation(saved);
  for (const { places, weightMicro, heads } of saved?.rankings ?? []) {
    rankings.add(places, places.length, weightMicro, heads);
  }
  const reader = new RankReader(position.candidates.length);
  return {
    add(ballot, weightMicro, times = 1) {
      check.require(ballot, weightMicro, times);
      reader.read(ballot);
      participation.add(ballot.length > 0, times);
      if (ballot.length > 0) {
        rankings.add(reader.places, ballot.length, weightMicro, times);
      }
    },
    report: (options) => report(position, rankings, participation, options),
    save() {
      if (rankings.size > MAX_SAVED_RANKINGS) return undefined;
      const { ballots, abstentions } = participation;
      return { ballots, abstentions, turnoutMicro: 0n, rows: [], wide: null, rankings: rankings.list() };
    },
  };
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
      ...count.log.finalFigures(candidate),
      winner: outcome.winners.includes(candidate),
      tied: outcome.tied.includes(candidate),
    })),
    winners: outcome.winners.flatMap((candidate) => position.candidates[candidate]?.id ?? []),
    tie: outcome.seatTie?.decision ?? null,
    rounds: count.log.rounds,
    referendum: null,
  };
}
