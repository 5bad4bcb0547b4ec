import { sql } from 'drizzle-orm';
import type { Transaction } from '#src/database/client.ts';

export { findCheckpointAt } from './repository.ts';

export interface QueuedCheckpoint {
  readonly eventId: string;
  readonly size: number;
  /** 32 bytes. */
  readonly rootHash: Buffer;
}

/**
 * Takes up to `limit` checkpoints that have no leaf in the service's own log yet, smaller ones of an event first. What other
 * processes write meanwhile is left for the next time.
 */
export async function takeQueuedCheckpoints(tx: Transaction, limit: number): Promise<QueuedCheckpoint[]> {
  const { rows } = await tx.execute<{ event: string; size: string; root: Buffer }>(sql`
    WITH taken AS (
      DELETE FROM checkpoint_queue q USING (
        SELECT voting_event_id, size FROM checkpoint_queue ORDER BY voting_event_id, size LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ) AS next WHERE q.voting_event_id = next.voting_event_id AND q.size = next.size
      RETURNING q.voting_event_id, q.size)
    SELECT t.voting_event_id AS event, t.size, c.root_hash AS root FROM taken t
    JOIN log_checkpoints c ON c.voting_event_id = t.voting_event_id AND c.size = t.size ORDER BY t.voting_event_id, t.size`);
  return rows.map(({ event, size, root }) => ({ eventId: event, size: Number(size), rootHash: root }));
}
