import { countApproval } from './approval.ts';
import { countCumulative } from './cumulative.ts';
import { countPlurality } from './plurality.ts';
import { countQuadratic } from './quadratic.ts';
import { countRankedChoice } from './ranked-choice.ts';
import { countReferendum } from './referendum.ts';
import { countScore } from './score.ts';
import type { PositionCount, TallyPosition, VotingMethod } from './types.ts';

/** Starts an empty count of one position; add its ballots in any order, and ask for a report at any time. */
export function startCount(position: TallyPosition): PositionCount {
  const method = position.votingMethod;
  switch (method) {
    case 'plurality':
      return countPlurality(position);
    case 'approval':
      return countApproval(position);
    case 'referendum':
      return countReferendum(position);
    case 'score':
      return countScore(position);
    case 'cumulative':
      return countCumulative(position);
    case 'quadratic':
      return countQuadratic(position);
    case 'ranked_choice':
      return countRankedChoice(position);
    default:
      return forbidMethod(method);
  }
}

function forbidMethod(method: never): never {
  throw new TypeError(`No count for the voting method ${String(method satisfies VotingMethod)}.`);
}
