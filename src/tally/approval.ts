import { countHighestSums } from './highest-sums.ts';
import { isMark } from './mark-check.ts';
import type { PositionCount, SavedCount, TallyPosition } from './types.ts';

/** Approval: a ballot marks any number of candidates, each once; the most marks win. */
export function countApproval(position: TallyPosition, saved?: SavedCount): PositionCount {
  return countHighestSums(
    position,
    { maxEntries: position.candidates.length, isValue: isMark, zeroMayWin: false, votesMoveFreely: true },
    saved,
  );
}
