import { eq, sql } from 'drizzle-orm';
import type { Transaction } from '#src/database/client.ts';
import { votingEvents } from './tables.ts';

/** The next small number of a position or candidate in its event; stored ballots name them by it, so none is ever used again. */
export async function takeNumber(tx: Transaction, eventId: string, kind: 'position' | 'candidate'): Promise<number> {
  const column = kind === 'position' ? votingEvents.lastPositionNumber : votingEvents.lastCandidateNumber;
  const [row] = await tx
    .update(votingEvents)
    .set(kind === 'position' ? { lastPositionNumber: sql`${column} + 1` } : { lastCandidateNumber: sql`${column} + 1` })
    .where(eq(votingEvents.id, eventId))
    .returning({ number: column });
  if (row === undefined) throw new Error('a locked event is gone');
  return row.number;
}
