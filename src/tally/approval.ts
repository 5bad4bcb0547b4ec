import { countHighestSums } from './highest-sums.ts';
import { isMark } from './mark-check.ts';
import type { PositionCount, TallyPosition } from './types.ts';

/** Approval: a ballot marks any number of candidates, each once; the most marks win. */
export function countApproval(position: TallyPosition): PositionCount {
  return countHighestSums(position, { maxEntries: position.candidates.length, isValue: isMark, zeroMayWin: false });
}
