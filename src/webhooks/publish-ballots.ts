import { type SQL, sql } from 'drizzle-orm';
import { type Database, valuesOf } from '#src/database/client.ts';

/** Between two messages of an event about its ballots (completions 8.1). */
const PAUSE_MS = 5_000;

/** @param events those to look at, as an array in SQL @returns those whose last message is too young */
async function announce(db: Database, events: SQL): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(
    sql`SELECT id FROM announce_ballots(${events}, ${PAUSE_MS}) AS a (id)`,
  );
  return rows.map(({ id }) => id);
}

/** Events that one statement looks at. */
export const EVENTS_AT_ONCE = 500;

/**
 * Writes `ballot.confirmed` for every event whose count grew: what a process left that was killed before it did. Page by page, so
 * that no number of events makes a statement too long.
 */
export async function publishAllBallots(db: Database): Promise<void> {
  for (let last: string | undefined = ''; last !== undefined; ) {
    const page: string[] = await valuesOf<string>(
      db,
      sql`SELECT e.id FROM voting_events e WHERE e.id > ${last} AND EXISTS (
          SELECT 1 FROM webhook_endpoints w WHERE w.account_id = e.account_id
            AND (w.voting_event_id IS NULL OR w.voting_event_id = e.id) AND 'ballot.confirmed' = ANY (w.event_types))
        ORDER BY e.id LIMIT ${EVENTS_AT_ONCE}`,
    );
    if (page.length > 0) await announce(db, sql`${sql.param(page)}::text[]`);
    last = page.length < EVENTS_AT_ONCE ? undefined : page.at(-1);
  }
}

/** Writes `ballot.confirmed` for the events that this process has confirmed ballots of, at most once in 5 s an event. Asks nothing while it confirms none. */
export class BallotPublisher {
  readonly #db: Database;
  #grown = new Set<string>();

  constructor(db: Database) {
    this.#db = db;
  }

  grew(eventId: string): void {
    this.#grown.add(eventId);
  }

  async publish(): Promise<void> {
    if (this.#grown.size === 0) return;
    const events = [...this.#grown];
    this.#grown = new Set();
    // What was asked for in vain is asked for again.
    const left = await announce(this.#db, sql`${sql.param(events)}::text[]`).catch((fault: unknown) => {
      for (const id of events) this.#grown.add(id);
      throw fault;
    });
    for (const id of left) this.#grown.add(id);
  }
}
