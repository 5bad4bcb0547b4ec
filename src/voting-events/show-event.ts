import { sql } from 'drizzle-orm';
import { type Executor, valuesOf } from '#src/database/client.ts';
import { type VotingEvent, type VotingEventView, viewEvent } from './voting-event.ts';

type Counts = ReadonlyMap<string, { readonly waiting: boolean; readonly ballots: number }>;

/** For each event, from other tables: whether a voter who has voted is not disclosed yet, and the number of rehearsal ballots. */
export async function countInEvents(executor: Executor, events: readonly VotingEvent[]): Promise<Counts> {
  // Without OFFSET 0, the planner may read the voters of all events into a hash table.
  const { rows } = await executor.execute<{ id: string; waiting: boolean }>(sql`
    SELECT e.id, EXISTS (SELECT 1 FROM undisclosed_voters u WHERE u.voting_event_id = e.id OFFSET 0) AND keeps_back(e.id) AS waiting
    FROM unnest(${sql.param(events.map(({ id }) => id))}::text[]) AS e (id)`);
  const counts = new Map(rows.map(({ id, waiting }) => [id, { waiting, ballots: 0 }]));
  for (const { id, rehearsalSince } of events) {
    if (rehearsalSince === null) continue;
    // Use one query for each event, with its ID as a parameter: a join would make the planner scan the ballots of all events.
    const statement = sql`
      SELECT (SELECT count(*)::int FROM ballot_queue WHERE voting_event_id = ${id})
        + (SELECT coalesce(sum(ballots), 0)::int FROM ballot_blocks WHERE voting_event_id = ${id})`;
    const [ballots = 0] = await valuesOf<number>(executor, statement);
    counts.set(id, { waiting: counts.get(id)?.waiting === true, ballots });
  }
  return counts;
}

/** The event as organizers see it, with figures from other tables (completions 3). */
export async function showEvent(executor: Executor, event: VotingEvent, nowMs: number): Promise<VotingEventView> {
  return viewEvent(event, nowMs, (await countInEvents(executor, [event])).get(event.id));
}

/** Most UTF-8 bytes of an event in a message. With its own fields, a message has at most 64 KiB. */
const MAX_TOLD_BYTES = 65_024;

/**
 * The event in a message: as in an answer. If that is too long, `missing` loses its titles, because it also names positions by ID; and then
 * its last parts.
 */
export async function tellEvent(executor: Executor, event: VotingEvent, nowMs: number): Promise<VotingEventView> {
  const shown = await showEvent(executor, event, nowMs);
  const isTooLong = (view: VotingEventView): boolean => Buffer.byteLength(JSON.stringify(view)) > MAX_TOLD_BYTES;
  if (shown.missing === null || !isTooLong(shown)) return shown;
  const missing = shown.missing.map((part) => ({ ...part, title: null }));
  const shorter = { ...shown, missing };
  while (missing.length > 0 && isTooLong(shorter)) missing.pop();
  return shorter;
}
