import type { VotingMethod } from '#src/ballot-definition/types.ts';
import { countHighestSums, type HighestSumsRule } from './highest-sums.ts';
import { MARK, POSITIVE, WHOLE_NUMBER } from './mark-check.ts';
import { countRankedChoice } from './ranked-choice.ts';
import { countReferendum } from './referendum.ts';
import type { PositionCount, TallyPosition } from './types.ts';

type SumMethod = Exclude<VotingMethod, 'referendum' | 'ranked_choice'>;

const SUMS = { zeroMayWin: false, votesMoveFreely: true };

/** Methods in which the highest sums win: which entries a ballot may have, and how the sums decide. */
const SUM_METHODS: Readonly<Record<SumMethod, (position: TallyPosition) => HighestSumsRule>> = {
  plurality: () => ({ ...SUMS, maxEntries: 1, values: MARK }),
  approval: ({ candidates: { length } }) => ({ ...SUMS, maxEntries: length, values: MARK }),
  // A ballot spreads whole points over the candidates. Their total was checked when the ballot was cast.
  cumulative: ({ candidates: { length } }) => ({ ...SUMS, maxEntries: length, values: POSITIVE }),
  // A ballot buys n votes of a candidate for n² credits. The votes are added, not the credits.
  quadratic: ({ candidates: { length } }) => ({
    ...SUMS,
    maxEntries: length,
    values: POSITIVE,
    votesMoveFreely: false,
  }),
  // A mark may be negative. Zero is a mark like any other, so a sum of zero may win.
  score: (position) => ({
    ...{ maxEntries: position.candidates.length, values: WHOLE_NUMBER, leftOut: leftOutScore(position) },
    ...{ zeroMayWin: true, votesMoveFreely: false },
  }),
};

/** The mark of a candidate whom a ballot does not name: 0, or the lowest mark if the scale has no 0, which would not be neutral there. */
function leftOutScore(position: TallyPosition): number {
  const [lowest, highest] = [position.scoreMin ?? 0, position.scoreMax ?? 0];
  return lowest > 0 || highest < 0 ? lowest : 0;
}

/** Starts a count of one position. Ballots can be added in any order, and a report can be made at any time. */
export function startCount(position: TallyPosition): PositionCount {
  const method = position.votingMethod;
  if (method === 'referendum') return countReferendum(position);
  if (method === 'ranked_choice') return countRankedChoice(position);
  return countHighestSums(position, SUM_METHODS[method](position));
}
