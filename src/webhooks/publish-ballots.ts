import { sql } from 'drizzle-orm';
import { type Database, valuesOf } from '#src/database/client.ts';

/** Minimum time between two `ballot.confirmed` messages of an event (completions 8.1). */
const PAUSE_MS = 5_000;

/** @param events IDs of events @returns IDs of events to try again later, because their last message is younger than `PAUSE_MS` */
const announce = (db: Database, events: readonly string[]): Promise<string[]> =>
  valuesOf(db, sql`SELECT id FROM announce_ballots(${sql.param(events)}::text[], ${PAUSE_MS}) AS a (id)`);

/** Number of events per statement. */
export const EVENTS_AT_ONCE = 500;

/** Queues `ballot.confirmed` for all events whose count grew, because a process may have been killed before it did so. Works in pages. */
export async function publishAllBallots(db: Database): Promise<void> {
  for (let last: string | undefined = ''; last !== undefined; ) {
    const page: string[] = await valuesOf<string>(
      db,
      sql`SELECT e.id FROM voting_events e WHERE e.id > ${last} AND EXISTS (
          SELECT 1 FROM webhook_endpoints w WHERE w.account_id = e.account_id
            AND (w.voting_event_id IS NULL OR w.voting_event_id = e.id) AND 'ballot.confirmed' = ANY (w.event_types))
        ORDER BY e.id LIMIT ${EVENTS_AT_ONCE}`,
    );
    if (page.length > 0) await announce(db, page);
    last = page.length < EVENTS_AT_ONCE ? undefined : page.at(-1);
  }
}

/** Queues `ballot.confirmed` for events whose ballots this process confirmed, at most once in 5 s each. Runs no query if there are none. */
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
    // After a failure, the next run tries these events again.
    const left = await announce(this.#db, events).catch((fault: unknown) => {
      for (const id of events) this.#grown.add(id);
      throw fault;
    });
    for (const id of left) this.#grown.add(id);
  }
}
