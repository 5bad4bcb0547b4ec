/** Ballots: valid ones for any event, and ways to spoil them. */
import type { Random } from './kit.ts';
import type { Entry, Event, Position } from './state.ts';

function choose(event: Event, position: Position, random: Random): Entry[] {
  const mine = event.candidates.filter((one) => one.status === 'approved' && one.positionIds.includes(position.id));
  if (mine.length === 0) return [];
  const low = Math.max(position.minSelections ?? 0, 1);
  const high = Math.min(position.maxSelections ?? mine.length, mine.length);
  // Small numbers of favourites make ties and majorities both likely.
  const order = random.chance(0.5) ? random.shuffle(mine) : mine;
  const picked = order.slice(0, random.between(Math.min(low, high), high));
  const entry = (index: number) => ({ positionId: position.id, candidateId: picked[index]?.id ?? '' });
  switch (position.votingMethod) {
    case 'score':
      return picked.map((_, index) => ({
        ...entry(index),
        value: random.between(position.scoreMin ?? 0, position.scoreMax ?? 5),
      }));
    case 'cumulative': {
      let left = position.cumulativePointBudget ?? 10;
      return picked.flatMap((_, index) => {
        if (left < 1) return [];
        const value = random.between(1, Math.max(1, Math.floor(left / 2)));
        left -= value;
        return [{ ...entry(index), value }];
      });
    }
    case 'quadratic':
      return picked.map((_, index) => ({
        ...entry(index),
        value: random.weighted([
          [5, 1],
          [4, 2],
          [3, 3],
          [1, 5],
          [1, 8],
        ]),
      }));
    case 'ranked_choice':
      return picked.map((_, index) => ({ ...entry(index), rank: index + 1 }));
    default:
      return picked.map((_, index) => (random.chance(0.1) ? { ...entry(index), value: 1 } : entry(index)));
  }
}

export function validBallot(event: Event, group: string | null, random: Random): Entry[] {
  const open = event.positions.filter((one) => one.groupId === null || one.groupId === group);
  const wanted = open.length > 1 ? open.filter(() => random.chance(0.8)) : open;
  const entries = (wanted.length > 0 ? wanted : open).flatMap((one) => choose(event, one, random));
  return random.chance(0.3) ? random.shuffle(entries) : entries;
}

type Spoiled = Record<string, unknown>;
/** One thing wrong or odd with a ballot. */
export function spoil(event: Event, entries: readonly Entry[], random: Random): Spoiled[] {
  const votes: Spoiled[] = entries.map((one) => ({ ...one }));
  const index = random.int(Math.max(votes.length, 1));
  const one = votes[index];
  if (one === undefined) return votes;
  const ways: (() => void)[] = [
    () => delete one['candidateId'],
    () => delete one['positionId'],
    () => votes.push({ ...one }),
    () => {
      one['value'] = random.pick([0, -1, 2, 1.5, 99, 1e15]);
    },
    () => {
      one['rank'] = random.pick([0, 1, 2, 99, 1.5]);
    },
    () => delete one['value'],
    () => delete one['rank'],
    () => {
      one['candidateId'] = 'cnd_unknown';
    },
    () => {
      one['positionId'] = 'pos_unknown';
    },
    () => {
      one['extra'] = 1;
    },
    () => {
      one['candidateId'] = random.pick(event.candidates).id;
    },
    () => {
      one['positionId'] = random.pick(event.positions).id;
    },
    () => void votes.splice(0, votes.length),
    () => {
      for (const candidate of event.candidates.filter((other) => other.positionIds.includes(String(one['positionId']))))
        if (!votes.some((vote) => vote['candidateId'] === candidate.id))
          votes.push({ ...one, candidateId: candidate.id });
    },
    () => {
      const next = votes[(index + 1) % votes.length];
      if (next !== undefined && next['rank'] !== undefined) next['rank'] = one['rank'];
    },
  ];
  random.pick(ways)();
  return votes;
}
