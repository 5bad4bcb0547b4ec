import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import { type Database, type Executor, firstOf, type Transaction } from '#src/database/client.ts';
import { firstOfCells, otherCells, requireArrived } from '#src/database/other-cells.ts';
import { taggedRows } from '#src/database/tagged-rows.ts';
import type { Deps } from '#src/deps.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Ids } from '#src/platform/ids.ts';
import { rowOfApiKey } from './api-key.ts';
import type { PlanName } from './plans.ts';
import { accounts, apiKeys } from './tables.ts';

type AccountRow = typeof accounts.$inferSelect;
type ApiKeyRow = typeof apiKeys.$inferSelect;

export interface KeyWithAccount {
  readonly key: ApiKeyRow;
  readonly account: AccountRow;
}

export const findAccount = (executor: Executor, id: string): Promise<AccountRow | undefined> =>
  firstOf(executor.select().from(accounts).where(eq(accounts.id, id)));

export async function listAccounts(executor: Executor): Promise<AccountRow[]> {
  return executor.select().from(accounts).orderBy(asc(accounts.id));
}

export const updatePlan = (executor: Executor, id: string, plan: PlanName): Promise<AccountRow | undefined> =>
  firstOf(executor.update(accounts).set({ plan }).where(eq(accounts.id, id)).returning());

export async function insertApiKey(executor: Executor, key: typeof apiKeys.$inferInsert): Promise<void> {
  await executor.insert(apiKeys).values(key);
}

export async function listApiKeys(executor: Executor, accountId: string | undefined): Promise<ApiKeyRow[]> {
  return executor
    .select()
    .from(apiKeys)
    .where(accountId === undefined ? undefined : eq(apiKeys.accountId, accountId))
    .orderBy(asc(apiKeys.id));
}

/** Marks a key as revoked and notifies every process. Idempotent. */
export async function revokeApiKey(tx: Transaction, id: string, nowMs: number): Promise<ApiKeyRow | undefined> {
  await tx
    .update(apiKeys)
    .set({ revokedAt: nowMs })
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)));
  const [row] = await tx.select().from(apiKeys).where(eq(apiKeys.id, id));
  if (row !== undefined) await tx.execute(sql`SELECT pg_notify('api_key_changed', ${row.hash.toString('hex')})`);
  return row;
}

export function findKeyByHash(db: Database, hash: Buffer): Promise<KeyWithAccount | undefined> {
  const keys = db.select({ key: apiKeys, account: accounts }).from(apiKeys);
  return firstOf(keys.innerJoin(accounts, eq(accounts.id, apiKeys.accountId)).where(eq(apiKeys.hash, hash)));
}

/** Whether a key, of any cell, is neither revoked nor expired: checked before a download that was issued to the key is served. */
export async function isKeyGood(
  deps: Pick<Deps, 'db' | 'cell' | 'cells'>,
  id: string,
  nowMs: number,
): Promise<boolean> {
  const find = ({ db }: Pick<Deps, 'db'>) => firstOf(db.select().from(apiKeys).where(eq(apiKeys.id, id)));
  const key = (await find(deps)) ?? (await firstOfCells(otherCells(deps), find));
  if (key === undefined) await requireArrived([...deps.cells.values()], 'api_keys', 'id', id);
  return key !== undefined && key.revokedAt === null && (key.expiresAt === null || key.expiresAt > nowMs);
}

/** Stores the last use of many keys in one statement. */
export async function updateLastUsed(db: Database, used: ReadonlyMap<string, number>): Promise<void> {
  // Locked in the order of IDs: two processes that lock the same keys in different orders would deadlock, and one would fail.
  await db.execute(sql`
    WITH used AS (
      SELECT * FROM unnest(${sql.param([...used.keys()])}::text[], ${sql.param([...used.values()])}::bigint[]) AS u (id, at)
    ), held AS MATERIALIZED (
      SELECT k.id FROM api_keys k WHERE k.id IN (SELECT u.id FROM used u) ORDER BY k.id FOR NO KEY UPDATE
    )
    UPDATE api_keys SET last_used_at = greatest(coalesce(last_used_at, 0), used.at)
    FROM used JOIN held USING (id) WHERE api_keys.id = used.id`);
}

/** Whether the account's plan has room for another event now. Takes no lock: a concurrent creation may use up the room. */
export async function hasRoomForEvent(tx: Transaction, accountId: string, max: number): Promise<boolean> {
  const rows = await tx
    .select({ id: accounts.id })
    .from(accounts)
    .where(and(eq(accounts.id, accountId), sql`${accounts.eventCount} < ${max}`));
  return rows.length === 1;
}

/** Counts one more event against the account's plan, in one conditional update, safe against races. @returns false at the limit */
export async function takeEventFromPlan(tx: Transaction, accountId: string, max: number): Promise<boolean> {
  const rows = await tx
    .update(accounts)
    .set({ eventCount: sql`${accounts.eventCount} + 1` })
    .where(and(eq(accounts.id, accountId), sql`${accounts.eventCount} < ${max}`))
    .returning({ id: accounts.id });
  return rows.length === 1;
}

export async function giveEventBack(tx: Transaction, accountId: string): Promise<void> {
  await tx
    .update(accounts)
    .set({ eventCount: sql`greatest(${accounts.eventCount} - 1, 0)` })
    .where(eq(accounts.id, accountId));
}

export const taggedApiKeys = taggedRows('API keys', apiKeys, rowOfApiKey);

export async function createAccount(
  executor: Executor,
  deps: { readonly ids: Ids; readonly clock: Clock },
  input: { readonly name: string; readonly plan: PlanName; readonly contactEmail?: string },
): Promise<Pick<AccountRow, 'id' | 'name' | 'plan'>> {
  const id = deps.ids.sortable('acc');
  const { name, plan, contactEmail = null } = input;
  await executor.insert(accounts).values({ id, name, plan, contactEmail, createdAt: deps.clock.now() });
  return { id, name, plan };
}
