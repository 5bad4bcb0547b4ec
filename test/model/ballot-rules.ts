/** What is wrong with a ballot, and what its credits are. */
import { type Expected, refuse } from './answer.ts';
import { INTEGER } from './kit.ts';
import { type Entry, type Event, type Identity, livePendings, type Pending, type Position } from './state.ts';

/** What is wrong with a ballot that has the right shape. `loose`: the contract doesn't say which entry is named. */
export function ballotIssues(event: Event, votes: readonly Entry[], group: string | null, grouped: boolean) {
  const exact: string[] = [];
  let loose = false;
  let outside = false;
  const seen = new Set<string>();
  const ranks = new Set<string>();
  const byPosition = new Map<Position, number>();
  const points = new Map<Position, number>();
  for (const [index, vote] of votes.entries()) {
    const issue = (field: string) => exact.push(`votes[${index}].${field}`);
    const position = event.positions.find((one) => one.id === vote.positionId);
    if (position === undefined) {
      issue('positionId');
      loose ||= vote.value !== undefined || vote.rank !== undefined;
      // Whether the candidate of an unknown position is named too is open.
      loose = true;
      continue;
    }
    if (grouped && position.groupId !== null && position.groupId !== group) {
      issue('positionId');
      outside = true;
    }
    const candidate = event.candidates.find((one) => one.id === vote.candidateId);
    const good = candidate?.status === 'approved' && candidate.positionIds.includes(position.id);
    if (!good) issue('candidateId');
    const pair = `${vote.positionId} ${vote.candidateId}`;
    if (seen.has(pair)) issue('candidateId');
    seen.add(pair);
    byPosition.set(position, (byPosition.get(position) ?? 0) + 1);
    const { value, rank } = vote;
    const ranked = position.votingMethod === 'ranked_choice';
    if (ranked) {
      if (value !== undefined) issue('value');
      const last = event.candidates.filter(
        (one) => one.positionIds.includes(position.id) && one.status === 'approved',
      ).length;
      if (rank === undefined || !Number.isInteger(rank) || rank < 1 || rank > last) issue('rank');
      else if (ranks.has(`${position.id} ${rank}`)) issue('rank');
      ranks.add(`${position.id} ${rank}`);
      continue;
    }
    if (rank !== undefined) issue('rank');
    if (['plurality', 'approval', 'referendum'].includes(position.votingMethod)) {
      if (value !== undefined && value !== 1) issue('value');
      continue;
    }
    const [low, high] =
      position.votingMethod === 'score'
        ? [position.scoreMin ?? 0, position.scoreMax ?? 5]
        : [1, Number.MAX_SAFE_INTEGER];
    if (value === undefined || !Number.isInteger(value) || value < low || value > high) issue('value');
    points.set(position, (points.get(position) ?? 0) + (value ?? 0));
  }
  for (const [position, count] of byPosition) {
    const standing = event.candidates.filter(
      (one) => one.positionIds.includes(position.id) && one.status === 'approved',
    ).length;
    const max = position.maxSelections ?? standing;
    if (count > max || count < Math.min(position.minSelections ?? 0, standing)) {
      exact.push('votes');
      loose = true;
    }
    if (
      position.votingMethod === 'cumulative' &&
      (points.get(position) ?? 0) > (position.cumulativePointBudget ?? 10)
    ) {
      exact.push('votes');
      loose = true;
    }
  }
  return { exact, loose, outside };
}
export function ballotRefusal(issues: ReturnType<typeof ballotIssues>, quadratic = false): Expected[] {
  if (issues.exact.length === 0) return [];
  // Whether what cannot be right is charged too is left open.
  if (quadratic) return [refuse(422, 'validation_error', undefined, { store: 'maybe' })];
  const only = issues.outside && issues.exact.every((one) => one.endsWith('positionId')) ? 'not_in_group' : undefined;
  if (issues.loose) return [refuse(422, 'validation_error', undefined, { store: 'maybe' })];
  const all = refuse(422, 'validation_error', only, { issues: issues.exact, store: 'maybe' });
  // The group shows only to who has the key, which is checked after the body (completions 1.6): the other issues may come first.
  const first = issues.exact.filter((one) => !one.endsWith('positionId'));
  if (!issues.outside || first.length === 0) return [all];
  return [all, refuse(422, 'validation_error', undefined, { issues: first, store: 'maybe' })];
}

export function balance(
  event: Event,
  position: Position,
  visitor: string,
  now: number,
  except?: (one: Pending) => boolean,
) {
  const cost = (votes: readonly Entry[]) =>
    votes.filter((one) => one.positionId === position.id).reduce((sum, one) => sum + (one.value ?? 0) ** 2, 0);
  const base = position.quadraticBaseCreditBudget ?? 100;
  const purchased = event.purchased.get(`${position.id}|${visitor}`) ?? 0;
  const mine = (one: { readonly identity: Identity | undefined }) => one.identity?.visitorId === visitor;
  const spent = event.ballots.filter(mine).reduce((sum, one) => sum + cost(one.votes), 0);
  const held = livePendings(event, now)
    .filter((one) => mine(one) && except?.(one) !== true)
    .reduce((sum, one) => sum + cost(one.votes), 0);
  return {
    positionId: position.id,
    visitorId: visitor,
    baseCredits: base,
    purchasedCredits: purchased,
    spentCredits: spent,
    heldCredits: held,
    availableCredits: base + purchased - spent - held,
  };
}
export function creditRefusal(
  event: Event,
  votes: readonly Entry[],
  visitor: string,
  now: number,
  except: (one: Pending) => boolean,
): Expected[] {
  for (const position of event.positions) {
    if (position.votingMethod !== 'quadratic') continue;
    const required = votes
      .filter((one) => one.positionId === position.id)
      .reduce((sum, one) => sum + (one.value ?? 0) ** 2, 0);
    const available = balance(event, position, visitor, now, except).availableCredits;
    if (required > available)
      return [
        refuse(422, 'validation_error', 'insufficient_credits', {
          fields: ['votes'],
          // What no number holds exactly is told as some large one.
          details: {
            positionId: position.id,
            required: Number.isSafeInteger(required) ? required : INTEGER,
            available,
          },
          store: 'maybe',
        }),
      ];
  }
  return [];
}

export const spendsCredits = (event: Event, votes: readonly Entry[]): boolean =>
  event.positions.some(
    (one) => one.votingMethod === 'quadratic' && votes.some((vote) => vote.positionId === one.id && vote.value),
  );
