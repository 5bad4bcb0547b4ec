import type { BallotPosition } from './ballot-definition.ts';
import type { Fields } from './json.ts';
import { highestFirst, inOrderOf, type Lot, MILLION, type PositionTally, type RecountOptions } from './recount.ts';

// Figures that decide nothing (docs/counting.md, "Further figures"), in the form of the results.

/** The values of further figures for a method that does not have them. */
export const NO_FIGURES = {
  ...{ runnerUp: null, runoff: null, margin: null, tie: null },
  ...{ firstChoices: null, pairwise: null, finalTwo: null },
};

export function decimalOf(value: bigint, places: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(places + 1, '0');
  const [decimals = ''] = /^\d*[1-9]/.exec(digits.slice(-places)) ?? [];
  return `${value < 0n ? '-' : ''}${digits.slice(0, -places)}${decimals === '' ? '' : `.${decimals}`}`;
}

/** A tie, and how it was decided; null if there is none. */
export const tieOf = (
  position: BallotPosition,
  tied: readonly string[],
  policy: string,
  { seed }: Lot,
): Fields | null =>
  tied.length < 2 ? null : { candidateIds: inOrderOf(position, tied), policy, seed: policy === 'lot' ? seed : null };

export function marginOf(changes: readonly bigint[], unit: boolean, isExact: boolean): Fields | null {
  const [least] = changes.toSorted((a, b) => (a < b ? -1 : 1));
  const sure = unit && isExact;
  return least === undefined ? null : { votes: decimalOf(least, 6), exact: sure, bound: sure ? null : 'lower' };
}

export const NO_MARGIN: Fields = { votes: '0', exact: true, bound: null };

/** @param figure returns a candidate's weight in millionths */
export function figuresOfSums(
  { position, answered, answeredWeight }: PositionTally,
  { winners, tied }: { readonly winners: readonly string[]; readonly tied: readonly string[] },
  figure: (id: string) => bigint,
  options: RecountOptions,
): Fields {
  if (answered === 0n) return { ...NO_FIGURES, runoff: position.majority === null ? null : [] };
  const { majority, method, seats } = position;
  const losing = highestFirst(
    position.candidates.flatMap(({ id, withdrawn }) => (withdrawn || winners.includes(id) ? [] : id)),
    figure,
  );
  const others = losing.filter((id) => method === 'score' || figure(id) > 0n);
  const vacant = Math.max(0, seats - winners.length);
  const last = others[vacant];
  const changes: bigint[] = [];
  const step = options.unit ? MILLION : 1n;
  const up = (part: bigint, whole: bigint): bigint => ((part + whole * step - 1n) / (whole * step)) * step;
  const [part, whole] = [BigInt(Number(majority?.['numerator'] ?? 0)), BigInt(Number(majority?.['denominator'] ?? 1))];
  const [lowest, highest] = [highestFirst(winners, figure).at(-1), losing[0]];
  if (majority !== null && lowest !== undefined)
    changes.push(up(figure(lowest) * whole - answeredWeight * part, whole));
  if (highest !== undefined && vacant > 0 && majority !== null)
    changes.push(((answeredWeight * part - figure(highest) * whole) / (whole * step) + 1n) * step);
  else if (highest !== undefined && vacant > 0 && method !== 'score') changes.push(step);
  else if (highest !== undefined && lowest !== undefined && vacant === 0)
    changes.push(up(figure(lowest) - figure(highest), 2n));
  const isExact = method === 'plurality' || method === 'approval' || method === 'cumulative';
  return {
    ...NO_FIGURES,
    runnerUp: others[0] ?? null,
    runoff:
      majority === null || vacant === 0
        ? null
        : others.filter((id) => last === undefined || figure(id) >= figure(last)),
    tie: tieOf(position, tied, position.tieBreak, options),
    margin: tied.length > 0 ? NO_MARGIN : marginOf(changes, options.unit, isExact),
  };
}

/** The fewest steps of weight that change an outcome; none if no number of steps changes it. */
export function fewest(most: bigint, unit: boolean, isOther: (change: bigint) => boolean): bigint[] {
  const step = unit ? MILLION : 1n;
  let [low, high] = [0n, most / step];
  if (!isOther(high * step)) return [];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (isOther(middle * step)) high = middle;
    else low = middle;
  }
  return [high * step];
}

/** First choices and pairs of a ranked count. @param standing the candidates who are not withdrawn, in candidate order */
export function figuresOfRankings(
  { piles }: PositionTally,
  standing: readonly string[],
  tallyOf: (id: string, weight: bigint, heads: bigint) => Fields,
): { firstChoices: Fields[]; pairwise: Fields | null } {
  const first = new Map(standing.map((id) => [id, { weight: 0n, heads: 0n }]));
  const places = new Map(standing.map((id, place) => [id, place]));
  const isListed = standing.length <= 50;
  const above = isListed ? standing.map(() => standing.map(() => 0n)) : [];
  for (const { ranking, weight, heads } of piles.values()) {
    const named = ranking.filter((id) => first.has(id));
    const top = first.get(named[0] ?? '');
    if (top !== undefined) {
      top.weight += weight;
      top.heads += heads;
    }
    if (!isListed) continue;
    const left = new Set(places.values());
    for (const id of named) {
      const [place, row] = [places.get(id) ?? -1, above[places.get(id) ?? -1]];
      left.delete(place);
      for (const other of left) if (row !== undefined) row[other] = (row[other] ?? 0n) + weight;
    }
  }
  const chosen = [...first].filter(([, { weight }]) => weight > 0n);
  const firstChoices = chosen.map(([id, { weight, heads }]) => tallyOf(id, weight, heads));
  const over = (a: number, b: number): bigint => above[a]?.[b] ?? 0n;
  const winner = standing.find((_, a) => standing.every((__, b) => a === b || over(a, b) > over(b, a)));
  const table = above.map((row) => row.map((weight) => decimalOf(weight, 6)));
  const pairwise = { candidateIds: standing, table, condorcetWinner: winner ?? null };
  return { firstChoices, pairwise: isListed && firstChoices.length > 0 ? pairwise : null };
}
