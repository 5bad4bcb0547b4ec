import {
  FINE,
  type Lot,
  MILLION,
  type PositionTally,
  pickOrder,
  type Recount,
  type RecountOptions,
  tieOrder,
} from './recount.ts';

interface OpenRound {
  readonly elected: string[];
  readonly eliminated: string[];
  readonly tallies: ReadonlyMap<string, bigint>;
}

/** The one of those with the lowest tally who goes out: earlier rounds first, then the last in the order of ties. */
export function unluckiest(
  tally: PositionTally,
  lowest: readonly string[],
  history: readonly ReadonlyMap<string, bigint>[],
  lot: Lot,
): string {
  const kept = pickByHistory(lowest, history, (a, b) => a < b);
  return pickOrder(tally.position, kept, lot).at(-1) ?? '';
}

/** Goes back through earlier rounds, the latest first, keeping those who were best there. */
export function pickByHistory(
  ids: readonly string[],
  history: readonly ReadonlyMap<string, bigint>[],
  better: (a: bigint, b: bigint) => boolean,
): string[] {
  let kept = [...ids];
  for (const round of history.toReversed()) {
    const best = kept.map((id) => round.get(id) ?? 0n).reduce((a, b) => (better(b, a) ? b : a));
    kept = kept.filter((id) => (round.get(id) ?? 0n) === best);
  }
  return kept;
}

/** Instant runoff for one seat (docs/counting.md). */
export function runOff(tally: PositionTally, { seed, root, whole }: RecountOptions): Recount {
  const { position } = tally;
  let standing = position.candidates.filter(({ withdrawn }) => !withdrawn).map(({ id }) => id);
  const history: Map<string, bigint>[] = [];
  const rounds: OpenRound[] = [];
  const weightWon = new Map(position.candidates.map(({ id }) => [id, 0n]));
  const headsWon = new Map(weightWon);
  let winners: string[] = [];
  let tied: string[] = [];
  const piles = [...tally.piles.values()];
  const anybody = piles.some(({ ranking }) => ranking.some((id) => standing.includes(id)));
  while (anybody && winners.length === 0) {
    const votes = new Map(standing.map((id) => [id, 0n]));
    for (const id of standing) headsWon.set(id, 0n);
    for (const { ranking, weight, heads } of piles) {
      const holder = ranking.find((id) => votes.has(id));
      if (holder === undefined) continue;
      votes.set(holder, (votes.get(holder) ?? 0n) + weight);
      headsWon.set(holder, (headsWon.get(holder) ?? 0n) + heads);
    }
    for (const [id, weight] of votes) weightWon.set(id, weight);
    const tallies = new Map([...votes].map(([id, weight]) => [id, weight * FINE]));
    const round: OpenRound = { elected: [], eliminated: [], tallies };
    rounds.push(round);
    const active = [...votes.values()].reduce((sum, weight) => sum + weight, 0n);
    const majority = standing.find((id) => (votes.get(id) ?? 0n) * 2n > active);
    if (majority !== undefined) {
      winners = [majority];
    } else if (standing.length <= 2) {
      tied = standing;
      winners = position.tieBreak === 'joint' ? standing : tieOrder(position, standing, { seed, root }).slice(0, 1);
    } else {
      const least = [...votes.values()].reduce((a, b) => (b < a ? b : a));
      const lowest = standing.filter((id) => votes.get(id) === least);
      const out = unluckiest(tally, lowest, history, { seed, root });
      round.eliminated.push(out);
      standing = standing.filter((id) => id !== out);
      history.push(votes);
    }
    round.elected.push(...winners);
  }
  return {
    votesWon: new Map([...weightWon].map(([id, weight]) => [id, whole ? weight / MILLION : (headsWon.get(id) ?? 0n)])),
    weightWon: new Map([...weightWon].map(([id, weight]) => [id, weight * FINE])),
    winners,
    tied,
    totalVotes: whole ? tally.answeredWeight / MILLION : tally.answered,
    referendum: null,
    rounds,
  };
}
