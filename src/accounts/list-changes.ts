import { and, asc, desc, eq, gt, type SQL } from 'drizzle-orm';
import type { Executor } from '#src/database/client.ts';
import { createdWithin } from '#src/database/created-within.ts';
import { holdsText } from '#src/database/search.ts';
import { cutNewest, MOST_LOOKED_AT, MOST_ROWS, type Newest, type TimeWindow } from '#src/http/newest.ts';
import { accounts, apiKeys, auditEntries } from './tables.ts';

interface ChangeFilter extends TimeWindow {
  /** In the action, the ID of the resource, or the name of the key. */
  readonly search?: string | undefined;
  readonly action?: string | undefined;
  readonly resource?: string | undefined;
  readonly keyId?: string | undefined;
}

export interface RecordedChange {
  readonly id: string;
  readonly votingEventId: string | null;
  readonly keyId: string | null;
  readonly keyName: string | null;
  readonly keyHint: string | null;
  readonly accountId: string | null;
  readonly accountName: string | null;
  readonly action: string;
  readonly resource: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly createdAt: number;
}

const columnsOf = (entry: typeof auditEntries | ReturnType<typeof newestOf>) => ({
  id: entry.id,
  votingEventId: entry.votingEventId,
  keyId: entry.keyId,
  keyName: apiKeys.name,
  keyHint: apiKeys.hint,
  accountId: accounts.id,
  accountName: accounts.name,
  action: entry.action,
  resource: entry.resource,
  before: entry.before,
  after: entry.after,
  createdAt: entry.createdAt,
});

const newestOf = (executor: Executor, inWindow: SQL | undefined) =>
  executor
    .select()
    .from(auditEntries)
    .where(inWindow)
    .orderBy(desc(auditEntries.id))
    .limit(MOST_LOOKED_AT)
    .as('newest');

/** Changes of an event behind one, oldest first. @param after the ID of that one, or an empty text */
export async function listChangesAfter(
  executor: Executor,
  eventId: string,
  after: string,
  limit: number,
): Promise<RecordedChange[]> {
  return executor
    .select(columnsOf(auditEntries))
    .from(auditEntries)
    .leftJoin(apiKeys, eq(apiKeys.id, auditEntries.keyId))
    .leftJoin(accounts, eq(accounts.id, apiKeys.accountId))
    .where(and(eq(auditEntries.votingEventId, eventId), gt(auditEntries.id, after)))
    .orderBy(asc(auditEntries.id))
    .limit(limit);
}

/** What was changed in an event, newest first. */
export async function listChanges(
  executor: Executor,
  eventId: string,
  { search, action, resource, keyId, from, until }: ChangeFilter,
): Promise<Newest<RecordedChange>> {
  const inWindow = and(eq(auditEntries.votingEventId, eventId), createdWithin(auditEntries, 'aud', { from, until }));
  const newest = newestOf(executor, inWindow);
  const rows = await executor
    .select(columnsOf(newest))
    .from(newest)
    .leftJoin(apiKeys, eq(apiKeys.id, newest.keyId))
    .leftJoin(accounts, eq(accounts.id, apiKeys.accountId))
    .where(
      and(
        action === undefined ? undefined : eq(newest.action, action),
        resource === undefined ? undefined : eq(newest.resource, resource),
        keyId === undefined ? undefined : eq(newest.keyId, keyId),
        holdsText(search, newest.action, newest.resource, apiKeys.name),
      ),
    )
    .orderBy(desc(newest.id))
    .limit(MOST_ROWS + 1);
  const beyond = await executor
    .select({ id: auditEntries.id })
    .from(auditEntries)
    .where(inWindow)
    .orderBy(desc(auditEntries.id))
    .offset(MOST_LOOKED_AT)
    .limit(1);
  return cutNewest(rows, beyond.length > 0);
}
