import { countHighestSums } from './highest-sums.ts';
import { isMark } from './mark-check.ts';
import type { PositionCount, SavedCount, TallyPosition } from './types.ts';

/** Plurality: a ballot marks one candidate; the most marks win. */
export function countPlurality(position: TallyPosition, saved?: SavedCount): PositionCount {
  return countHighestSums(
    position,
    { maxEntries: 1, isValue: isMark, zeroMayWin: false, votesMoveFreely: true },
    saved,
  );
}
