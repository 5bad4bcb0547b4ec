import { sql } from 'drizzle-orm';
import { type Change, recordChange } from '#src/accounts/record-change.ts';
import type { Transaction } from '#src/database/client.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Ids } from '#src/platform/ids.ts';
import type { EventType } from './event-catalogue.ts';

export interface RecordDeps {
  readonly ids: Ids;
  readonly clock: Clock;
}

/** What happened: the change for the audit trail, and what receivers are told. */
export interface DomainEvent {
  readonly change: Change;
  readonly type: EventType;
  /** The same object that the API returns. Never a voter key, a confirmation code or a choice. */
  readonly data: unknown;
}

/** Writes what happened into the audit trail and for every receiver who subscribed, in the caller's transaction. */
export async function recordEvent(tx: Transaction, deps: RecordDeps, event: DomainEvent): Promise<void> {
  await recordChange(tx, deps, event.change);
  await announce(tx, deps, event.change, event.type, [event.data]);
}

/** Tells receivers of several facts of one type at once; nothing but one look-up when nobody subscribed. */
export async function announce(
  tx: Transaction,
  deps: RecordDeps,
  about: { readonly accountId: string; readonly votingEventId: string | null },
  type: EventType,
  facts: readonly unknown[],
): Promise<void> {
  const { accountId, votingEventId } = about;
  const { rows } = await tx.execute(sql`
    SELECT 1 FROM webhook_endpoints WHERE account_id = ${accountId}
      AND (voting_event_id IS NULL OR voting_event_id = ${votingEventId}) AND ${type} = ANY (event_types) LIMIT 1`);
  if (rows.length === 0) return;
  for (const data of facts) {
    const messageId = deps.ids.sortable('msg');
    await tx.execute(sql`
      SELECT record_webhook_event(${accountId}, ${votingEventId}, ${type}, ${messageId}, ${JSON.stringify(data)})`);
  }
}
