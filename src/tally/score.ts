import { countHighestSums } from './highest-sums.ts';
import { isWhole } from './mark-check.ts';
import type { PositionCount, SavedCount, TallyPosition } from './types.ts';

/**
 * Score: a ballot gives candidates whole numbers, which may be negative, and 0 to those it leaves out; the highest sums
 * win. Zero is a mark on the scale like any other, so a candidate may win with it.
 */
export function countScore(position: TallyPosition, saved?: SavedCount): PositionCount {
  return countHighestSums(
    position,
    { maxEntries: position.candidates.length, isValue: isWhole, zeroMayWin: true },
    saved,
  );
}
