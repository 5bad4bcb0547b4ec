import { and, asc, count, eq, getTableColumns, isNull, lte, type SQL, sql } from 'drizzle-orm';
import type { Executor, Transaction } from '#src/database/client.ts';
import { holdsText } from '#src/database/search.ts';
import type { Invite, InviteStatus } from './invite.ts';
import { eventInvites } from './tables.ts';
import type { InviteRole } from './voting-event.ts';

type NewInvite = typeof eventInvites.$inferInsert;

const {
  emailKey: _emailKey,
  tokenHash: _tokenHash,
  sealedToken: _sealedToken,
  ...shown
} = getTableColumns(eventInvites);
// The name of the acceptor, from another slice's table, by its key.
const columns = {
  ...shown,
  accountName: sql<string | null>`(SELECT a.name FROM accounts a WHERE a.id = ${eventInvites}.account_id)`,
};

const named = (eventId: string, id: string): SQL | undefined =>
  and(eq(eventInvites.votingEventId, eventId), eq(eventInvites.id, id));

interface InviteFilter {
  readonly search: string | undefined;
  readonly role: InviteRole | undefined;
  readonly status: InviteStatus | undefined;
}

/** Invites of an event, newest last. */
export async function listInvites(
  executor: Executor,
  eventId: string,
  { search, role, status }: InviteFilter,
  nowMs: number,
): Promise<Invite[]> {
  const standing = sql`CASE WHEN ${eventInvites.accountId} IS NOT NULL THEN 'accepted'
    WHEN ${eventInvites.expiresAt} <= ${nowMs} THEN 'expired' ELSE 'pending' END`;
  return executor
    .select(columns)
    .from(eventInvites)
    .where(
      and(
        eq(eventInvites.votingEventId, eventId),
        holdsText(search, eventInvites.email),
        role === undefined ? undefined : eq(eventInvites.role, role),
        status === undefined ? undefined : sql`${standing} = ${status}`,
      ),
    )
    .orderBy(asc(eventInvites.id));
}

export async function findInvite(executor: Executor, eventId: string, id: string): Promise<Invite | undefined> {
  const [row] = await executor.select(columns).from(eventInvites).where(named(eventId, id));
  return row;
}

/** Where the invite of a token stands. */
export async function findInviteByToken(
  executor: Executor,
  tokenHash: Buffer,
): Promise<{ readonly id: string; readonly votingEventId: string } | undefined> {
  const [row] = await executor
    .select({ id: eventInvites.id, votingEventId: eventInvites.votingEventId })
    .from(eventInvites)
    .where(eq(eventInvites.tokenHash, tokenHash));
  return row;
}

export async function countInvites(tx: Transaction, eventId: string): Promise<number> {
  const [row] = await tx.select({ found: count() }).from(eventInvites).where(eq(eventInvites.votingEventId, eventId));
  return row?.found ?? 0;
}

/** Inserts an invite, or nothing where the address has one in this event. */
export async function insertInvite(tx: Transaction, row: NewInvite): Promise<boolean> {
  const inserted = await tx
    .insert(eventInvites)
    .values(row)
    .onConflictDoNothing({ target: [eventInvites.votingEventId, eventInvites.emailKey] })
    .returning({ id: eventInvites.id });
  return inserted.length === 1;
}

/** Deletes invites that were not accepted in time, so that their addresses can be invited again. */
export async function deleteExpiredInvites(tx: Transaction, eventId: string, nowMs: number): Promise<void> {
  await tx
    .delete(eventInvites)
    .where(
      and(eq(eventInvites.votingEventId, eventId), isNull(eventInvites.accountId), lte(eventInvites.expiresAt, nowMs)),
    );
}

export async function deleteInvite(tx: Transaction, eventId: string, id: string): Promise<void> {
  await tx.delete(eventInvites).where(named(eventId, id));
}

/** Whether an event is shared with an account by an invite that it accepted. */
export async function hasAccepted(tx: Transaction, eventId: string, accountId: string): Promise<boolean> {
  const rows = await tx
    .select({ id: eventInvites.id })
    .from(eventInvites)
    .where(and(eq(eventInvites.votingEventId, eventId), eq(eventInvites.accountId, accountId)));
  return rows.length > 0;
}

/** Notes who accepted. */
export async function acceptInvite(
  tx: Transaction,
  { votingEventId, id }: { readonly votingEventId: string; readonly id: string },
  accountId: string,
  nowMs: number,
): Promise<void> {
  await tx
    .update(eventInvites)
    .set({ accountId, acceptedAt: nowMs, sealedToken: null })
    .where(named(votingEventId, id));
}

/** The encrypted token, while its mail is still to be sent. */
export async function findSealedToken(executor: Executor, eventId: string, id: string): Promise<string | undefined> {
  const [row] = await executor
    .select({ sealedToken: eventInvites.sealedToken })
    .from(eventInvites)
    .where(named(eventId, id));
  return row?.sealedToken ?? undefined;
}

export async function forgetToken(executor: Executor, eventId: string, id: string): Promise<void> {
  await executor.update(eventInvites).set({ sealedToken: null }).where(named(eventId, id));
}
