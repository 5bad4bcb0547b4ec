import { sql } from 'drizzle-orm';
import type { Database } from '#src/database/client.ts';

/** Changes of a roll that are put together, so that their sum stays cheap. */
const MAX_ROLL_CHANGES = 200;

/** Puts the changes of a roll together where they have become many. */
export async function foldRollFigures(db: Database, eventId: string, changes: number): Promise<void> {
  if (changes > MAX_ROLL_CHANGES) await db.execute(sql`SELECT fold_roll_figures(${eventId})`);
}

/** Does the same for every event, a few hundred of them a run: the figures of a large one may not be asked for in days. */
export async function foldAllRollFigures(db: Database): Promise<void> {
  const { rows } = await db.execute<{ id: string }>(sql`
    SELECT voting_event_id AS id FROM roll_figures GROUP BY 1 HAVING count(*) > ${MAX_ROLL_CHANGES} LIMIT 200`);
  for (const { id } of rows) await db.execute(sql`SELECT fold_roll_figures(${id})`);
}
