import { and, eq } from 'drizzle-orm';
import type { Executor } from '#src/database/client.ts';
import { visitorKey } from '#src/voters/voter-identity.ts';
import { creditBalances } from './tables.ts';

export interface CreditBalance {
  readonly base: number;
  readonly purchased: number;
  readonly held: number;
  readonly spent: number;
}

/** A visitor's balances by position; a position without any change of credits has no entry. */
export async function listBalances(
  executor: Executor,
  votingEventId: string,
  visitorId: string,
): Promise<Map<string, CreditBalance>> {
  const rows = await executor
    .select()
    .from(creditBalances)
    .where(and(eq(creditBalances.votingEventId, votingEventId), eq(creditBalances.visitorId, visitorKey(visitorId))));
  return new Map(rows.map((row) => [row.positionId, row]));
}
