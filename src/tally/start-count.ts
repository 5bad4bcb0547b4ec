import type { VotingMethod } from '#src/ballot-definition/types.ts';
import { countHighestSums, type HighestSumsRule } from './highest-sums.ts';
import { MARK, POSITIVE, WHOLE_NUMBER } from './mark-check.ts';
import { countRankedChoice } from './ranked-choice.ts';
import { countReferendum } from './referendum.ts';
import type { PositionCount, TallyPosition } from './types.ts';

type SumMethod = Exclude<VotingMethod, 'referendum' | 'ranked_choice'>;

const SUMS = { zeroMayWin: false, votesMoveFreely: true };

/** Methods in which the highest sums win: what a ballot of each may hold, and how its sums decide. */
const SUM_METHODS: Readonly<Record<SumMethod, (position: TallyPosition) => HighestSumsRule>> = {
  plurality: () => ({ ...SUMS, maxEntries: 1, values: MARK }),
  approval: ({ candidates: { length } }) => ({ ...SUMS, maxEntries: length, values: MARK }),
  // A ballot spreads whole points. A cast checks that they are within the budget.
  cumulative: ({ candidates: { length } }) => ({ ...SUMS, maxEntries: length, values: POSITIVE }),
  // A ballot buys n votes of a candidate for n² credits. The votes are added, not the credits.
  quadratic: ({ candidates: { length } }) => ({
    ...SUMS,
    maxEntries: length,
    values: POSITIVE,
    votesMoveFreely: false,
  }),
  // A mark may be negative. Zero is a mark like any other, so a candidate may win with it.
  score: (position) => ({
    ...{ maxEntries: position.candidates.length, values: WHOLE_NUMBER, leftOut: leftOutScore(position) },
    ...{ zeroMayWin: true, votesMoveFreely: false },
  }),
};

/**
 * A candidate whom a ballot does not name gets 0 if the scale includes it, otherwise the lowest mark: on a scale from 1 to 5 a 0
 * would be below the worst mark, on one from -5 to -1 above the best.
 */
function leftOutScore(position: TallyPosition): number {
  const [lowest, highest] = [position.scoreMin ?? 0, position.scoreMax ?? 0];
  return lowest > 0 || highest < 0 ? lowest : 0;
}

/** Starts a count of one position; add its ballots in any order, and ask for a report at any time. */
export function startCount(position: TallyPosition): PositionCount {
  const method = position.votingMethod;
  if (method === 'referendum') return countReferendum(position);
  if (method === 'ranked_choice') return countRankedChoice(position);
  return countHighestSums(position, SUM_METHODS[method](position));
}
