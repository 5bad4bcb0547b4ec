import { setImmediate } from 'node:timers/promises';
import { eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Database, type Executor, inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { vacuumTables } from '#src/database/vacuum.ts';
import { forgetClaims } from '#src/http/idempotency.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import type { Log } from '#src/platform/log.ts';
import { closeTime } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { FINAL } from './due-repository.ts';
import { findHead } from './repository.ts';
import { ballotLogs } from './tables.ts';

/** Rolls of open elections that changed since they were mixed last, of at most so many voters. */
async function listRollsToMix(executor: Executor, maxVoters: number): Promise<string[]> {
  const { rows } = await executor.execute<{ id: string }>(sql`
    WITH grown AS MATERIALIZED (
      SELECT e.id FROM voting_events e JOIN ballot_logs l ON l.voting_event_id = e.id
      WHERE e.deleted_at IS NULL AND e.type = 'election' AND NOT (${FINAL}) AND EXISTS (
        SELECT 1 FROM log_checkpoints c WHERE c.voting_event_id = l.voting_event_id AND c.size = l.size
          AND (c.created_at >= coalesce(l.roll_mixed_at, 0) OR l.roll_mixed_at > now_ms()))
    )
    SELECT g.id FROM grown g CROSS JOIN LATERAL voter_places(g.id) AS p WHERE p.total <= ${maxVoters} ORDER BY g.id`);
  return rows.map(({ id }) => id);
}

/** What is rewritten of a roll, in this order. */
const ROLL_TABLES = ['participation', 'voters', 'voter_keys'] as const;

const SCATTER = {
  participation: sql`scatter_participation`,
  voters: sql`scatter_voters`,
  voter_keys: sql`scatter_voter_keys`,
};

/** Rewrites a chunk of the roll, in the order of its IDs. @returns the last ID, or null when there was none left */
async function rewriteChunk(
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

async function forgetVoterKeys(tx: Transaction, eventId: string): Promise<void> {
  await tx.execute(sql`SELECT forget_voter_keys(${eventId})`);
}

async function noteRollMixed(executor: Executor, eventId: string, nowMs: number): Promise<void> {
  await executor.update(ballotLogs).set({ rollMixedAt: nowMs }).where(eq(ballotLogs.votingEventId, eventId));
}

async function noteRollScattered(tx: Transaction, eventId: string, nowMs: number): Promise<void> {
  await tx.update(ballotLogs).set({ rollScatteredAt: nowMs }).where(eq(ballotLogs.votingEventId, eventId));
}

/** Rows rewritten in one transaction after the close: well within the time limit of a statement. */
const CHUNK = 2_000;
/** While people vote the event is locked for a chunk, and their ballots wait that long: some milliseconds. */
const CHUNK_WHILE_OPEN = 250;
/** Larger rolls are rewritten after the close alone: each mixing costs as much as there are voters. */
const MOST_MIXED = 20_000;

interface RewriteDeps {
  readonly db: Database;
}

async function writeAnew({ db }: RewriteDeps, eventId: string, chunk: number): Promise<void> {
  for (const what of ROLL_TABLES) {
    let after: string | null = '';
    while (after !== null) {
      const from: string = after;
      after = await inTransaction(db, (tx) => rewriteChunk(tx, what, eventId, from, chunk));
      await setImmediate();
    }
  }
}

/**
 * Rewrites the rolls of open elections when ballots were sealed since the last time, in the order of the voters' IDs.
 * Rows are written in the order of the votes, and the log shows in which batch each ballot came: the two together narrow a
 * ballot down to the voters of its batch. After a mixing, nothing of that order is left but for who came since.
 */
export async function mixRolls(deps: RewriteDeps): Promise<void> {
  for (const eventId of await listRollsToMix(deps.db, MOST_MIXED)) {
    // Noted with the time before it began: a voter who comes meanwhile is mixed the next time.
    const nowMs = await readNow(deps.db);
    await writeAnew(deps, eventId, CHUNK_WHILE_OPEN);
    await noteRollMixed(deps.db, eventId, nowMs);
  }
}

/**
 * Rewrites the roll of a finished election, whatever its size, and forgets its voter keys and the claims of its requests: afterwards
 * no place, transaction ID or time of it shows the order of the votes. It may be interrupted and started again.
 */
export async function rewriteRoll(deps: RewriteDeps, event: VotingEvent): Promise<void> {
  const head = await findHead(deps.db, event.id);
  const closedAt = closeTime(event) ?? 0;
  const at = head?.rollScatteredAt ?? null;
  // A time that has not come yet was written by SQL.
  if (head === undefined || (at !== null && at >= closedAt && at <= (await readNow(deps.db)))) return;
  await writeAnew(deps, event.id, CHUNK);
  await forgetClaims(deps.db, event.id);
  await inTransaction(deps.db, async (tx) => {
    await forgetVoterKeys(tx, event.id);
    const nowMs = await readNow(tx);
    await noteRollScattered(tx, event.id, nowMs);
    // Outside of a transaction, and once every row is dead that will be.
    const { name } = REMOVE_DEAD_ROWS;
    await enqueue(tx, REMOVE_DEAD_ROWS, {}, { key: name, runAtMs: nowMs + REMOVED_AFTER_MS });
  });
}

const payload = z.strictObject({});
/** Enqueued when the roll of a finished election was rewritten. */
const REMOVE_DEAD_ROWS = { name: 'remove_dead_rows', maxAttempts: 10, group: 'deletions', payload } as const;

/** Several elections that end together are one vacuum. */
const REMOVED_AFTER_MS = 5_000;

/** Tables whose dead rows join voters with ballots, or show the order in which people voted. */
export const JOINING_TABLES = [
  'pending_ballots',
  'waiting_participants',
  'ballot_queue',
  'participation',
  'undisclosed_voters',
  'idempotency_keys',
  'voters',
  'voter_keys',
] as const;

export function removeDeadRowsJob(deps: { readonly db: Database; readonly log: Log }): Job<z.output<typeof payload>> {
  return defineJob({ ...REMOVE_DEAD_ROWS, work: () => vacuumTables(deps.db, deps.log, JOINING_TABLES) });
}
