import { sql } from 'drizzle-orm';
import { atOneMoment, type Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { isGenuineEvent } from '#src/voting-events/event-tag.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { raiseAlarm } from './check-repository.ts';

/** Some 150 bytes each; what is confirmed beyond them is not remembered until others are sealed. */
const MOST_REMEMBERED = 200_000;
/** Looked for by one statement. */
const TOGETHER = 1_000;

type LookDeps = Pick<Deps, 'db' | 'log' | 'secrets'>;

interface Remembered {
  /** The rehearsal that the ballots are of: its end wipes them. */
  readonly rehearsalSince: number | null;
  /** The tags that ballots have in the box, by their IDs. */
  readonly tags: Map<string, Buffer>;
}

/**
 * The ballots that this process has confirmed and has not seen in the box since. SQL can take a ballot that waits together with the
 * participation of its voter, so that every number agrees; this memory is out of its reach.
 */
export class Acknowledged {
  readonly #events = new Map<string, Remembered>();
  #size = 0;

  note({ id, rehearsalSince }: Pick<VotingEvent, 'id' | 'rehearsalSince'>, ballotId: string, leafTag: Buffer): void {
    if (this.#size >= MOST_REMEMBERED) return;
    let event = this.#events.get(id);
    if (event?.rehearsalSince !== rehearsalSince) {
      this.#forgetAll(id);
      event = { rehearsalSince, tags: new Map() };
      this.#events.set(id, event);
    }
    event.tags.set(ballotId, leafTag);
    this.#size += 1;
  }

  /** Called with the ballots that this process has sealed itself: no query looks for them. @param ballots their IDs in the queue */
  forget(eventId: string, ballots: readonly string[]): void {
    const tags = this.#events.get(eventId)?.tags;
    for (const id of ballots) if (tags?.delete(id) === true) this.#size -= 1;
    if (tags?.size === 0) this.#events.delete(eventId);
  }

  #forgetAll(eventId: string): void {
    this.#size -= this.#events.get(eventId)?.tags.size ?? 0;
    this.#events.delete(eventId);
  }

  /** Raises an alarm for each event that lacks a ballot, and forgets what is sealed. Each process looks for what it has answered itself. */
  async look(deps: LookDeps): Promise<void> {
    for (const eventId of [...this.#events.keys()]) {
      const missing = await this.#countMissing(deps, eventId);
      const reason = `${missing} confirmed ballots are neither in the log nor waiting for it`;
      if (missing > 0) await raiseAlarm(deps, eventId, { alarm: 'ballot_log_changed', reason });
    }
  }

  async #countMissing(deps: LookDeps, eventId: string): Promise<number> {
    const remembered = this.#events.get(eventId);
    const all = [...(remembered?.tags ?? [])];
    let missing = 0;
    for (let from = 0; from < all.length; from += TOGETHER) {
      const some = all.slice(from, from + TOGETHER);
      // The event is read at the moment of its ballots: they go with it, or with its rehearsal.
      const left = await atOneMoment(deps.db, async (tx) => {
        const event = await findEventById(tx, eventId);
        if (event?.rehearsalSince === remembered?.rehearsalSince) return listLeft(tx, eventId, some);
        // Nothing is forgotten by a row that SQL changed for a moment.
        const isOver = event === undefined ? !(await isThere(tx, eventId)) : isGenuineEvent(deps.secrets, event);
        return isOver ? undefined : [];
      });
      // What a rehearsal left behind is not taken for the election that has begun meanwhile.
      if (this.#events.get(eventId) !== remembered) return 0;
      if (left === undefined) {
        this.#forgetAll(eventId);
        return 0;
      }
      missing += left.filter(({ sealed }) => !sealed).length;
      this.forget(
        eventId,
        left.flatMap(({ id, sealed }) => (sealed ? [id] : [])),
      );
    }
    return missing;
  }
}

/** Whether the event's row is there, deleted or not. */
const isThere = async (tx: Transaction, eventId: string): Promise<boolean> =>
  (await tx.execute(sql`SELECT 1 FROM voting_events WHERE id = ${eventId}`)).rowCount === 1;

/** Those of the ballots that wait no longer, and whether the box has them. */
async function listLeft(
  tx: Transaction,
  eventId: string,
  ballots: readonly (readonly [id: string, tag: Buffer])[],
): Promise<{ readonly id: string; readonly sealed: boolean }[]> {
  const ids = ballots.map(([id]) => id);
  const tags = ballots.map(([, tag]) => tag);
  const { rows } = await tx.execute<{ id: string; sealed: boolean }>(sql`
    WITH absent AS MATERIALIZED (
      SELECT b.id, b.tag FROM unnest(${sql.param(ids)}::text[], ${sql.param(tags)}::bytea[]) AS b (id, tag)
      WHERE NOT EXISTS (SELECT 1 FROM ballot_queue q WHERE q.voting_event_id = ${eventId} AND q.id = b.id))
    SELECT a.id, (SELECT s.leaf_index FROM find_sealed(${eventId}, a.tag) AS s) IS NOT NULL AS sealed FROM absent a`);
  return rows;
}
