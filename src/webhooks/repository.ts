import { and, asc, desc, eq, getTableColumns, gt, isNull, ne, sql } from 'drizzle-orm';
import type { z } from 'zod';
import { type Executor, firstOf, isTrue, type Transaction } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import { createdWithin, holdsText } from '#src/database/search.ts';
import { cutNewest, liesBeyond, MOST_LOOKED_AT, MOST_ROWS, type Newest } from '#src/http/cursor.ts';
import { webhookAttempts, webhookDeliveries, webhookEndpoints } from './tables.ts';
import type {
  listDeliveriesQuery,
  listEndpointsQuery,
  WebhookAttempt,
  WebhookDelivery,
  WebhookEndpoint,
} from './webhook-endpoint.ts';

type NewEndpointRow = typeof webhookEndpoints.$inferInsert;

/** @param filter `votingEventId`: null lists only endpoints of the account itself */
export async function listEndpoints(
  executor: Executor,
  accountId: string,
  filter: Omit<z.output<typeof listEndpointsQuery>, 'votingEventCode'> & { readonly votingEventId: string | null },
): Promise<WebhookEndpoint[]> {
  const { votingEventId } = filter;
  return executor
    .select()
    .from(webhookEndpoints)
    .where(
      and(
        eq(webhookEndpoints.accountId, accountId),
        isNull(webhookEndpoints.retiredAt),
        votingEventId === null
          ? isNull(webhookEndpoints.votingEventId)
          : eq(webhookEndpoints.votingEventId, votingEventId),
        filter.status === undefined ? undefined : eq(webhookEndpoints.status, filter.status),
        holdsText(filter.search, webhookEndpoints.url, webhookEndpoints.description),
      ),
    )
    .orderBy(asc(webhookEndpoints.id));
}

/** An endpoint of any account. */
export const findEndpoint = (executor: Executor, id: string): Promise<WebhookEndpoint | undefined> => {
  const isThere = and(eq(webhookEndpoints.id, id), isNull(webhookEndpoints.retiredAt));
  return firstOf(executor.select().from(webhookEndpoints).where(isThere));
};

/** An endpoint of any account, locked for a change. */
export const lockEndpoint = (tx: Transaction, id: string): Promise<WebhookEndpoint | undefined> =>
  firstOf(tx.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id)).for('no key update'));

/** Counts an account's endpoints. First locks the account's row, so that two concurrent creations cannot exceed the limit. */
export async function countEndpointsLocked(tx: Transaction, accountId: string): Promise<number> {
  await tx.execute(sql`SELECT 1 FROM accounts WHERE id = ${accountId} FOR UPDATE`);
  return tx.$count(
    webhookEndpoints,
    and(eq(webhookEndpoints.accountId, accountId), isNull(webhookEndpoints.retiredAt)),
  );
}

/** Whether an event exists. Prevents its deletion until this transaction ends. */
export const holdsEvent = async (tx: Transaction, id: string): Promise<boolean> =>
  (await tx.execute(sql`SELECT FROM voting_events e WHERE e.id = ${id} AND e.deleted_at IS NULL FOR KEY SHARE`))
    .rowCount === 1;

export async function insertEndpoint(tx: Transaction, row: NewEndpointRow): Promise<WebhookEndpoint> {
  const [inserted] = await tx.insert(webhookEndpoints).values(row).returning();
  if (inserted === undefined) throw new Error('an insert returned no row');
  return inserted;
}

export async function updateEndpoint(
  tx: Transaction,
  id: string,
  changes: Partial<NewEndpointRow>,
): Promise<WebhookEndpoint> {
  const [row] = await tx.update(webhookEndpoints).set(changes).where(eq(webhookEndpoints.id, id)).returning();
  if (row === undefined) throw new Error('a locked endpoint is gone');
  return row;
}

/** This many newest deliveries of a list show the whole stored answer of the receiver. Older deliveries show only its beginning. */
const TOLD_WHOLE = 100;
const BEGINNING_CHARACTERS = 200;

/** A delivery in a list, without the sent body. */
interface ListedDelivery {
  readonly delivery: Omit<WebhookDelivery, 'body'>;
  readonly attempts: WebhookAttempt[];
}

/** Attempts that a list shows for a delivery. A repeated message gets ten more attempts, each with 2 KiB of its answer. */
const ATTEMPTS_SHOWN = 20;

/** Reads deliveries and their attempts in one statement, so that both come from one snapshot. */
export async function listDeliveries(
  executor: Executor,
  endpointId: string,
  filter: z.output<typeof listDeliveriesQuery>,
): Promise<Newest<ListedDelivery>> {
  const { body: _body, ...columns } = getTableColumns(webhookDeliveries);
  const inWindow = and(eq(webhookDeliveries.endpointId, endpointId), createdWithin(webhookDeliveries, 'whd', filter));
  const newest = executor
    .select(columns)
    .from(webhookDeliveries)
    .where(inWindow)
    .orderBy(desc(webhookDeliveries.id))
    .limit(MOST_LOOKED_AT)
    .as('newest');
  const listed = executor
    .select()
    .from(newest)
    .where(
      and(
        filter.status === undefined ? undefined : eq(newest.status, filter.status),
        filter.eventType === undefined ? undefined : eq(newest.eventType, filter.eventType),
        holdsText(filter.search, newest.messageId, newest.eventType),
      ),
    )
    .orderBy(desc(newest.id))
    .limit(MOST_ROWS + 1)
    .as('listed');
  const last = executor
    .select()
    .from(webhookAttempts)
    .where(eq(webhookAttempts.deliveryId, listed.id))
    .orderBy(desc(webhookAttempts.number))
    .limit(ATTEMPTS_SHOWN)
    .as('last');
  const rows = await executor
    .select()
    .from(listed)
    .leftJoinLateral(last, sql`true`)
    .orderBy(desc(listed.id), asc(last.number));
  const deliveries = new Map<string, ListedDelivery>();
  for (const { listed: delivery, last: attempt } of rows) {
    const entry = deliveries.getOrInsert(delivery.id, { delivery, attempts: [] });
    if (attempt === null) continue;
    const { responseBody } = attempt;
    const told = deliveries.size <= TOLD_WHOLE ? responseBody : (responseBody?.slice(0, BEGINNING_CHARACTERS) ?? null);
    entry.attempts.push({ ...attempt, responseBody: told });
  }
  return cutNewest([...deliveries.values()], await liesBeyond(executor, webhookDeliveries, inWindow));
}

/** A delivery as a row of the CSV file, with the error of its last attempt. */
export type TabledDelivery = Omit<WebhookDelivery, 'body'> & { readonly lastError: string | null };

/** A page of an endpoint's deliveries, oldest first. @param after the last ID of the previous page; empty for the first page */
export async function listDeliveriesAfter(
  executor: Executor,
  endpointId: string,
  after: string,
  limit: number,
): Promise<TabledDelivery[]> {
  const { body: _body, ...columns } = getTableColumns(webhookDeliveries);
  const lastError = sql<string | null>`(SELECT a.error FROM webhook_attempts a
    WHERE a.delivery_id = webhook_deliveries.id ORDER BY a.number DESC LIMIT 1)`;
  return executor
    .select({ ...columns, lastError })
    .from(webhookDeliveries)
    .where(and(eq(webhookDeliveries.endpointId, endpointId), gt(webhookDeliveries.id, after)))
    .orderBy(asc(webhookDeliveries.id))
    .limit(limit);
}

const at = (endpointId: string, id: string) =>
  and(eq(webhookDeliveries.endpointId, endpointId), eq(webhookDeliveries.id, id));

export const findDelivery = (executor: Executor, endpointId: string, id: string) =>
  firstOf(executor.select().from(webhookDeliveries).where(at(endpointId, id)));

/** Makes a delivery due now, with all its attempts, unless its text was erased meanwhile. The message keeps its ID. */
export async function sendAgain(tx: Transaction, endpointId: string, id: string): Promise<void> {
  await tx
    .update(webhookDeliveries)
    .set({ status: 'pending', tries: 0, nextTryAt: sql`${nowMs}` })
    .where(and(at(endpointId, id), ne(webhookDeliveries.body, '')));
}

/** Whether a message describes a deleted voter or candidate: its body is erased, or a job will erase it because its event is deleted. */
export async function isOfDeletedPerson(
  executor: Executor,
  { body, personId, personEventId }: WebhookDelivery,
): Promise<boolean> {
  if (body === '') return true;
  if (personId === null) return false;
  const event = sql`SELECT FROM voting_events e WHERE e.id = ${personEventId} AND e.deleted_at IS NULL`;
  return isTrue(executor, sql`SELECT NOT EXISTS (${event})`);
}
