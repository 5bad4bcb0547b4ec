import { type SQL, sql } from 'drizzle-orm';
import { type Executor, readNumber, type Transaction, valuesOf } from '#src/database/client.ts';
import { packList, splitList } from './block-encoding.ts';
import { BLOCK_BALLOTS } from './tables.ts';
import { ballotIdOf } from './waiting-ballot.ts';

/** A ballot in the box (`ballot_blocks`), with its entries packed but not encrypted. */
export interface SealedBallot {
  readonly id: string;
  readonly codeTag: Buffer;
  readonly entries: Buffer;
  readonly weightMicro: bigint;
  readonly salt: Buffer;
  /** Polls only. */
  readonly voterId: string | null;
  readonly countryCode: string | null;
  readonly submittedAt: number | null;
}

export interface BallotToSeal extends SealedBallot {
  readonly sealedTime: Buffer;
}

export interface PlacedBallot extends SealedBallot {
  readonly leafIndex: number;
}

/** A row with its weight as a bigint: PostgreSQL returns it as text. */
export const withWeight = <Row extends { readonly weightMicro: string }>(row: Row) => ({
  ...row,
  weightMicro: BigInt(row.weightMicro),
});

/** The row of a ballot as PostgreSQL returns it. */
export type RowOf<Ballot> = Omit<Ballot, 'weightMicro'> & { readonly weightMicro: string };

const TAG_BYTES = 32;
/** Above every possible leaf. */
const NO_END = String(2n ** 62n);

type BlockRecord = {
  first_leaf: string;
  ballots: number;
  entries: Buffer;
  weights: string[];
  tags: Buffer;
  salts: Buffer;
  ids: string[] | null;
  voter_ids: (string | null)[] | null;
  country_codes: (string | null)[] | null;
  submitted_at: (string | null)[] | null;
};

/** A block whose lists do not match its number of ballots: no version of this program wrote it. */
export class BlockSpoilt extends Error {
  constructor(firstLeaf: number) {
    super(`the block of ballots at ${firstLeaf} cannot be read`);
  }
}

function spoiltUnless<T>(firstLeaf: number, read: () => T | undefined): T {
  try {
    const value = read();
    if (value !== undefined) return value;
  } catch (fault) {
    if (!(fault instanceof RangeError)) throw fault;
  }
  throw new BlockSpoilt(firstLeaf);
}

/** The fields of a sealed ballot that a count needs. */
type BlockBallot = Pick<SealedBallot, 'entries' | 'weightMicro' | 'codeTag'>;

/** The ballots of a block, in leaf order. @param ballots their number; by default computed from the tags @throws BlockSpoilt */
export function splitBlock(
  firstLeaf: number,
  block: { readonly entries: Buffer; readonly weights: readonly string[]; readonly tags: Buffer },
  ballots = block.tags.length / TAG_BYTES,
): BlockBallot[] {
  const { weights, tags } = block;
  return spoiltUnless(firstLeaf, () => {
    const entries = splitList(block.entries);
    const whole =
      entries.length === ballots &&
      tags.length === ballots * TAG_BYTES &&
      (weights.length === 1 || weights.length === ballots);
    if (!whole) return undefined;
    const micros = weights.map(BigInt);
    return entries.map((packed, index): BlockBallot => {
      const weightMicro = micros[micros.length === 1 ? 0 : index];
      if (weightMicro === undefined) throw new RangeError();
      return { entries: packed, weightMicro, codeTag: tags.subarray(index * TAG_BYTES, (index + 1) * TAG_BYTES) };
    });
  });
}

/** @throws BlockSpoilt */
function unpackBlock(row: BlockRecord): PlacedBallot[] {
  const firstLeaf = Number(row.first_leaf);
  const ballots = splitBlock(firstLeaf, row, row.ballots);
  return spoiltUnless(firstLeaf, () => {
    const salts = splitList(row.salts);
    if (salts.length !== ballots.length) return undefined;
    return ballots.map((ballot, index): PlacedBallot => {
      const salt = salts[index];
      if (salt === undefined) throw new RangeError();
      const submittedAt = row.submitted_at?.[index] ?? null;
      return {
        leafIndex: firstLeaf + index,
        id: row.ids?.[index] ?? ballotIdOf(salt, ballot.codeTag),
        ...ballot,
        salt,
        voterId: row.voter_ids?.[index] ?? null,
        countryCode: row.country_codes?.[index] ?? null,
        submittedAt: submittedAt === null ? null : Number(submittedAt),
      };
    });
  });
}

/** The given tags of codes whose ballots are in the box, or were in it when `lastLeaf` was its last leaf. */
export const listSealed = (executor: Executor, eventId: string, tags: readonly Buffer[], lastLeaf = 2n ** 62n) =>
  valuesOf<Buffer>(
    executor,
    sql`SELECT tag FROM tags_in_box(${eventId}, ${sql.param(tags)}::bytea[], ${lastLeaf.toString()}) AS tag`,
  );

interface BoxRange {
  /** Exclusive lower bound of the leaves. */
  readonly after: string | number;
  /** Inclusive upper bound of the leaves; none if left out. */
  readonly upTo?: string;
  readonly limit: number;
}

/** Ballots of the box in log order. @throws BlockSpoilt if direct SQL changed a block */
export async function readSealedBallots(
  executor: Executor,
  eventId: string,
  { after, upTo = NO_END, limit }: BoxRange,
): Promise<PlacedBallot[]> {
  // The first block may begin before the range. Every block holds at least one ballot, so `limit` blocks suffice.
  const { rows } = await executor.execute<BlockRecord>(sql`
    SELECT first_leaf, ballots, entries, weights, tags, salts, ids, voter_ids, country_codes, submitted_at FROM (
      SELECT b.*, sum(b.ballots) OVER (ORDER BY b.first_leaf) - b.ballots AS before FROM (
        SELECT * FROM ballot_blocks WHERE voting_event_id = ${eventId} AND first_leaf > ${after}::bigint - ${BLOCK_BALLOTS}
          AND first_leaf + ballots > ${after}::bigint + 1 AND first_leaf <= ${upTo}::bigint ORDER BY first_leaf LIMIT ${limit}) AS b
    ) AS b WHERE before < ${limit + BLOCK_BALLOTS} ORDER BY first_leaf`);
  const [first, last] = [Number(after), Number(upTo)];
  const ballots = rows.flatMap(unpackBlock).filter(({ leafIndex }) => leafIndex > first && leafIndex <= last);
  return ballots.slice(0, limit);
}

/** The last leaf of the box, -1 for an empty box. If direct SQL inserted several last blocks with one first leaf, any of them counts. */
export async function readBoxEnd(executor: Executor, eventId: string): Promise<string> {
  const lastLeaf = sql`SELECT first_leaf + ballots - 1 FROM ballot_blocks
    WHERE voting_event_id = ${eventId} ORDER BY first_leaf DESC LIMIT 1`;
  const [last = '-1'] = await valuesOf<string>(executor, lastLeaf);
  return last;
}

export function countBallots(executor: Executor, eventId: string, after: bigint, upTo: bigint): Promise<number> {
  const ballots = sql`SELECT sum(ballots) FROM ballot_blocks
    WHERE voting_event_id = ${eventId} AND first_leaf > ${after.toString()}::bigint AND first_leaf <= ${upTo.toString()}::bigint`;
  return readNumber(executor, ballots);
}

/** SQL. The weight of all ballots of a block `b`. */
export const WEIGHT_OF_BLOCK = sql`CASE WHEN cardinality(b.weights) = 1 THEN b.weights[1] * b.ballots::numeric
  ELSE (SELECT sum(w) FROM unnest(b.weights) AS w) END`;

export async function listBallotWeights(executor: Executor, eventId: string): Promise<readonly bigint[]> {
  const { rows } = await executor.execute<{ weight: string }>(sql`
    SELECT DISTINCT w::text AS weight FROM ballot_blocks b CROSS JOIN LATERAL unnest(b.weights) AS w WHERE b.voting_event_id = ${eventId}`);
  return rows.map(({ weight }) => BigInt(weight));
}

/** The first leaf of the first block between `from` and before `to` whose index keys (`tag_heads`) do not match its ballots' tags. */
export async function findWrongHeads(
  executor: Executor,
  eventId: string,
  from: number,
  to: number,
): Promise<number | undefined> {
  const { rows } = await executor.execute<{ first_leaf: string }>(sql`
    SELECT k.first_leaf FROM ballot_blocks k
    WHERE k.voting_event_id = ${eventId} AND k.first_leaf >= ${from} AND k.first_leaf < ${to} AND k.tag_heads IS DISTINCT FROM ARRAY(
      SELECT tag_head(substring(k.tags FROM n * 32 + 1 FOR 8)) FROM generate_series(0, k.ballots - 1) AS n ORDER BY n)
    ORDER BY k.first_leaf LIMIT 1`);
  return rows[0] && Number(rows[0].first_leaf);
}

export async function findSealedLeaf(
  executor: Executor,
  eventId: string,
  codeTag: Buffer,
): Promise<number | undefined> {
  const statement = sql`SELECT leaf_index FROM find_sealed(${eventId}, ${codeTag})`;
  const [leaf] = await valuesOf<string | null>(executor, statement);
  return leaf == null ? undefined : Number(leaf);
}

const allOrNull = <Value>(values: readonly (Value | null)[]): SQL =>
  sql`${sql.param(values.every((value) => value === null) ? null : values)}`;

/** Inserts ballots from leaf `first` on, in few blocks. @throws the database's unique violation for a ballot that is in the box already */
export async function insertBallots(
  tx: Transaction,
  eventId: string,
  first: number,
  ballots: readonly BallotToSeal[],
): Promise<void> {
  for (let from = 0; from < ballots.length; from += BLOCK_BALLOTS)
    await insertBlock(tx, eventId, first + from, ballots.slice(from, from + BLOCK_BALLOTS));
}

async function insertBlock(
  tx: Transaction,
  eventId: string,
  firstLeaf: number,
  ballots: readonly BallotToSeal[],
): Promise<void> {
  const weights = ballots.map(({ weightMicro }) => weightMicro);
  const [one] = weights;
  const shared = weights.every((weight) => weight === one) ? weights.slice(0, 1) : weights;
  const derived = ballots.every(({ id, salt, codeTag }) => id === ballotIdOf(salt, codeTag));
  const of = (bytes: (ballot: BallotToSeal) => Buffer): Buffer => packList(ballots.map(bytes));
  await tx.execute(sql`
    INSERT INTO ballot_blocks (voting_event_id, first_leaf, ballots, entries, weights, tags, tag_heads, salts, sealed_times, ids, voter_ids,
      country_codes, submitted_at)
    VALUES (${eventId}, ${firstLeaf}, ${ballots.length}, ${of(({ entries }) => entries)}, ${sql.param(shared)}::bigint[],
      ${Buffer.concat(ballots.map(({ codeTag }) => codeTag))},
      ${sql.param(ballots.map(({ codeTag }) => codeTag.readBigInt64BE()))}::bigint[], ${of(({ salt }) => salt)},
      ${of(({ sealedTime }) => sealedTime)}, ${derived ? null : sql.param(ballots.map(({ id }) => id))}::text[],
      ${allOrNull(ballots.map(({ voterId }) => voterId))}::text[], ${allOrNull(ballots.map(({ countryCode }) => countryCode))}::text[],
      ${allOrNull(ballots.map(({ submittedAt }) => submittedAt))}::bigint[])`);
}
