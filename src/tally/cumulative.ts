import { countHighestSums } from './highest-sums.ts';
import { POSITIVE } from './mark-check.ts';
import type { PositionCount, SavedCount, TallyPosition } from './types.ts';

/** Cumulative: a ballot spreads whole points over candidates; the most points win. The budget is checked at casting. */
export function countCumulative(position: TallyPosition, saved?: SavedCount): PositionCount {
  return countHighestSums(
    position,
    {
      maxEntries: position.candidates.length,
      values: POSITIVE,
      zeroMayWin: false,
      votesMoveFreely: true,
    },
    saved,
  );
}
