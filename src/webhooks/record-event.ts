import { sql } from 'drizzle-orm';
import { type Change, recordChange } from '#src/accounts/changes.ts';
import type { Transaction } from '#src/database/client.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Ids } from '#src/platform/ids.ts';
import type { EventType } from './event-catalogue.ts';

export interface RecordDeps {
  readonly ids: Ids;
  readonly clock: Clock;
}

/** What happened: the change for the audit trail, and what is published. */
interface DomainEvent {
  readonly change: Change;
  readonly type: EventType;
  /** The same object that the API returns. Never a voter key, a confirmation code or a choice. */
  readonly data: unknown;
}

/** Writes what happened into the audit trail and for every receiver who subscribed, in the caller's transaction. */
export async function recordEvent(tx: Transaction, deps: RecordDeps, event: DomainEvent): Promise<void> {
  await recordChange(tx, deps, event.change);
  await publish(tx, deps, event.change, event.type, [event.data]);
}

/** Whether any endpoint receives a type, asked by the same rule as `record_webhook_events`. */
async function hasSubscriber(tx: Transaction, accountId: string, votingEventId: string | null, type: EventType) {
  const { rows } = await tx.execute<{ found: boolean }>(sql`
    SELECT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.account_id = ${accountId}
      AND (e.voting_event_id IS NULL OR e.voting_event_id = ${votingEventId}) AND ${type} = ANY (e.event_types)) AS found`);
  return rows[0]?.found === true;
}

/** Publishes several facts of one type at once. Where no endpoint subscribed, only a single one is put into words. */
export async function publish(
  tx: Transaction,
  deps: RecordDeps,
  about: { readonly accountId: string; readonly votingEventId: string | null },
  type: EventType,
  facts: readonly unknown[],
): Promise<void> {
  if (facts.length === 0) return;
  const { accountId, votingEventId } = about;
  if (facts.length > 1 && !(await hasSubscriber(tx, accountId, votingEventId, type))) return;
  const messages = sql.param(facts.map(() => deps.ids.sortable('msg')));
  const data = sql.param(facts.map((fact) => JSON.stringify(fact)));
  await tx.execute(sql`
    SELECT record_webhook_events(${accountId}, ${votingEventId}, ${type}, ${messages}::text[], ${data}::text[])`);
}
