import type { BallotPosition } from './ballot-definition.ts';
import { isFields, numberOf } from './json.ts';
import type { OpenedVote } from './recount.ts';

const isWhole = (value: number | undefined): value is number => value !== undefined && Number.isSafeInteger(value);
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/**
 * Checks a ballot's votes in one position by the rules of the configuration: number of choices, marks, ranks and budgets. A position
 * that the ballot does not answer breaks no rule.
 * @returns the broken rule, in words
 */
export function brokenRule(position: BallotPosition, votes: readonly OpenedVote[]): string | undefined {
  if (votes.length === 0) return undefined;
  return brokenCount(position, votes.length) ?? brokenMarks(position, votes);
}

function brokenCount({ settings, candidates, least }: BallotPosition, chosen: number): string | undefined {
  // Without a limit of its own, a position allows as many choices as it ever had candidates.
  const most = settings['maxSelections'] === null ? candidates.length : numberOf(settings['maxSelections']);
  if (chosen > most) return `${chosen} choices where at most ${most} are allowed`;
  return chosen < least ? `${chosen} choices where at least ${least} are asked for` : undefined;
}

function brokenMarks(
  { method, settings, candidates }: BallotPosition,
  votes: readonly OpenedVote[],
): string | undefined {
  const ranked = method === 'ranked_choice';
  const valued = method === 'score' || method === 'cumulative' || method === 'quadratic';
  if (votes.some(({ value, rank }) => isWhole(value) !== valued || isWhole(rank) !== ranked))
    return 'a choice without the mark that the method asks for, or with another one';
  const values = votes.map(({ value = 0 }) => value);
  const ranks = votes.map(({ rank = 0 }) => rank);
  if (ranked && new Set(ranks).size < ranks.length) return 'two choices with the same rank';
  if (ranked && ranks.some((rank) => rank < 1 || rank > candidates.length)) return 'a rank that does not exist';
  const [lowest, highest] = [numberOf(settings['scoreMin']), numberOf(settings['scoreMax'])];
  if (method === 'score' && values.some((value) => value < lowest || value > highest))
    return `a mark outside of ${lowest} to ${highest}`;
  if (valued && method !== 'score' && values.some((value) => value < 1)) return 'a choice of less than one';
  const points = numberOf(settings['cumulativePointBudget']);
  if (method === 'cumulative' && sum(values) > points) return `${sum(values)} points of ${points}`;
  const [spent, credits] = [sum(values.map((value) => value ** 2)), numberOf(settings['quadraticBaseCreditBudget'])];
  // If credits can be bought, the budget is only the smallest that a voter had.
  const sold = isFields(settings['quadraticTopUp']);
  return method === 'quadratic' && !sold && spent > credits ? `${spent} credits of ${credits}` : undefined;
}
