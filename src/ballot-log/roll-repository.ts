import { eq, type SQL, sql } from 'drizzle-orm';
import type { Executor, Transaction } from '#src/database/client.ts';
import { FINAL } from './due-repository.ts';
import { ballotLogs } from './tables.ts';

/** Rolls of open elections that changed since they were mixed last, of at most so many voters. */
export async function listRollsToMix(executor: Executor, maxVoters: number): Promise<string[]> {
  const { rows } = await executor.execute<{ id: string }>(sql`
    SELECT e.id FROM voting_events e JOIN ballot_logs l ON l.voting_event_id = e.id
    WHERE e.deleted_at IS NULL AND e.type = 'election' AND e.voter_count <= ${maxVoters} AND NOT (${FINAL}) AND EXISTS (
      SELECT 1 FROM log_checkpoints c WHERE c.voting_event_id = l.voting_event_id AND c.size = l.size
        AND c.created_at >= coalesce(l.roll_mixed_at, 0))
    ORDER BY e.id`);
  return rows.map(({ id }) => id);
}

interface VoterSum {
  readonly heads: number;
  readonly weightMicro: bigint;
}

/** @param source rows with `heads` and `weight_micro` */
async function sumVoters(executor: Executor, source: SQL): Promise<VoterSum> {
  const { rows } = await executor.execute<{ heads: string; weight: string }>(sql`
    SELECT coalesce(sum(s.heads), 0)::text AS heads, coalesce(sum(s.weight_micro), 0)::text AS weight FROM ${source}`);
  return { heads: Number(rows[0]?.heads ?? 0), weightMicro: BigInt(rows[0]?.weight ?? 0) };
}

/** The approved voters of an election, and their weight in millionths. */
export const readElectorate = (executor: Executor, eventId: string): Promise<VoterSum> =>
  sumVoters(executor, sql`electorate_changes AS s WHERE s.voting_event_id = ${eventId}`);

/** Changes of the roll since the opening, made by hand. A kept ballot definition may have earlier ones. */
export async function readRollChanges(
  executor: Executor,
  eventId: string,
): Promise<{ readonly identityChanges: number; readonly rollChanges: number }> {
  const { rows } = await executor.execute<{ identityChanges: number; rollChanges: number }>(sql`
    SELECT identity_changes AS "identityChanges", roll_changes AS "rollChanges" FROM voting_events WHERE id = ${eventId}`);
  return rows[0] ?? { identityChanges: 0, rollChanges: 0 };
}

/** Approved voters whose approval by their first key is kept back: to all readers they are not approved yet. */
export const readWithheldApprovals = (executor: Executor, eventId: string): Promise<VoterSum> =>
  sumVoters(executor, sql`withheld_approvals(${eventId}) AS s`);

/** How many voters of an election took part. */
export async function countParticipants(executor: Executor, eventId: string): Promise<number> {
  const { rows } = await executor.execute<{ count: string }>(
    sql`SELECT count(*)::text AS count FROM participation WHERE voting_event_id = ${eventId}`,
  );
  return Number(rows[0]?.count ?? 0);
}

/** What is rewritten of a roll, in this order. */
export const ROLL_TABLES = ['participation', 'voters', 'voter_keys'] as const;
const SCATTER = {
  participation: sql`scatter_participation`,
  voters: sql`scatter_voters`,
  voter_keys: sql`scatter_voter_keys`,
};

/** Rewrites a chunk of the roll, in the order of its IDs. @returns the last ID, or null when there was none left */
export async function rewriteChunk(
  tx: Transaction,
  what: (typeof ROLL_TABLES)[number],
  eventId: string,
  after: string,
  limit: number,
): Promise<string | null> {
  const { rows } = await tx.execute<{ last: string | null }>(
    sql`SELECT ${SCATTER[what]}(${eventId}, ${after}, ${limit}) AS last`,
  );
  return rows[0]?.last ?? null;
}

export async function forgetVoterKeys(tx: Transaction, eventId: string): Promise<void> {
  await tx.execute(sql`SELECT forget_voter_keys(${eventId})`);
}

export async function noteRollMixed(executor: Executor, eventId: string, nowMs: number): Promise<void> {
  await executor.update(ballotLogs).set({ rollMixedAt: nowMs }).where(eq(ballotLogs.votingEventId, eventId));
}

export async function noteRollScattered(tx: Transaction, eventId: string, nowMs: number): Promise<void> {
  await tx.update(ballotLogs).set({ rollScatteredAt: nowMs }).where(eq(ballotLogs.votingEventId, eventId));
}
