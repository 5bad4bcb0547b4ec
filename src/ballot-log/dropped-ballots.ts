import { sql } from 'drizzle-orm';
import type { Executor, Transaction } from '#src/database/client.ts';
import { type DecidingRow, isTagged, tagOfRow } from '#src/platform/row-tag.ts';
import type { Secrets } from '#src/platform/secrets.ts';

const rowOf = (eventId: string, id: string): DecidingRow => ['dropped_ballots', eventId, id];

/** Records which queue rows an operator drops. One may be a confirmed ballot whose row direct SQL has changed. */
export async function noteDropped(tx: Transaction, secrets: Secrets, eventId: string, ids: readonly string[]) {
  const tags = ids.map((id) => tagOfRow(secrets, rowOf(eventId, id)));
  await tx.execute(sql`
    INSERT INTO dropped_ballots (voting_event_id, id, tag)
    SELECT ${eventId}, d.id, d.tag FROM unnest(${sql.param(ids)}::text[], ${sql.param(tags)}::bytea[]) AS d (id, tag)
    ON CONFLICT DO NOTHING`);
}

/** The given ballots that an operator dropped, according to records that the service wrote. */
export async function listDropped(
  executor: Executor,
  secrets: Secrets,
  eventId: string,
  ids: readonly string[],
): Promise<string[]> {
  const { rows } = await executor.execute<{ id: string; tag: Buffer }>(sql`
    SELECT d.id, d.tag FROM dropped_ballots d
    WHERE d.voting_event_id = ${eventId} AND d.id IN (SELECT i.id FROM unnest(${sql.param(ids)}::text[]) AS i (id))`);
  return rows.flatMap(({ id, tag }) => (isTagged(secrets, tag, rowOf(eventId, id)) ? [id] : []));
}
