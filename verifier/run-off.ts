import { decimalOf, figuresOfRankings, NO_FIGURES, NO_MARGIN, tieOf } from './further-figures.ts';
import type { Fields } from './json.ts';
import {
  type CountedRound,
  FINE,
  highestFirst,
  type Lot,
  MILLION,
  type PositionTally,
  pickOrder,
  type Recount,
  type RecountOptions,
  tieOrder,
} from './recount.ts';

/** The transfers of a candidate's votes, in the form of the results. @param moved weight by receiver; '' means exhausted */
export const transfersOf = ({ position }: PositionTally, from: string, moved: ReadonlyMap<string, bigint>): Fields[] =>
  [...position.candidates.map(({ id }) => id), ''].flatMap((to) => {
    const weight = moved.get(to) ?? 0n;
    return weight === 0n ? [] : { from, to: to === '' ? null : to, weight: decimalOf(weight, 11) };
  });

/** How a tie that cannot be shared is decided. @param kept the candidates who were equal in all earlier rounds */
export const policyOf = ({ position }: PositionTally, kept: readonly string[]): string =>
  kept.length === 1 ? 'earlier_round' : position.tieBreak === 'candidate_order' ? 'candidate_order' : 'lot';

/** The candidate to eliminate from those with the lowest tally: by earlier rounds, otherwise the last in the order of ties. */
export function unluckiest(
  tally: PositionTally,
  lowest: readonly string[],
  history: readonly ReadonlyMap<string, bigint>[],
  lot: Lot,
): { out: string; tie: Fields | null } {
  const kept = pickByHistory(lowest, history, (a, b) => a < b);
  const out = pickOrder(tally.position, kept, lot).at(-1) ?? '';
  return { out, tie: tieOf(tally.position, lowest, policyOf(tally, kept), lot) };
}

/** Breaks a tie by earlier rounds, the latest first: each keeps, of the candidates still tied, only the best in that round. */
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

/** Instant runoff for one seat (docs/counting.md). Counts on to the last two candidates, for the figures that decide nothing. */
export function runOff(tally: PositionTally, options: RecountOptions): Recount {
  const { seed, root, whole, unit } = options;
  const { position } = tally;
  const candidates = position.candidates.filter(({ withdrawn }) => !withdrawn).map(({ id }) => id);
  let standing = candidates;
  const history: Map<string, bigint>[] = [];
  const rounds: CountedRound[] = [];
  const weightWon = new Map(position.candidates.map(({ id }) => [id, 0n]));
  const headsWon = new Map(weightWon);
  let winners: string[] = [];
  let tied: string[] = [];
  let finalTwo: [string, bigint, bigint][] = [];
  const piles = [...tally.piles.values()];
  const anybody = piles.some(({ ranking }) => ranking.some((id) => standing.includes(id)));
  while (anybody) {
    const votes = new Map(standing.map((id) => [id, 0n]));
    const counted = new Map(votes);
    for (const { ranking, weight, heads } of piles) {
      const holder = ranking.find((id) => votes.has(id));
      if (holder === undefined) continue;
      votes.set(holder, (votes.get(holder) ?? 0n) + weight);
      counted.set(holder, (counted.get(holder) ?? 0n) + heads);
    }
    const figure = (id: string): bigint => votes.get(id) ?? 0n;
    const active = [...votes.values()].reduce((sum, weight) => sum + weight, 0n);
    const shown = winners.length === 0;
    let tie: Fields | null = null;
    if (shown) {
      for (const id of standing) weightWon.set(id, figure(id));
      for (const id of standing) headsWon.set(id, counted.get(id) ?? 0n);
      const majority = standing.find((id) => figure(id) * 2n > active);
      if (majority !== undefined) winners = [majority];
      else if (standing.length <= 2) {
        tied = standing;
        winners = position.tieBreak === 'joint' ? standing : tieOrder(position, standing, { seed, root }).slice(0, 1);
        tie = tieOf(position, tied, position.tieBreak, options);
      }
    }
    const elected = shown ? winners : [];
    const step = whole ? MILLION : 1n;
    const round = {
      ...{ elected, tallies: inFine(votes), heads: inFine(counted), lost: 0n },
      threshold: (active / (2n * step) + 1n) * step * FINE,
    };
    if (shown && winners.length > 0) rounds.push({ ...round, eliminated: [], transfers: [], tie });
    if (winners.length > 0 && standing.length <= 2) {
      const won = highestFirst(standing, (id) => (winners.includes(id) ? 1n : 0n) + figure(id) * 2n);
      if (won.length === 2) finalTwo = won.map((id) => [id, figure(id), counted.get(id) ?? 0n]);
      break;
    }
    const least = [...votes.values()].reduce((a, b) => (b < a ? b : a));
    const lowest = standing.filter((id) => votes.get(id) === least);
    const { out, tie: tieOut } = unluckiest(tally, lowest, history, { seed, root });
    standing = standing.filter((id) => id !== out);
    history.push(votes);
    if (winners.length > 0) continue;
    const moved = new Map<string, bigint>();
    for (const { ranking, weight } of piles) {
      if (ranking.find((id) => votes.has(id)) !== out) continue;
      const to = ranking.find((id) => standing.includes(id)) ?? '';
      moved.set(to, (moved.get(to) ?? 0n) + weight * FINE);
    }
    rounds.push({ ...round, eliminated: [out], transfers: transfersOf(tally, out, moved), tie: tieOut });
  }
  const tallyOf = (candidateId: string, weight: bigint, heads: bigint): Fields => ({
    ...{ candidateId, votesWon: Number(whole ? weight / MILLION : heads), weightWon: decimalOf(weight, 6) },
  });
  const [first, second] = finalTwo;
  const apart = ((first?.[1] ?? 0n) - (second?.[1] ?? 0n)) / MILLION;
  const upper = unit && second !== undefined ? { votes: `${(apart + 1n) / 2n}`, exact: false, bound: 'upper' } : null;
  const further = {
    ...{ ...NO_FIGURES, ...figuresOfRankings(tally, candidates, tallyOf) },
    runnerUp: second !== undefined && !winners.includes(second[0]) && second[1] > 0n ? second[0] : null,
    margin: tied.length > 0 ? NO_MARGIN : upper,
    tie: tieOf(position, tied, position.tieBreak, options),
    finalTwo: second === undefined ? null : finalTwo.map((one) => tallyOf(...one)),
  };
  return {
    votesWon: new Map([...weightWon].map(([id, weight]) => [id, whole ? weight / MILLION : (headsWon.get(id) ?? 0n)])),
    weightWon: inFine(weightWon),
    winners,
    tied,
    totalVotes: whole ? tally.answeredWeight / MILLION : tally.answered,
    referendum: null,
    rounds,
    further,
  };
}

const inFine = (votes: ReadonlyMap<string, bigint>): Map<string, bigint> =>
  new Map([...votes].map(([id, weight]) => [id, weight * FINE]));
