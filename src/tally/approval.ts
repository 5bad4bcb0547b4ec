import { countHighestSums } from './highest-sums.ts';
import { MARK } from './mark-check.ts';
import type { PositionCount, SavedCount, TallyPosition } from './types.ts';

/** Approval: a ballot marks any number of candidates, each once; the most marks win. */
export function countApproval(position: TallyPosition, saved?: SavedCount): PositionCount {
  return countHighestSums(
    position,
    { maxEntries: position.candidates.length, values: MARK, zeroMayWin: false, votesMoveFreely: true },
    saved,
  );
}
