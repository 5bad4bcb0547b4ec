import { countHighestSums } from './highest-sums.ts';
import { POSITIVE } from './mark-check.ts';
import type { PositionCount, SavedCount, TallyPosition } from './types.ts';

/** Quadratic: a ballot buys whole votes, n of them for n² credits; the votes are added, not the credits, and the most win. */
export function countQuadratic(position: TallyPosition, saved?: SavedCount): PositionCount {
  return countHighestSums(
    position,
    {
      maxEntries: position.candidates.length,
      values: POSITIVE,
      zeroMayWin: false,
      votesMoveFreely: false,
    },
    saved,
  );
}
