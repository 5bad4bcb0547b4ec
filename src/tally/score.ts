import { countHighestSums } from './highest-sums.ts';
import { WHOLE_NUMBER } from './mark-check.ts';
import type { PositionCount, SavedCount, TallyPosition } from './types.ts';

/**
 * Score: a ballot gives candidates whole numbers, which may be negative; the highest sums win. Who is left out counts 0
 * where the scale holds it, otherwise the lowest mark: on a scale from 1 to 5, a 0 would be below the worst and on one from
 * -5 to -1 above the best. Zero is a mark on the scale like any other, so a candidate may win with it.
 */
export function countScore(position: TallyPosition, saved?: SavedCount): PositionCount {
  return countHighestSums(
    position,
    {
      maxEntries: position.candidates.length,
      values: WHOLE_NUMBER,
      leftOut: leftOutScore(position),
      zeroMayWin: true,
      votesMoveFreely: false,
    },
    saved,
  );
}

function leftOutScore(position: TallyPosition): number {
  const [lowest, highest] = [position.scoreMin ?? 0, position.scoreMax ?? 0];
  return lowest > 0 || highest < 0 ? lowest : 0;
}
