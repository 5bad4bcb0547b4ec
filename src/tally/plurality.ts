import { countHighestSums } from './highest-sums.ts';
import { MARK } from './mark-check.ts';
import type { PositionCount, SavedCount, TallyPosition } from './types.ts';

/** Plurality: a ballot marks one candidate; the most marks win. */
export function countPlurality(position: TallyPosition, saved?: SavedCount): PositionCount {
  return countHighestSums(position, { maxEntries: 1, values: MARK, zeroMayWin: false, votesMoveFreely: true }, saved);
}
