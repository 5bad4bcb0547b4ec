import { countHighestSums } from './highest-sums.ts';
import { countRankedChoice } from './ranked-choice.ts';
import { countReferendum } from './referendum.ts';
import { SUM_METHODS } from './sum-methods.ts';
import type { PositionCount, SavedCount, TallyPosition } from './types.ts';

/**
 * Starts a count of one position, empty or from where it was saved; add its ballots in any order, and ask for a report at
 * any time.
 */
export function startCount(position: TallyPosition, saved?: SavedCount): PositionCount {
  const method = position.votingMethod;
  if (method === 'referendum') return countReferendum(position, saved);
  if (method === 'ranked_choice') return countRankedChoice(position, saved);
  return countHighestSums(position, SUM_METHODS[method](position), saved);
}
