import { setImmediate } from 'node:timers/promises';
import { type Database, inTransaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { enqueue } from '#src/jobs/queue.ts';
import type { Clock } from '#src/platform/clock.ts';
import { closeTime } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { REMOVE_DEAD_ROWS, REMOVED_AFTER_MS } from './remove-dead-rows.ts';
import { findHead } from './repository.ts';
import {
  forgetVoterKeys,
  listRollsToMix,
  noteRollMixed,
  noteRollScattered,
  ROLL_TABLES,
  rewriteChunk,
} from './roll-repository.ts';

/** Rows rewritten in one transaction after the close: well within the time limit of a statement. */
const CHUNK = 2_000;
/** While people vote the event is locked for a chunk, and their ballots wait that long: some milliseconds. */
const CHUNK_WHILE_OPEN = 250;
/** Larger rolls are rewritten after the close alone: each mixing costs as much as there are voters. */
const MOST_MIXED = 20_000;

export interface RewriteDeps {
  readonly db: Database;
  readonly clock: Clock;
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
 * Rewrites the roll of a finished election, whatever its size, and forgets its voter keys: afterwards no place,
 * transaction ID or time of it shows the order of the votes. It may be interrupted and started again.
 */
export async function rewriteRoll(deps: RewriteDeps, event: VotingEvent): Promise<void> {
  const head = await findHead(deps.db, event.id);
  const closedAt = closeTime(event) ?? 0;
  if (head === undefined || (head.rollScatteredAt !== null && head.rollScatteredAt >= closedAt)) return;
  await writeAnew(deps, event.id, CHUNK);
  await inTransaction(deps.db, async (tx) => {
    await forgetVoterKeys(tx, event.id);
    const nowMs = await readNow(tx);
    await noteRollScattered(tx, event.id, nowMs);
    // Outside of a transaction, and once every row is dead that will be.
    const { name } = REMOVE_DEAD_ROWS;
    await enqueue(tx, REMOVE_DEAD_ROWS, {}, { key: name, runAtMs: nowMs + REMOVED_AFTER_MS });
  });
}
