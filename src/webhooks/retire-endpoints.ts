import type { Transaction } from '#src/database/client.ts';
import { markRetired } from './repository.ts';

/**
 * Takes the endpoints of a voting event that is being deleted out of every list and of the plan's count. They still hear
 * of the deletion and of refunds after it, and are removed after a while.
 */
export async function retireEndpoints(tx: Transaction, votingEventId: string, nowMs: number): Promise<void> {
  await markRetired(tx, votingEventId, nowMs);
}
