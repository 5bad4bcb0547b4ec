import { sql } from 'drizzle-orm';
import type { Transaction } from '#src/database/client.ts';

/** Fields of an audit record that identify a voter. */
const PERSONAL = ['name', 'email', 'voterId'];

/**
 * Takes names, addresses and voter IDs of erased voters out of the audit trail of their event. That there was a change, by
 * which key and when, stays.
 */
export async function eraseFromTrail(tx: Transaction, eventId: string, voterIds: readonly string[]): Promise<void> {
  const personal = sql`${sql.param(PERSONAL)}::text[]`;
  await tx.execute(sql`
    UPDATE audit_entries SET before = before - ${personal}, after = after - ${personal}
    WHERE voting_event_id = ${eventId} AND resource = ANY (${sql.param([...voterIds])}::text[])`);
}
