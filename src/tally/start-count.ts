import { countHighestSums } from './highest-sums.ts';
import { countRankedChoice } from './ranked-choice.ts';
import { countReferendum } from './referendum.ts';
import { SUM_METHODS } from './sum-methods.ts';
import type { PositionCount, TallyPosition } from './types.ts';

/** Starts a count of one position; add its ballots in any order, and ask for a report at any time. */
export function startCount(position: TallyPosition): PositionCount {
  const method = position.votingMethod;
  if (method === 'referendum') return countReferendum(position);
  if (method === 'ranked_choice') return countRankedChoice(position);
  return countHighestSums(position, SUM_METHODS[method](position));
}
