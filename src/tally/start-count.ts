import { countApproval } from './approval.ts';
import { countCumulative } from './cumulative.ts';
import { countPlurality } from './plurality.ts';
import { countQuadratic } from './quadratic.ts';
import { countRankedChoice } from './ranked-choice.ts';
import { countReferendum } from './referendum.ts';
import { countScore } from './score.ts';
import type { PositionCount, SavedCount, TallyPosition, VotingMethod } from './types.ts';

/**
 * Starts a count of one position, empty or from where it was saved; add its ballots in any order, and ask for a report at
 * any time.
 */
export function startCount(position: TallyPosition, saved?: SavedCount): PositionCount {
  const method = position.votingMethod;
  switch (method) {
    case 'plurality':
      return countPlurality(position, saved);
    case 'approval':
      return countApproval(position, saved);
    case 'referendum':
      return countReferendum(position, saved);
    case 'score':
      return countScore(position, saved);
    case 'cumulative':
      return countCumulative(position, saved);
    case 'quadratic':
      return countQuadratic(position, saved);
    case 'ranked_choice':
      return countRankedChoice(position, saved);
    default:
      return forbidMethod(method);
  }
}

function forbidMethod(method: never): never {
  throw new TypeError(`No count for the voting method ${String(method satisfies VotingMethod)}.`);
}
