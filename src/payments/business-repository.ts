import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import type { Executor } from '#src/database/client.ts';
import { holdsText } from '#src/database/search.ts';
import { paymentBusinesses } from './tables.ts';
import type { PaymentBusiness } from './types.ts';

export type NewBusiness = typeof paymentBusinesses.$inferInsert;

/** Businesses of an account, or of all for the operator; those that were disconnected are gone. */
export async function listBusinesses(
  executor: Executor,
  accountId: string | undefined,
  search?: string,
): Promise<PaymentBusiness[]> {
  return executor
    .select()
    .from(paymentBusinesses)
    .where(
      and(
        accountId === undefined ? undefined : eq(paymentBusinesses.accountId, accountId),
        isNull(paymentBusinesses.disconnectedAt),
        holdsText(search, paymentBusinesses.displayName, paymentBusinesses.provider, paymentBusinesses.country),
      ),
    )
    .orderBy(asc(paymentBusinesses.id));
}

/** A connected business of an account, or of any for the operator. */
export async function findBusiness(
  executor: Executor,
  accountId: string | undefined,
  id: string,
): Promise<PaymentBusiness | undefined> {
  const [row] = await executor
    .select()
    .from(paymentBusinesses)
    .where(
      and(
        eq(paymentBusinesses.id, id),
        accountId === undefined ? undefined : eq(paymentBusinesses.accountId, accountId),
        isNull(paymentBusinesses.disconnectedAt),
      ),
    );
  return row;
}

/** A business whatever became of it: payments that it took are still asked for and refunded. */
export async function findBusinessEver(executor: Executor, id: string): Promise<PaymentBusiness | undefined> {
  const [row] = await executor.select().from(paymentBusinesses).where(eq(paymentBusinesses.id, id));
  return row;
}

export async function insertBusiness(executor: Executor, row: NewBusiness): Promise<PaymentBusiness> {
  const [inserted] = await executor.insert(paymentBusinesses).values(row).returning();
  if (inserted === undefined) throw new Error('an insert returned no row');
  return inserted;
}

export async function updateBusiness(
  executor: Executor,
  id: string,
  changes: Partial<NewBusiness>,
): Promise<PaymentBusiness | undefined> {
  const [row] = await executor
    .update(paymentBusinesses)
    .set(changes)
    .where(and(eq(paymentBusinesses.id, id), isNull(paymentBusinesses.disconnectedAt)))
    .returning();
  return row;
}

/** Whether an event is paid through a business. */
export async function isBusinessLinked(executor: Executor, id: string): Promise<boolean> {
  const { rows } = await executor.execute(sql`SELECT 1 FROM voting_events WHERE payment_business_id = ${id} LIMIT 1`);
  return rows.length > 0;
}
