import { sql } from 'drizzle-orm';
import { atOneMoment, type Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { isGenuineEvent } from '#src/voting-events/event-tag.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { raiseAlarm } from './check-repository.ts';
import { listDropped } from './dropped-ballots.ts';

/** Maximum number of ballots, of about 150 bytes each. At this number, further confirmed ballots are not remembered. */
const MOST_REMEMBERED = 200_000;
/** Ballots per look-up statement. */
const TOGETHER = 1_000;

type LookDeps = Pick<Deps, 'db' | 'log' | 'secrets'>;

interface Remembered {
  /** The rehearsal that the ballots belong to, which wipes them at its end; null in the real vote. */
  readonly rehearsalSince: number | null;
  /** The tag of each ballot in the box, by its ID in the queue. */
  readonly tags: Map<string, Buffer>;
}

/** Ballots that this process confirmed and has not seen in the box. If SQL deletes one and its participation, only this list shows it. */
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

  /** Forgets ballots that are in the box. @param ballots their IDs in the queue */
  forget(eventId: string, ballots: readonly string[]): void {
    const tags = this.#events.get(eventId)?.tags;
    for (const id of ballots) if (tags?.delete(id) === true) this.#size -= 1;
    if (tags?.size === 0) this.#events.delete(eventId);
  }

  #forgetAll(eventId: string): void {
    this.#size -= this.#events.get(eventId)?.tags.size ?? 0;
    this.#events.delete(eventId);
  }

  /** Raises an alarm for each event with a missing ballot, and forgets sealed ballots. Each process checks only its own confirms. */
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
      // Read event and ballots from one snapshot: deleting the event or ending its rehearsal deletes the ballots, too.
      const left = await atOneMoment(deps.db, async (tx) => {
        const event = await findEventById(tx, eventId);
        if (event?.rehearsalSince === remembered?.rehearsalSince) return listLeft(tx, eventId, some);
        // Direct SQL could change the event's row for a moment: forget ballots only if the row is gone, or authentic in another rehearsal.
        const row = sql`SELECT 1 FROM voting_events WHERE id = ${eventId}`;
        const isOver =
          event === undefined ? (await tx.execute(row)).rowCount === 0 : isGenuineEvent(deps.secrets, event);
        return isOver ? undefined : [];
      });
      // `note()` dropped the ballots of this look-up, because a rehearsal began or ended meanwhile.
      if (this.#events.get(eventId) !== remembered) return 0;
      if (left === undefined) {
        this.#forgetAll(eventId);
        return 0;
      }
      const gone = left.flatMap(({ id, sealed }) => (sealed ? [] : [id]));
      const dropped = gone.length === 0 ? [] : await listDropped(deps.db, deps.secrets, eventId, gone);
      missing += gone.length - dropped.length;
      this.forget(eventId, [...dropped, ...left.flatMap(({ id, sealed }) => (sealed ? [id] : []))]);
    }
    return missing;
  }
}

/** The given ballots that are no longer in the queue, and whether each is in the box. */
async function listLeft(tx: Transaction, eventId: string, ballots: readonly (readonly [id: string, tag: Buffer])[]) {
  const ids = ballots.map(([id]) => id);
  const tags = ballots.map(([, tag]) => tag);
  const { rows } = await tx.execute<{ id: string; sealed: boolean }>(sql`
    WITH absent AS MATERIALIZED (
      SELECT b.id, b.tag FROM unnest(${sql.param(ids)}::text[], ${sql.param(tags)}::bytea[]) AS b (id, tag)
      WHERE NOT EXISTS (SELECT 1 FROM ballot_queue q WHERE q.voting_event_id = ${eventId} AND q.id = b.id))
    SELECT a.id, (SELECT s.leaf_index FROM find_sealed(${eventId}, a.tag) AS s) IS NOT NULL AS sealed FROM absent a`);
  return rows;
}
