import { and, asc, desc, eq, gt, gte, inArray, lt, sql } from 'drizzle-orm';
import { CompactRange } from '#src/ballot-log/merkle-tree.ts';
import { type NewTile, type TreeReader, type TreeStore, tilesIn } from '#src/ballot-log/tree-store.ts';
import { type Executor, firstOf, isTrue, type Transaction } from '#src/database/client.ts';
import { serviceCheckpoints, serviceCosignatures, serviceLog, serviceLogLeaves, serviceLogTiles } from './tables.ts';

const CURRENT = 'current';

/** Takes the lock for appending, until the transaction ends. Returns false if another process has it. */
export const takeServiceSequencer = (tx: Transaction): Promise<boolean> =>
  isTrue(tx, sql`SELECT pg_try_advisory_xact_lock(hashtextextended('service log', 0))`);

/** The stored compact range (frontier), the hashes from which the tree grows; empty before the first leaf. */
export async function findCompactRange(executor: Executor): Promise<CompactRange> {
  const [row] = await executor.select().from(serviceLog).where(eq(serviceLog.id, CURRENT));
  return row === undefined ? new CompactRange() : CompactRange.fromBytes(row.frontier);
}

export async function storeCompactRange(tx: Transaction, frontier: CompactRange): Promise<void> {
  const head = { size: frontier.size, frontier: frontier.toBytes() };
  await tx
    .insert(serviceLog)
    .values({ id: CURRENT, ...head })
    .onConflictDoUpdate({ target: serviceLog.id, set: head });
}

/** A leaf, with the key under which it is found: `eventTag` and `size`. */
type NewLeaf = Omit<typeof serviceLogLeaves.$inferInsert, 'leafIndex'>;

/** The leaves that are not in the log yet. */
export async function withoutLogged<Leaf extends NewLeaf>(
  executor: Executor,
  leaves: readonly Leaf[],
): Promise<Leaf[]> {
  const { eventTag, size } = serviceLogLeaves;
  const tags = [...new Map(leaves.map((leaf) => [leaf.eventTag.toString('hex'), leaf.eventTag])).values()];
  const rows = await executor.select({ eventTag, size }).from(serviceLogLeaves).where(inArray(eventTag, tags));
  const nameOf = (leaf: Pick<NewLeaf, 'eventTag' | 'size'>): string => `${leaf.eventTag.toString('hex')} ${leaf.size}`;
  const logged = new Set(rows.map(nameOf));
  return leaves.filter((leaf) => !logged.has(nameOf(leaf)));
}

export const serviceTree = (executor: Executor): TreeReader => ({
  async readLeaves(from, to) {
    const { leafIndex, data } = serviceLogLeaves;
    const within = and(gte(leafIndex, from), lt(leafIndex, to));
    const rows = await executor.select({ data }).from(serviceLogLeaves).where(within).orderBy(asc(leafIndex));
    return rows.map((row) => row.data);
  },
  ...tilesIn(executor, serviceLogTiles),
});

/** @param leaves the rows to insert; the caller appends the same leaves to the tree, in this order */
export const serviceTreeStore = (tx: Transaction, leaves: readonly NewLeaf[]): TreeStore => ({
  ...serviceTree(tx),
  async insertLeaves(first) {
    await tx.insert(serviceLogLeaves).values(leaves.map((leaf, at) => ({ leafIndex: first + at, ...leaf })));
  },
  async insertTile(tile: NewTile) {
    await tx.insert(serviceLogTiles).values(tile);
  },
});

export type ServiceCheckpoint = typeof serviceCheckpoints.$inferSelect;

export async function insertServiceCheckpoint(tx: Transaction, checkpoint: ServiceCheckpoint): Promise<void> {
  await tx.insert(serviceCheckpoints).values(checkpoint);
}

export const findServiceCheckpoint = (executor: Executor, size: number): Promise<ServiceCheckpoint | undefined> =>
  firstOf(executor.select().from(serviceCheckpoints).where(eq(serviceCheckpoints.size, size)));

/** The newest heads with more than `above` leaves, newest first. */
export async function listNewestCheckpoints(
  executor: Executor,
  above: number,
  limit: number,
): Promise<ServiceCheckpoint[]> {
  return executor
    .select()
    .from(serviceCheckpoints)
    .where(gt(serviceCheckpoints.size, above))
    .orderBy(desc(serviceCheckpoints.size))
    .limit(limit);
}

/** The signature lines of witnesses, by the size of the head that they signed. */
export async function listCosignatures(
  executor: Executor,
  sizes: readonly number[],
): Promise<ReadonlyMap<number, readonly string[]>> {
  const rows = await executor
    .select({ size: serviceCosignatures.size, line: serviceCosignatures.line })
    .from(serviceCosignatures)
    .where(inArray(serviceCosignatures.size, [...sizes]))
    .orderBy(asc(serviceCosignatures.size), asc(serviceCosignatures.witness));
  return new Map([...Map.groupBy(rows, ({ size }) => size)].map(([size, own]) => [size, own.map(({ line }) => line)]));
}

/** The newest leaf of an event: its index, and the size of the event's log at that checkpoint. */
export function findLeafOf(executor: Executor, tag: Buffer) {
  const { leafIndex, size, eventTag } = serviceLogLeaves;
  const leaves = executor.select({ leafIndex, size }).from(serviceLogLeaves).where(eq(eventTag, tag));
  return firstOf(leaves.orderBy(desc(size)).limit(1));
}

export async function insertCosignature(
  executor: Executor,
  cosignature: typeof serviceCosignatures.$inferInsert,
): Promise<void> {
  await executor.insert(serviceCosignatures).values(cosignature).onConflictDoNothing();
}

/** The size of the newest head that a witness has signed; 0 before the first. */
export async function findLastCosigned(executor: Executor, witness: string): Promise<number> {
  const { size, witness: signer } = serviceCosignatures;
  const signed = executor.select({ size }).from(serviceCosignatures).where(eq(signer, witness));
  return (await firstOf(signed.orderBy(desc(size)).limit(1)))?.size ?? 0;
}
