import { and, asc, eq, gte, isNull, lte, or, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Executor, firstOf, type Transaction } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import { holdsText } from '#src/database/search.ts';
import type { ProviderCredentials } from '#src/payment-providers/provider.ts';
import { placesIn, type Secrets } from '#src/platform/secrets.ts';
import type { PaymentAttempt, PaymentBusiness } from './payment.ts';
import { paymentBusinesses } from './tables.ts';

type NewBusiness = typeof paymentBusinesses.$inferInsert;

const businessesWhere = (executor: Executor, ...conditions: (SQL | undefined)[]) =>
  executor
    .select()
    .from(paymentBusinesses)
    .where(and(...conditions));

/** Connected businesses of an account; for the operator (undefined), of all accounts. */
const isConnected = (accountId: string | undefined) =>
  and(
    isNull(paymentBusinesses.disconnectedAt),
    accountId === undefined ? undefined : eq(paymentBusinesses.accountId, accountId),
  );

/** The connected businesses of an account, or of all accounts for the operator. */
export async function listBusinesses(executor: Executor, accountId: string | undefined, search?: string) {
  const { id, displayName, provider, country } = paymentBusinesses;
  const isFound = holdsText(search, displayName, provider, country);
  return businessesWhere(executor, isConnected(accountId), isFound).orderBy(asc(id));
}

/** A connected business of an account; for the operator (undefined), of any account. */
export const findBusiness = (executor: Executor, accountId: string | undefined, id: string) =>
  firstOf(businessesWhere(executor, eq(paymentBusinesses.id, id), isConnected(accountId)));

/** As `findBusiness`, and keeps the business connected until this transaction ends. Call with the event locked. */
export const holdBusiness = (tx: Transaction, accountId: string, id: string) =>
  firstOf(businessesWhere(tx, eq(paymentBusinesses.id, id), isConnected(accountId)).for('share'));

/** Whether a business, even a disconnected one, is in this cell. Keeps it in the cell until this transaction ends. */
export const keepBusiness = async (tx: Transaction, id: string): Promise<boolean> =>
  (await businessesWhere(tx, eq(paymentBusinesses.id, id)).for('key share')).length === 1;

/** A business, even a disconnected one, because its earlier payments are still settled and refunded. */
export const findBusinessEver = (executor: Executor, id: string): Promise<PaymentBusiness | undefined> =>
  firstOf(businessesWhere(executor, eq(paymentBusinesses.id, id)).prepare('find_payment_business').execute());

/** The business of an attempt. No business is ever deleted. */
export async function businessOf(
  executor: Executor,
  { paymentBusinessId }: Pick<PaymentAttempt, 'paymentBusinessId'>,
): Promise<PaymentBusiness> {
  const business = await findBusinessEver(executor, paymentBusinessId);
  if (business === undefined) throw new Error('a payment business is gone');
  return business;
}

export async function insertBusiness(executor: Executor, row: NewBusiness): Promise<PaymentBusiness> {
  const [inserted] = await executor.insert(paymentBusinesses).values(row).returning();
  if (inserted === undefined) throw new Error('an insert returned no row');
  return inserted;
}

/** Stores what was learnt with the credentials of `business`. @returns undefined, with nothing changed, if others were stored since */
export const updateBusiness = (
  executor: Executor,
  { id, credentials }: PaymentBusiness,
  changes: Partial<NewBusiness>,
): Promise<PaymentBusiness | undefined> => {
  const isSame = and(eq(paymentBusinesses.id, id), eq(paymentBusinesses.credentials, credentials));
  return firstOf(executor.update(paymentBusinesses).set(changes).where(isSame).returning());
};

/** Ends the connection of a business; the first end counts. */
export async function markDisconnected(executor: Executor, id: string, atMs: number): Promise<void> {
  const changes = { disconnectedAt: atMs, updatedAt: atMs };
  await executor
    .update(paymentBusinesses)
    .set(changes)
    .where(and(eq(paymentBusinesses.id, id), isConnected(undefined)));
}

export async function isBusinessLinked(executor: Executor, id: string): Promise<boolean> {
  const { rows } = await executor.execute(sql`SELECT 1 FROM voting_events WHERE payment_business_id = ${id} LIMIT 1`);
  return rows.length > 0;
}

/** Takes the right to ask about an account: of all processes, one caller gets it in `everyMs`. @returns null, or when it was last taken */
export async function takeCheck(executor: Executor, id: string, everyMs: number): Promise<number | null> {
  const { checkedAt } = paymentBusinesses;
  const isDue = or(isNull(checkedAt), lte(checkedAt, sql`${nowMs} - ${everyMs}::bigint`));
  const { rowCount } = await executor
    .update(paymentBusinesses)
    .set({ checkedAt: sql`${nowMs}` })
    .where(and(eq(paymentBusinesses.id, id), isDue));
  return rowCount === 1 ? null : ((await findBusinessEver(executor, id))?.checkedAt ?? null);
}

/** Counts the consecutive failures of comparing a business's payments with its provider's lists. @returns the count; 0 after a success */
export async function noteComparison(executor: Executor, id: string, failed: boolean): Promise<number> {
  const [row] = await executor
    .update(paymentBusinesses)
    .set({ failedComparisons: failed ? sql`${paymentBusinesses.failedComparisons} + 1` : 0 })
    .where(eq(paymentBusinesses.id, id))
    .returning({ failures: paymentBusinesses.failedComparisons });
  return row?.failures ?? 0;
}

/** Every business that may have taken payments since a moment, including businesses that were disconnected later. */
export async function listBusinessesSince(executor: Executor, sinceMs: number): Promise<PaymentBusiness[]> {
  const { id, disconnectedAt } = paymentBusinesses;
  return businessesWhere(executor, or(isNull(disconnectedAt), gte(disconnectedAt, sinceMs))).orderBy(asc(id));
}

const CHECKED_AT_ONCE = 100;

/** Connected businesses that take no payments. The longest unchecked come first, so that the limit excludes none for good. */
export async function listUnreadyBusinesses(executor: Executor): Promise<PaymentBusiness[]> {
  return businessesWhere(executor, eq(paymentBusinesses.ready, false), isConnected(undefined))
    .orderBy(sql`${paymentBusinesses.checkedAt} NULLS FIRST`)
    .limit(CHECKED_AT_ONCE);
}

/** A business's events that have not opened. An event with a price can open only while its business is ready. */
export async function listUnopenedEvents(executor: Executor, { id, accountId }: PaymentBusiness): Promise<string[]> {
  const { rows } = await executor.execute<{ id: string }>(sql`
    SELECT id FROM voting_events
    WHERE account_id = ${accountId} AND payment_business_id = ${id} AND opened_at IS NULL AND closed_at IS NULL AND deleted_at IS NULL ORDER BY id`);
  return rows.map((row) => row.id);
}

const schema = z.object({
  secretKey: z.string(),
  webhookSecret: z.string().optional(),
  accountId: z.string().optional(),
});

export const credentialsPlace = placesIn('payment_businesses', 'credentials');

export function sealCredentials(secrets: Secrets, businessId: string, credentials: ProviderCredentials): string {
  return secrets.seal(JSON.stringify(credentials), credentialsPlace(businessId));
}

/** Decrypts a business's credentials. @throws Error if the ciphertext was moved or changed, or its key is not configured */
export function openCredentials(
  secrets: Secrets,
  business: Pick<PaymentBusiness, 'id' | 'credentials'>,
): ProviderCredentials {
  return schema.parse(JSON.parse(secrets.open(business.credentials, credentialsPlace(business.id)).toString('utf8')));
}
