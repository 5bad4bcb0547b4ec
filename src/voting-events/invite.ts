import { and, asc, eq, getTableColumns, isNull, lte, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Executor, firstOf, isTrue, type Transaction } from '#src/database/client.ts';
import { holdsText } from '#src/database/search.ts';
import { timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { emailField, searchField } from '#src/http/fields.ts';
import { arrivingCode } from './code-claims.ts';
import { eventInvites } from './tables.ts';

const INVITE_STATUSES = ['pending', 'accepted', 'expired'] as const;
type InviteStatus = (typeof INVITE_STATUSES)[number];

const inviteRole = z.enum(['viewer', 'editor']);

/** How an event is shared with a person (completions 2.5). */
export const inviteView = z
  .object({
    id: z.string(),
    votingEventId: z.string(),
    email: z.string(),
    role: inviteRole,
    status: z.enum(INVITE_STATUSES),
    acceptedBy: z.object({ accountId: z.string(), name: z.string().nullable() }).nullable(),
    acceptedAt: timeShape().nullable(),
    expiresAt: timeShape(),
    createdAt: timeShape(),
  })
  .meta({
    id: 'Invite',
    description: 'An event shared with the account of an invited person. Its token is in the e-mail alone.',
    examples: [
      {
        id: EXAMPLE.invite,
        votingEventId: EXAMPLE.event,
        email: 'greta@example.com',
        role: 'viewer',
        status: 'pending',
        acceptedBy: null,
        acceptedAt: null,
        expiresAt: EXAMPLE.closesAt,
        createdAt: EXAMPLE.openedAt,
      },
    ],
  });

type InviteRow = typeof eventInvites.$inferSelect;

/** An invite without its secrets. */
export type Invite = Omit<InviteRow, 'emailKey' | 'tokenHash' | 'sealedToken' | 'tag'> & {
  /** Name of the account that accepted the invite; null until then. */
  readonly accountName: string | null;
};

export const createInviteBody = z.strictObject({ email: emailField(), role: inviteRole });

export const acceptInviteBody = z.strictObject({
  token: z.string().trim().min(1, 'must not be empty').max(100, 'must have at most 100 characters'),
});

export const listInvitesQuery = z.strictObject({
  search: searchField().optional(),
  role: inviteRole.optional(),
  status: z.enum(INVITE_STATUSES).optional(),
});

export function inviteStatusAt(invite: Pick<Invite, 'accountId' | 'expiresAt'>, nowMs: number): InviteStatus {
  if (invite.accountId !== null) return 'accepted';
  return invite.expiresAt <= nowMs ? 'expired' : 'pending';
}

export function viewInvite(invite: Invite, nowMs: number): z.output<typeof inviteView> {
  const { accountId, accountName: name, ...shown } = invite;
  const acceptedBy = accountId === null ? null : { accountId, name };
  return { ...shown, status: inviteStatusAt(invite, nowMs), acceptedBy };
}

const {
  emailKey: _emailKey,
  tokenHash: _tokenHash,
  sealedToken: _sealedToken,
  tag: _tag,
  ...withoutSecrets
} = getTableColumns(eventInvites);
// Reads the accepting account's name from a table of another folder, by primary key; a guest's name by an index.
const columns = {
  ...withoutSecrets,
  accountName: sql<string | null>`coalesce((SELECT a.name FROM accounts a WHERE a.id = ${eventInvites}.account_id),
    (SELECT g.account_name FROM guest_keys g WHERE g.account_id = ${eventInvites}.account_id LIMIT 1))`,
};

const named = (eventId: string, id: string): SQL | undefined =>
  and(eq(eventInvites.votingEventId, eventId), eq(eventInvites.id, id));

export async function listInvites(
  executor: Executor,
  eventId: string,
  { search, role, status }: z.output<typeof listInvitesQuery>,
  nowMs: number,
): Promise<Invite[]> {
  const rows: Invite[] = await executor
    .select(columns)
    .from(eventInvites)
    .where(
      and(
        eq(eventInvites.votingEventId, eventId),
        holdsText(search, eventInvites.email),
        role === undefined ? undefined : eq(eventInvites.role, role),
      ),
    )
    .orderBy(asc(eventInvites.id));
  return rows.filter((invite) => status === undefined || inviteStatusAt(invite, nowMs) === status);
}

export const findInvite = (executor: Executor, eventId: string, id: string): Promise<Invite | undefined> =>
  firstOf(executor.select(columns).from(eventInvites).where(named(eventId, id)));

export const findInviteByToken = (executor: Executor, tokenHash: Buffer): Promise<InviteRow | undefined> =>
  firstOf(executor.select().from(eventInvites).where(eq(eventInvites.tokenHash, tokenHash)));

/** Whether an event that arrives from another cell brings the invite of a token. */
export const isArrivingInvite = (executor: Executor, tokenHash: Buffer): Promise<boolean> =>
  isTrue(
    executor,
    sql`SELECT EXISTS (SELECT 1 FROM event_invites i JOIN voting_events e ON e.id = i.voting_event_id
      WHERE i.token_hash = ${tokenHash} AND starts_with(e.code_key, ${arrivingCode('')}))`,
  );

export const countInvites = (tx: Transaction, eventId: string): Promise<number> =>
  tx.$count(eventInvites, eq(eventInvites.votingEventId, eventId));

/** Inserts an invite. @returns false if the address already has an invite to this event */
export async function insertInvite(tx: Transaction, row: typeof eventInvites.$inferInsert): Promise<boolean> {
  const inserted = await tx
    .insert(eventInvites)
    .values(row)
    .onConflictDoNothing({ target: [eventInvites.votingEventId, eventInvites.emailKey] })
    .returning({ id: eventInvites.id });
  return inserted.length === 1;
}

/** Deletes invites that were not accepted in time, so that their addresses can be invited again. @returns whether it deleted any */
export async function deleteExpiredInvites(tx: Transaction, eventId: string, nowMs: number): Promise<boolean> {
  const { rowCount } = await tx
    .delete(eventInvites)
    .where(
      and(eq(eventInvites.votingEventId, eventId), isNull(eventInvites.accountId), lte(eventInvites.expiresAt, nowMs)),
    );
  return (rowCount ?? 0) > 0;
}

export const listInviteRows = (executor: Executor, eventId: string): Promise<InviteRow[]> =>
  executor.select().from(eventInvites).where(eq(eventInvites.votingEventId, eventId));

export async function updateInvite(
  executor: Executor,
  { votingEventId, id }: Pick<InviteRow, 'votingEventId' | 'id'>,
  changes: Partial<InviteRow>,
): Promise<void> {
  await executor.update(eventInvites).set(changes).where(named(votingEventId, id));
}

export async function deleteInvite(tx: Transaction, eventId: string, id: string): Promise<void> {
  await tx.delete(eventInvites).where(named(eventId, id));
}

export async function hasAccepted(tx: Transaction, eventId: string, accountId: string): Promise<boolean> {
  const accepted = and(eq(eventInvites.votingEventId, eventId), eq(eventInvites.accountId, accountId));
  return (await tx.$count(eventInvites, accepted)) > 0;
}
