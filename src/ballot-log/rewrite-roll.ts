import { setImmediate } from 'node:timers/promises';
import { eq, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Executor, inTransaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { vacuumTables } from '#src/database/vacuum.ts';
import type { Deps } from '#src/deps.ts';
import { forgetClaims } from '#src/http/idempotency.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
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

/** Each rewrites a chunk of the roll, in the order of its IDs, and gives the last ID, or null when there was none left. */
const SCATTER = [sql`scatter_participation`, sql`scatter_voters`, sql`scatter_voter_keys`];

/** Rows rewritten in one transaction after the close: well within the time limit of a statement. */
const CHUNK = 2_000;
/** While people vote the event is locked for a chunk, and their ballots wait that long: some milliseconds. */
const CHUNK_WHILE_OPEN = 250;
/** Larger rolls are rewritten after the close alone: each mixing costs as much as there are voters. */
const MOST_MIXED = 20_000;

type RewriteDeps = Pick<Deps, 'db'>;

async function writeAnew({ db }: RewriteDeps, eventId: string, chunk: number): Promise<void> {
  for (const scatter of SCATTER) {
    let after: string | null = '';
    while (after !== null) {
      const statement: SQL = sql`SELECT ${scatter}(${eventId}, ${after}, ${chunk}) AS last`;
      const { rows }: { rows: { last: string | null }[] } = await inTransaction(db, (tx) => tx.execute(statement));
      after = rows[0]?.last ?? null;
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
    await deps.db.update(ballotLogs).set({ rollMixedAt: nowMs }).where(eq(ballotLogs.votingEventId, eventId));
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
    await tx.execute(sql`SELECT forget_voter_keys(${event.id})`);
    const nowMs = await readNow(tx);
    await tx.update(ballotLogs).set({ rollScatteredAt: nowMs }).where(eq(ballotLogs.votingEventId, event.id));
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

export const removeDeadRowsJob = (deps: Pick<Deps, 'db' | 'log'>): Job<z.output<typeof payload>> =>
  defineJob({ ...REMOVE_DEAD_ROWS, work: () => vacuumTables(deps.db, deps.log, JOINING_TABLES) });
