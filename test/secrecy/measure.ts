import type { DumpedRow } from './attacker.ts';

// An attacker without any key, who cannot read what is stored and measures it instead: how long each value is, how large each number,
// which transaction wrote it, and where it stands.

/** A voter whose choice the attacker guesses, and the truth, by which the guesses are judged. */
export interface MeasuredVoter {
  readonly id: string;
  /** Of two ballots that are as unlike as they can be: whether it is the larger one. */
  readonly large: boolean;
}

/** What was measured of each voter; undefined where there was nothing to measure. */
interface Measure {
  readonly name: string;
  readonly values: readonly (number | undefined)[];
}

const sizeOf = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value;
  if (typeof value === 'string') return value.length;
  return value === null || value === undefined ? undefined : JSON.stringify(value).length;
};

type Order = (row: DumpedRow) => number;
const byPlace: Order = ({ place }) => place;
const byTransaction: Order = ({ transaction }) => transaction;

/** The row of a sorted table right before, or right after, a place or transaction. */
function neighbour(sorted: readonly DumpedRow[], order: Order, at: number, step: -1 | 1): DumpedRow | undefined {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = sorted[middle];
    if (row !== undefined && (step === 1 ? order(row) <= at : order(row) < at)) low = middle + 1;
    else high = middle;
  }
  return sorted[step === 1 ? low : low - 1];
}

/** Pairs each voter's row with one of a table, in every way that transactions and places allow. */
function* pairingsOf(
  own: readonly DumpedRow[],
  rows: readonly DumpedRow[],
): Generator<[string, (DumpedRow | undefined)[]]> {
  const transactions = rows.toSorted((one, other) => byTransaction(one) - byTransaction(other));
  const same = Map.groupBy(rows, byTransaction);
  yield ['of the same transaction', own.map(({ transaction }) => same.get(transaction)?.[0])];
  yield ['of the next transaction', own.map((row) => neighbour(transactions, byTransaction, row.transaction, 1))];
  yield ['of the transaction before', own.map((row) => neighbour(transactions, byTransaction, row.transaction, -1))];
  for (const [name, order] of [
    ['in the order of places', byPlace],
    ['in the order of transactions', byTransaction],
  ] as const) {
    const [ranks, sorted] = [own.toSorted((a, b) => order(a) - order(b)), rows.toSorted((a, b) => order(a) - order(b))];
    const rankOf = new Map(ranks.map((row, rank) => [row, rank]));
    for (const [from, shift] of [
      ['first', 0],
      ['last', rows.length - own.length],
    ] as const)
      yield [`${name}, from the ${from}`, own.map((row) => sorted[(rankOf.get(row) ?? 0) + shift])];
  }
}

/** Everything that a dump shows of each voter, beside what names the voter. */
function measuresOf(dump: readonly DumpedRow[], voters: readonly MeasuredVoter[]): Measure[] {
  const participation = new Map(
    dump.filter(({ table }) => table === 'public.participation').map((row) => [row.columns['participant'], row]),
  );
  const own = voters.map(({ id }) => participation.get(id));
  const rowsOfOwn = own.filter((row) => row !== undefined);
  if (rowsOfOwn.length !== voters.length) throw new Error('a voter took part without a row of it');
  const measures: Measure[] = [];
  for (const [table, rows] of Map.groupBy(dump, (row) => row.table)) {
    if (rows.length < voters.length / 2) continue;
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row.columns)))];
    for (const [how, paired] of pairingsOf(rowsOfOwn, rows)) {
      measures.push({ name: `${table} ${how}: its transaction`, values: paired.map((row) => row?.transaction) });
      for (const column of columns)
        measures.push({
          name: `${table} ${how}: ${column}`,
          values: paired.map((row) => sizeOf(row?.columns[column])),
        });
    }
  }
  return measures;
}

/** A measure's voters from the smallest value on, and where one value ends: a guess parts them there. */
interface Ordered {
  readonly name: string;
  readonly order: Uint16Array;
  /** How many voters are up to there. */
  readonly ends: Uint16Array;
}

function inOrder({ name, values }: Measure): Ordered {
  const sizes = Float64Array.from(values, (size) => size ?? -1);
  const order = Uint16Array.from(sizes.keys()).sort((one, other) => (sizes[one] ?? 0) - (sizes[other] ?? 0));
  const ends = order.keys().filter((at) => at > 0 && sizes[order[at] ?? 0] !== sizes[order[at - 1] ?? 0]);
  return { name, order, ends: Uint16Array.from(ends) };
}

/** How many voters the best guess by a measure gets right: all below some value have one ballot, all others the other one. */
function rightBy({ order, ends }: Ordered, truth: Uint8Array, large: number): number {
  const all = truth.length;
  let [best, before, at] = [Math.max(large, all - large), 0, 0];
  for (const end of ends) {
    for (; at < end; at += 1) before += truth[order[at] ?? 0] ?? 0;
    const right = end - before + (large - before);
    best = Math.max(best, right, all - right);
  }
  return best;
}

const DEALS = 200;

/**
 * Says how many ballots the best measure guesses right, and how many where ballots are dealt to voters at random: the second best of 200 deals.
 * @param random from 0 to below 1
 */
export function measureAll(dump: readonly DumpedRow[], voters: readonly MeasuredVoter[], random: () => number) {
  const ordered = measuresOf(dump, voters).map(inOrder);
  // Many measures part the voters alike, or not at all: of each kind one is asked.
  const unlike = new Map(ordered.map((one) => [`${one.ends}: ${one.order}`, one])).values().toArray();
  const truth = Uint8Array.from(voters, ({ large }) => Number(large));
  const large = truth.reduce((sum, one) => sum + one);
  const best = (of: Uint8Array) =>
    unlike.reduce(
      (most, one) => {
        const right = rightBy(one, of, large);
        return right > most.right ? { right, by: one.name } : most;
      },
      { right: 0, by: '' },
    );
  const dealt = Array.from({ length: DEALS }, () => {
    const deal = truth.slice();
    for (let last = deal.length - 1; last > 0; last -= 1) {
      const other = Math.floor(random() * (last + 1));
      [deal[last], deal[other]] = [deal[other] ?? 0, deal[last] ?? 0];
    }
    return best(deal).right;
  }).toSorted((one, other) => other - one);
  return { measures: ordered.length, voters: voters.length, ...best(truth), byChance: dealt[1] ?? 0 };
}
