import { and, eq, sql } from 'drizzle-orm';
import type { Executor, Transaction } from '#src/database/client.ts';
import { visitorKey } from '#src/voters/voter-identity.ts';
import { creditBalances } from './tables.ts';

export interface CreditAccount {
  readonly votingEventId: string;
  readonly positionId: string;
  readonly visitorId: string;
}

export interface CreditBalance {
  readonly base: number;
  readonly purchased: number;
  readonly held: number;
  readonly spent: number;
}

/** The balances of a visitor, by position; positions on which nothing happened yet have none. */
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

/** Adds credits that a payment bought. */
export async function addCredits(
  tx: Transaction,
  { votingEventId, positionId, visitorId }: CreditAccount,
  bought: { readonly base: number; readonly credits: number; readonly attemptId: string },
): Promise<void> {
  const { base, credits, attemptId } = bought;
  await tx.execute(
    sql`SELECT add_credits(${votingEventId}, ${positionId}, ${visitorKey(visitorId)}, ${base}, ${credits}, ${attemptId})`,
  );
}

/** Takes bought credits back, as far as they are not spent; answers how many are. */
export async function takeBackCredits(
  tx: Transaction,
  { votingEventId, positionId, visitorId }: CreditAccount,
  credits: number,
  attemptId: string,
): Promise<number> {
  const { rows } = await tx.execute<{ spent: number }>(
    sql`SELECT take_back_credits(${votingEventId}, ${positionId}, ${visitorKey(visitorId)}, ${credits}, ${attemptId}) AS spent`,
  );
  return rows[0]?.spent ?? 0;
}

/** The code tags of confirmed ballots that spent credits of a position, the newest first. */
export async function listSpendingBallots(
  executor: Executor,
  { votingEventId, positionId, visitorId }: CreditAccount,
): Promise<{ codeTag: Buffer; credits: number }[]> {
  const { rows } = await executor.execute<{ reason: string; credits: number }>(sql`
    SELECT reason, credits FROM credit_entries WHERE voting_event_id = ${votingEventId} AND position_id = ${positionId}
      AND visitor_id = ${visitorKey(visitorId)} AND kind = 'spend' ORDER BY created_at DESC, reason`);
  return rows.map(({ reason, credits }) => ({ codeTag: Buffer.from(reason, 'hex'), credits }));
}
