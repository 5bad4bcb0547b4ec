import { setImmediate } from 'node:timers/promises';
import { eq, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Executor, inTransaction, valuesOf } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { deleteInChunks } from '#src/database/in-chunks.ts';
import { vacuumTables } from '#src/database/vacuum.ts';
import type { Deps } from '#src/deps.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { summariseFault } from '#src/platform/log.ts';
import { closeTime, isFinalAt } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { FINAL } from './due-repository.ts';
import { findHead } from './repository.ts';
import { ballotLogs } from './tables.ts';

/** Open elections of at most `maxVoters` voters whose log got a checkpoint since their roll was mixed last. */
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

/** SQL functions that rewrite a chunk of rows in ID order and return its last ID, or null if none was left. */
const SCATTER = [sql`scatter_participation`, sql`scatter_voters`, sql`scatter_voter_keys`];

/** Rows per transaction after the close: well within the statement timeout. */
const CHUNK = 2_000;
/** Rows per transaction while the event is open: chunks of voters and keys lock the event, so that ballots wait some milliseconds. */
const CHUNK_WHILE_OPEN = 250;
/** Larger rolls are rewritten only after the close, because the cost grows with the number of voters. */
const MOST_MIXED = 20_000;

/** Tables whose rows would show who voted when. Deleted in chunks: one statement for a large roll would exceed the statement timeout. */
const FORGOTTEN = [
  'idempotency_keys',
  ...['voter_keys', 'voter_key_requests', 'voter_key_failures', 'notified_voters', 'notification_mails'],
];

type RewriteDeps = Pick<Deps, 'db'>;

async function writeAnew({ db }: RewriteDeps, eventId: string, chunk: number): Promise<void> {
  for (const scatter of SCATTER) {
    let after: string | null | undefined = '';
    while (after != null) {
      const statement: SQL = sql`SELECT ${scatter}(${eventId}, ${after}, ${chunk})`;
      [after] = await inTransaction(db, (tx) => valuesOf<string | null>(tx, statement));
      await setImmediate();
    }
  }
}

/**
 * Rewrites the rolls of open elections in the order of the voters' IDs, if their log has grown since the last time. Without this,
 * the order of rows would show the order of votes, and with the batches in the log narrow a ballot down to the voters of its batch.
 * Only the order of voters who voted since the last rewrite stays visible.
 */
export async function mixRolls(deps: RewriteDeps & Pick<Deps, 'log'>): Promise<void> {
  let failed = 0;
  for (const eventId of await listRollsToMix(deps.db, MOST_MIXED)) {
    try {
      await mixRoll(deps, eventId);
    } catch (fault) {
      // Often a busy event did not free its lock in time. The other rolls are mixed nevertheless.
      failed += 1;
      deps.log.warn({ event: eventId, fault: summariseFault(fault) }, 'a roll could not be mixed');
    }
  }
  if (failed > 0) throw new Error(`${failed} rolls could not be mixed`);
}

async function mixRoll(deps: RewriteDeps, eventId: string): Promise<void> {
  // Store the time before the rewrite, so that voters who vote during the rewrite are mixed the next time.
  const nowMs = await readNow(deps.db);
  await writeAnew(deps, eventId, CHUNK_WHILE_OPEN);
  await deps.db.update(ballotLogs).set({ rollMixedAt: nowMs }).where(eq(ballotLogs.votingEventId, eventId));
}

/**
 * Rewrites a finished election's roll and deletes the rows of `FORGOTTEN`, so that no row shows the order of the votes. Repeatable. Skips a
 * rehearsal, whose end wipes its participations, and an election that opened since its rehearsal was sealed, because it still takes votes.
 */
export async function rewriteRoll(deps: RewriteDeps, event: VotingEvent): Promise<void> {
  const nowMs = await readNow(deps.db);
  if (event.rehearsalSince !== null || !isFinalAt(event, nowMs)) return;
  const head = await findHead(deps.db, event.id);
  const closedAt = closeTime(event) ?? 0;
  const at = head?.rollScatteredAt ?? null;
  // Ignore a time in the future: direct SQL wrote it.
  if (head === undefined || (at !== null && at >= closedAt && at <= nowMs)) return;
  await writeAnew(deps, event.id, CHUNK);
  for (const name of FORGOTTEN)
    while (await deleteInChunks(deps.db, name, sql`voting_event_id = ${event.id}`)) await setImmediate();
  await inTransaction(deps.db, async (tx) => {
    // Deletes the keys that the chunks skipped because other transactions held them, in the commit that marks the roll as rewritten.
    await tx.execute(sql`SELECT forget_voter_keys(${event.id})`);
    const nowMs = await readNow(tx);
    await tx.update(ballotLogs).set({ rollScatteredAt: nowMs }).where(eq(ballotLogs.votingEventId, event.id));
    await enqueueRemovalOfDeadRows(tx);
  });
}

const payload = z.strictObject({});
/** Enqueued when the roll of a finished election was rewritten, or an account has left the database. */
const REMOVE_DEAD_ROWS = { name: 'remove_dead_rows', maxAttempts: 10, group: 'deletions', payload } as const;

/** Delay of the vacuum, so that several elections that end together share one run. */
const REMOVED_AFTER_MS = 5_000;

/** Queues a job, because VACUUM must run outside of a transaction, after the commit of `executor`. Without an account it stays in its cell. */
export async function enqueueRemovalOfDeadRows(executor: Executor): Promise<void> {
  const { name } = REMOVE_DEAD_ROWS;
  const runAtMs = (await readNow(executor)) + REMOVED_AFTER_MS;
  await enqueue(executor, REMOVE_DEAD_ROWS, {}, { key: name, runAtMs, account: '' });
}

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
