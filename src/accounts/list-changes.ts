import { and, desc, eq, gte, ilike, lte, or } from 'drizzle-orm';
import type { Executor } from '#src/database/client.ts';
import { containsPattern } from '#src/platform/text.ts';
import { accounts, apiKeys, auditEntries } from './tables.ts';

/** More than this is read in several calls, by `since` and `until`. */
export const MOST_CHANGES = 5_000;

export interface ChangeFilter {
  /** In the action, the ID of the resource, or the name of the key. */
  readonly search?: string | undefined;
  readonly action?: string | undefined;
  readonly resource?: string | undefined;
  readonly keyId?: string | undefined;
  /** Unix ms, both included. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
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

/** What was changed in an event, newest last: the newest 5,000 of what the filter finds. */
export async function listChanges(
  executor: Executor,
  eventId: string,
  { search, action, resource, keyId, since, until }: ChangeFilter,
): Promise<RecordedChange[]> {
  const pattern = search === undefined ? undefined : containsPattern(search);
  const newestFirst = await executor
    .select({
      id: auditEntries.id,
      votingEventId: auditEntries.votingEventId,
      keyId: auditEntries.keyId,
      keyName: apiKeys.name,
      keyHint: apiKeys.hint,
      accountId: accounts.id,
      accountName: accounts.name,
      action: auditEntries.action,
      resource: auditEntries.resource,
      before: auditEntries.before,
      after: auditEntries.after,
      createdAt: auditEntries.createdAt,
    })
    .from(auditEntries)
    .leftJoin(apiKeys, eq(apiKeys.id, auditEntries.keyId))
    .leftJoin(accounts, eq(accounts.id, apiKeys.accountId))
    .where(
      and(
        eq(auditEntries.votingEventId, eventId),
        action === undefined ? undefined : eq(auditEntries.action, action),
        resource === undefined ? undefined : eq(auditEntries.resource, resource),
        keyId === undefined ? undefined : eq(auditEntries.keyId, keyId),
        since === undefined ? undefined : gte(auditEntries.createdAt, since),
        until === undefined ? undefined : lte(auditEntries.createdAt, until),
        pattern === undefined
          ? undefined
          : or(
              ilike(auditEntries.action, pattern),
              ilike(auditEntries.resource, pattern),
              ilike(apiKeys.name, pattern),
            ),
      ),
    )
    .orderBy(desc(auditEntries.id))
    .limit(MOST_CHANGES);
  return newestFirst.reverse();
}
