import { type Database, inTransaction } from '#src/database/client.ts';
import type { Clock } from '#src/platform/clock.ts';
import { closeTime } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { findHead, forgetVoterKeys, noteRollScattered, scatterChunk } from './repository.ts';

/** Rows written anew in one transaction: well within the time limit of a statement. */
const CHUNK = 2_000;

/**
 * Writes the roll of a finished election anew, in the order of the voters' IDs, and forgets its voter keys. While people
 * voted, rows were written in the order of their votes, and the log tells in which batch each ballot came: the two together
 * would narrow a ballot down to the voters of its batch. Afterwards no place, transaction ID or time tells that order.
 * Breaking off and beginning anew does no harm.
 */
export async function scatterRoll(
  deps: { readonly db: Database; readonly clock: Clock },
  event: VotingEvent,
): Promise<void> {
  const head = await findHead(deps.db, event.id);
  const closedAt = closeTime(event) ?? 0;
  if (head === undefined || (head.rollScatteredAt !== null && head.rollScatteredAt >= closedAt)) return;
  for (const what of ['participation', 'voters'] as const) {
    let after: string | null = '';
    while (after !== null) {
      const from: string = after;
      after = await inTransaction(deps.db, (tx) => scatterChunk(tx, what, event.id, from, CHUNK));
    }
  }
  await inTransaction(deps.db, async (tx) => {
    await forgetVoterKeys(tx, event.id);
    await noteRollScattered(tx, event.id, deps.clock.now());
  });
}
