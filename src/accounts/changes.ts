import { and, asc, desc, eq, gt, type SQL, sql } from 'drizzle-orm';
import type { Executor, Transaction } from '#src/database/client.ts';
import { createdWithin, holdsText } from '#src/database/search.ts';
import { OPERATOR } from '#src/http/caller.ts';
import { cutNewest, liesBeyond, MOST_LOOKED_AT, MOST_ROWS, type Newest, type TimeWindow } from '#src/http/cursor.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Ids } from '#src/platform/ids.ts';
import { pick } from '#src/platform/pick.ts';
import { sha256 } from '#src/platform/secrets.ts';
import { codePointLength } from '#src/platform/text.ts';
import { accounts, apiKeys, auditEntries } from './tables.ts';

export interface Change {
  readonly accountId: string;
  readonly votingEventId: string | null;
  /** The API key of the request; null if the service itself acted. */
  readonly keyId: string | null;
  /** For instance `voting_event.updated`. */
  readonly action: string;
  readonly resource: string;
  readonly before?: Record<string, unknown>;
  readonly after?: Record<string, unknown>;
}

/** A change that a caller requested, of an event or of a resource in it. */
export const changeBy = (
  {
    event,
    caller,
  }: {
    readonly event: { readonly id: string; readonly accountId: string };
    readonly caller: { readonly keyId: string | null };
  },
  action: string,
  resource: string,
  sides: Pick<Change, 'before' | 'after'> = {},
): Change => ({ accountId: event.accountId, votingEventId: event.id, keyId: caller.keyId, action, resource, ...sides });

/** A longer value is stored as length and hash: enough to detect a change, and to verify a copy of the text. */
const MAX_VALUE_LENGTH = 320;

function shortenedValue(value: unknown): unknown {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  if (text.length <= MAX_VALUE_LENGTH) return value;
  return { length: codePointLength(text), sha256: sha256(text).toString('hex') };
}

/** The fields before or after a change, each shortened to a bounded size. */
export function shortened(fields: Record<string, unknown> | null | undefined): Record<string, unknown> | null {
  if (fields === null || fields === undefined) return null;
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shortenedValue(value)]));
}

/** The statement that records a change in the audit trail. It runs when it is awaited, or as a part of another statement. */
export const changeInsert = (tx: Transaction, deps: { readonly ids: Ids; readonly clock: Clock }, change: Change) =>
  tx.insert(auditEntries).values({
    id: deps.ids.sortable('aud'),
    accountId: change.accountId,
    votingEventId: change.votingEventId,
    keyId: change.keyId === OPERATOR ? null : change.keyId,
    action: change.action,
    resource: change.resource,
    before: shortened(change.before),
    after: shortened(change.after),
    createdAt: deps.clock.now(),
  });

/** Records a change in the audit trail. Call in the transaction of the change, and never pass a ballot, key or confirmation code. */
export async function recordChange(...of: Parameters<typeof changeInsert>): Promise<void> {
  await changeInsert(...of);
}

/** Fields that the audit trail leaves out, because they change with every update or are internal. */
const NOT_AUDITED = new Set([
  'updatedAt',
  'definitionVersion',
  'announcedStatus',
  'nameKey',
  'number',
  'deletedAt',
  'copyDone',
  'ballotKey',
  'realKey',
  'tag',
]);

export function differenceOf(before: object, after: object) {
  const states = { before: new Map(Object.entries(before)), after: new Map(Object.entries(after)) };
  const names = [...states.after.keys()].filter(
    (name) =>
      !NOT_AUDITED.has(name) && JSON.stringify(states.before.get(name)) !== JSON.stringify(states.after.get(name)),
  );
  const namedOf = (state: ReadonlyMap<string, unknown>) =>
    Object.fromEntries(names.map((name) => [name, state.get(name) ?? null]));
  return { before: namedOf(states.before), after: namedOf(states.after) };
}

interface ChangeFilter extends TimeWindow {
  /** Text to find in the action, the resource's ID or the API key's name. */
  readonly search?: string | undefined;
  readonly action?: string | undefined;
  readonly resource?: string | undefined;
  readonly keyId?: string | undefined;
}

/** An event's changes that an account may see: only the owner sees its webhook endpoints (completions 2.5). */
const visibleIn = (eventId: string, isOwner: boolean) =>
  and(
    eq(auditEntries.votingEventId, eventId),
    isOwner ? undefined : sql`NOT starts_with(${auditEntries.action}, 'webhook_endpoint.')`,
  );

/** Names of the key and account behind a change. The names of a guest from another cell are in `guest_keys`. */
const BY = {
  keyName: sql<string | null>`coalesce(${apiKeys.name}, guest_keys.name)`,
  keyHint: sql<string | null>`coalesce(${apiKeys.hint}, guest_keys.hint)`,
  accountId: sql<string | null>`coalesce(${accounts.id}, guest_keys.account_id)`,
  accountName: sql<string | null>`coalesce(${accounts.name}, guest_keys.account_name)`,
};
const GUEST_KEYS = sql`guest_keys`;

const columnsOf = (entry: typeof auditEntries | ReturnType<typeof newestOf>) => ({
  ...pick(entry, ['id', 'votingEventId', 'keyId', 'action', 'resource', 'before', 'after', 'createdAt']),
  ...BY,
});

const newestOf = (executor: Executor, inWindow: SQL | undefined) =>
  executor
    .select()
    .from(auditEntries)
    .where(inWindow)
    .orderBy(desc(auditEntries.id))
    .limit(MOST_LOOKED_AT)
    .as('newest');

/** Changes of an event after a given change, oldest first. @param after ID of the given change; empty to begin with the first */
export async function listChangesAfter(
  executor: Executor,
  eventId: string,
  isOwner: boolean,
  after: string,
  limit: number,
) {
  return executor
    .select(columnsOf(auditEntries))
    .from(auditEntries)
    .leftJoin(apiKeys, eq(apiKeys.id, auditEntries.keyId))
    .leftJoin(accounts, eq(accounts.id, apiKeys.accountId))
    .leftJoin(GUEST_KEYS, sql`guest_keys.id = ${auditEntries.keyId}`)
    .where(and(visibleIn(eventId, isOwner), gt(auditEntries.id, after)))
    .orderBy(asc(auditEntries.id))
    .limit(limit);
}

export type RecordedChange = Awaited<ReturnType<typeof listChangesAfter>>[number];

/** Changes of an event, newest first. */
export async function listChanges(
  executor: Executor,
  eventId: string,
  isOwner: boolean,
  { search, action, resource, keyId, from, until }: ChangeFilter,
): Promise<Newest<RecordedChange>> {
  const inWindow = and(visibleIn(eventId, isOwner), createdWithin(auditEntries, 'aud', { from, until }));
  const newest = newestOf(executor, inWindow);
  const rows = await executor
    .select(columnsOf(newest))
    .from(newest)
    .leftJoin(apiKeys, eq(apiKeys.id, newest.keyId))
    .leftJoin(accounts, eq(accounts.id, apiKeys.accountId))
    .leftJoin(GUEST_KEYS, sql`guest_keys.id = ${newest.keyId}`)
    .where(
      and(
        action === undefined ? undefined : eq(newest.action, action),
        resource === undefined ? undefined : eq(newest.resource, resource),
        keyId === undefined ? undefined : eq(newest.keyId, keyId),
        holdsText(search, newest.action, newest.resource, BY.keyName),
      ),
    )
    .orderBy(desc(newest.id))
    .limit(MOST_ROWS + 1);
  return cutNewest(rows, await liesBeyond(executor, auditEntries, inWindow));
}
