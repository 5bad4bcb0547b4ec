import { randomInt } from 'node:crypto';
import type pg from 'pg';

/** A row as somebody sees it who has the whole database: its place, its transaction, and every column. */
export interface DumpedRow {
  readonly table: string;
  /** Place in the table: page and number. */
  readonly place: number;
  readonly transaction: number;
  readonly columns: Readonly<Record<string, unknown>>;
}

/** Columns as they are, and those of JSON within them: bodies of messages, leaves of the log. */
function unfold(columns: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const unfolded = { ...columns };
  for (const [name, value] of Object.entries(columns)) {
    const text =
      typeof value === 'string' && value.startsWith('\\x7b') ? Buffer.from(value.slice(2), 'hex').toString() : value;
    if (typeof text !== 'string' || !text.startsWith('{')) continue;
    try {
      const inner: Record<string, unknown> = JSON.parse(text);
      for (const [key, one] of Object.entries(inner)) unfolded[`${name}.${key}`] = one;
    } catch {
      // A text that only looks like JSON.
    }
  }
  return unfolded;
}

/** Everything that a database holds, job queue included. */
export async function dumpDatabase(pool: pg.Pool): Promise<DumpedRow[]> {
  const { rows: tables } = await pool.query<{ name: string }>(`
    SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`);
  const dump: DumpedRow[] = [];
  for (const { name: table } of tables) {
    const { rows } = await pool.query<{ ctid: string; xmin: string; columns: Record<string, unknown> }>(
      `SELECT t.ctid::text AS ctid, t.xmin::text AS xmin, to_jsonb(t) AS columns FROM ${table} t`,
    );
    for (const { ctid, xmin, columns } of rows) {
      const [page, item] = (/\((\d+),(\d+)\)/.exec(ctid) ?? []).slice(1).map(Number);
      dump.push({
        table,
        place: (page ?? 0) * 1_000 + (item ?? 0),
        transaction: Number(xmin),
        columns: unfold(columns),
      });
    }
  }
  return [...dump, ...(await unpackBlocks(pool))];
}

/** The ballots of the blocks of sealed ballots one by one, each in its place, as a copy of the database shows them. */
async function unpackBlocks(pool: pg.Pool): Promise<DumpedRow[]> {
  const { rows } = await pool.query<{ xmin: string; columns: Record<string, unknown> }>(`
    SELECT k.xmin::text AS xmin, to_jsonb(u) || jsonb_build_object('voting_event_id', k.voting_event_id) AS columns
    FROM ballot_blocks k CROSS JOIN LATERAL sealed_ballots(k.voting_event_id, k.first_leaf, k.first_leaf) AS u`);
  return rows.map(({ xmin, columns }) => ({
    ...{ table: 'public.ballot_blocks unpacked', place: Number(columns['leaf_index']), transaction: Number(xmin) },
    columns: unfold(columns),
  }));
}

/** What an attacker knows of one voter and, to find out how good the guesses are, the truth about their ballot. */
export interface KnownVoter {
  /** Whatever names the voter: ID, e-mail address. */
  readonly names: readonly string[];
  /** What names the ballot in the box: the hash of its code, in hex. */
  readonly ballot: string;
}

type OrderKey = string;
/** For each voter or ballot: a value to sort by. */
type Ordering = ReadonlyMap<number, number | string>;

function isAbout(value: unknown, byName: ReadonlyMap<string, number>): number | undefined {
  if (typeof value === 'string') {
    const words = value.split(/[^\w@.\\-]+/);
    return [value, ...words].map((word) => byName.get(word)).find((who) => who !== undefined);
  }
  if (Array.isArray(value)) return value.map((one) => isAbout(one, byName)).find((one) => one !== undefined);
  return undefined;
}

/** Rows that name somebody (or a ballot), by who that is. */
function rowsAbout(dump: readonly DumpedRow[], byName: ReadonlyMap<string, number>): [number, DumpedRow][] {
  return dump.flatMap((row): [number, DumpedRow][] => {
    const about = Object.values(row.columns).map((value) => isAbout(value, byName));
    const who = about.find((one) => one !== undefined);
    return who === undefined ? [] : [[who, row]];
  });
}

/** Every way to sort those who are named: by place, transaction, each column of each table. */
function orderingsOf(about: readonly [number, DumpedRow][]): Map<OrderKey, Ordering> {
  const orderings = new Map<OrderKey, Map<number, number | string>>();
  const note = (key: OrderKey, who: number, value: unknown): void => {
    if (typeof value !== 'number' && typeof value !== 'string') return;
    const ordering = orderings.get(key) ?? new Map();
    ordering.set(who, value);
    orderings.set(key, ordering);
  };
  for (const [who, { table, place, transaction, columns }] of about) {
    note(`${table} place`, who, place);
    note(`${table} transaction`, who, transaction);
    for (const [column, value] of Object.entries(columns)) note(`${table}.${column}`, who, value);
  }
  return orderings;
}

/** What other rows of the same transaction add: their times, numbers and places. */
function withNeighbours(about: readonly [number, DumpedRow][], dump: readonly DumpedRow[]): [number, DumpedRow][] {
  const byTransaction = new Map<number, DumpedRow[]>();
  for (const row of dump) byTransaction.set(row.transaction, [...(byTransaction.get(row.transaction) ?? []), row]);
  const busy = 8;
  return about.flatMap(([who, row]): [number, DumpedRow][] => {
    const together = byTransaction.get(row.transaction) ?? [];
    return together.length > busy
      ? [[who, row]]
      : together.map((one) => [who, one === row ? row : { ...one, table: `${row.table} with ${one.table}` }]);
  });
}

function ranks(ordering: Ordering): Map<number, number> {
  // Equal values tell no order: without chance here, they would take on the one that the rows happen to be listed in.
  const sorted = [...ordering]
    .map(([who, value]) => ({ who, value, chance: Math.random() }))
    .sort((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : a.chance - b.chance));
  return new Map(sorted.map(({ who }, rank) => [who, rank]));
}

const isConstant = (ordering: Ordering): boolean => new Set(ordering.values()).size < 2;

export interface Attack {
  readonly by: string;
  /** Voters whose ballot was guessed right, by pairing the one order with the other. */
  readonly right: number;
  /** Rank correlation of the two orders, -1 to 1: shows an order that is only roughly known. */
  readonly correlation: number;
  readonly voters: number;
}

export interface AttackReport {
  /** Pairs of a voter's row and their own ballot's row that share a value or a transaction: links that need no guess. */
  readonly joined: readonly string[];
  readonly attacks: readonly Attack[];
}

/**
 * Tries to link voters with ballots from a dump alone: rows that share a transaction or a value, and every order of the
 * voters' rows paired with every order of the ballots' rows.
 */
export function attack(dump: readonly DumpedRow[], known: readonly KnownVoter[]): AttackReport {
  const voterNames = new Map(known.flatMap(({ names }, who) => names.map((name): [string, number] => [name, who])));
  const ballotNames = new Map(
    known.flatMap(({ ballot }, who): [string, number][] => [
      [ballot, who],
      [`\\x${ballot}`, who],
    ]),
  );
  const voterRows = rowsAbout(dump, voterNames);
  const ballotRows = rowsAbout(dump, ballotNames);
  const ballotOrders = [...orderingsOf(ballotRows)].filter(([, ordering]) => !isConstant(ordering));
  const attacks: Attack[] = [];
  for (const [voterKey, voterOrder] of orderingsOf(withNeighbours(voterRows, dump))) {
    if (isConstant(voterOrder)) continue;
    for (const [ballotKey, ballotOrder] of ballotOrders) {
      const both = [...voterOrder.keys()].filter((who) => ballotOrder.has(who));
      if (both.length < 100) continue;
      const only = (ordering: Ordering): Ordering => new Map(both.map((who) => [who, ordering.get(who) ?? 0]));
      attacks.push({ by: `${voterKey} / ${ballotKey}`, ...compare(ranks(only(voterOrder)), ranks(only(ballotOrder))) });
    }
  }
  return {
    joined: joinedRows(voterRows, ballotRows),
    attacks: [...attacks, ...nearestTransactions(voterRows, ballotRows)],
  };
}

/** Takes each ballot for that of the voter who was written last before it, or first after it. */
function nearestTransactions(
  voterRows: readonly [number, DumpedRow][],
  ballotRows: readonly [number, DumpedRow][],
): Attack[] {
  const byTable = Map.groupBy(voterRows, ([, { table }]) => table);
  return [...Map.groupBy(ballotRows, ([, { table }]) => table)].flatMap(([ballotTable, ballots]) =>
    [...byTable].map(([voterTable, voters]) => {
      const right = ballots.filter(([who, { transaction }]) => {
        const distances = voters.map(([other, row]) => ({ other, distance: Math.abs(row.transaction - transaction) }));
        const least = Math.min(...distances.map(({ distance }) => distance));
        const nearest = distances.filter(({ distance }) => distance === least);
        return nearest[randomInt(nearest.length)]?.other === who;
      }).length;
      return {
        by: `${voterTable} nearest transaction / ${ballotTable}`,
        right,
        correlation: 0,
        voters: ballots.length,
      };
    }),
  );
}

/**
 * Values of some rows that rows of another dump hold too: what two copies of a database, taken at two times, are joined by.
 * A value that several of the earlier rows hold names none of them.
 */
export function sharedValues(earlier: readonly DumpedRow[], later: readonly DumpedRow[]): string[] {
  const tables = new Map(later.flatMap(({ table, columns }) => wordsOf(columns).map(({ word }) => [word, table])));
  const holders = new Map<string, number>();
  for (const { columns } of earlier) {
    for (const word of new Set(wordsOf(columns).map((one) => one.word)))
      holders.set(word, (holders.get(word) ?? 0) + 1);
  }
  const shared = earlier.flatMap(({ table, columns }) =>
    wordsOf(columns)
      .filter(({ word }) => holders.get(word) === 1 && tables.has(word))
      .map(({ name, word }) => `${table}.${name} / ${tables.get(word)}`),
  );
  return [...new Set(shared)];
}

function wordsOf(columns: Readonly<Record<string, unknown>>): { name: string; word: string }[] {
  return Object.entries(columns).flatMap(([name, value]) =>
    (JSON.stringify(value)?.match(/[\w+/=-]{7,}/g) ?? []).map((word) => ({ name, word: bare(word) })),
  );
}

/** The same bytes, in hex or base64. */
function bare(word: string): string {
  const hex = word.replace(/^\\?x/, '');
  if (/^([0-9a-f]{2})+$/.test(hex)) return hex;
  return /^[\w+/]{43}=$/.test(word) ? Buffer.from(word, 'base64').toString('hex') : word;
}

function compare(voters: ReadonlyMap<number, number>, ballots: ReadonlyMap<number, number>): Omit<Attack, 'by'> {
  const count = voters.size;
  let right = 0;
  let squares = 0;
  for (const [who, rank] of voters) {
    const difference = rank - (ballots.get(who) ?? 0);
    if (difference === 0) right += 1;
    squares += difference ** 2;
  }
  return { right, correlation: 1 - (6 * squares) / (count * (count ** 2 - 1)), voters: count };
}

function joinedRows(voterRows: readonly [number, DumpedRow][], ballotRows: readonly [number, DumpedRow][]): string[] {
  const own = new Map<number, DumpedRow[]>();
  for (const [who, row] of ballotRows) own.set(who, [...(own.get(who) ?? []), row]);
  const joined = new Map<string, number>();
  for (const [who, voter] of voterRows) {
    for (const ballot of own.get(who) ?? []) {
      // A value that many rows share, such as the event, links nobody in particular.
      const shared = voter.transaction === ballot.transaction ? 'transaction' : sharedValue(voter, ballot);
      if (shared === undefined) continue;
      const link = `${voter.table} / ${ballot.table}: ${shared}`;
      joined.set(link, (joined.get(link) ?? 0) + 1);
    }
  }
  return [...joined].map(([link, count]) => `${link} (${count})`);
}

function sharedValue(voter: DumpedRow, ballot: DumpedRow): string | undefined {
  const values = new Set(
    Object.values(ballot.columns).filter((value) => typeof value === 'string' && value.length > 6),
  );
  return Object.entries(voter.columns).find(([name, value]) => name !== 'voting_event_id' && values.has(value))?.[0];
}
