import { eq, type SQL, sql } from 'drizzle-orm';
import { type Executor, inTransaction } from '#src/database/client.ts';
import { createIds } from '#src/platform/ids.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { changeInPages } from '#src/voters/change-in-pages.ts';
import { TAGGED_VOTER, type TaggedArray, taggedVoter, tagOfVoter } from '#src/voters/voter-tag.ts';
import { isGenuineEvent, tagOfEvent, tagOfInvite } from '#src/voting-events/event-tag.ts';
import { listInviteRows } from '#src/voting-events/invite.ts';
import { lockEvent } from '#src/voting-events/repository.ts';
import { eventInvites, votingEvents } from '#src/voting-events/tables.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { TestService } from './test-service.ts';

// What a test sets by SQL, as if the service had written it: with its tag.

/** Gives voters another status. @param which a condition on `v` */
export async function standAs(
  { deps: { db, secrets } }: TestService,
  eventId: string,
  status: 'pending' | 'approved' | 'rejected',
  which: SQL = sql`true`,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const event = await lockEvent(tx, eventId);
    if (event === undefined) throw new Error('the event is there');
    await changeInPages(tx, secrets, event, which, { status });
  });
}

/** Sets columns of an event, whatever they are. */
export const setEvent = async ({ deps: { db, secrets } }: TestService, eventId: string, set: SQL): Promise<void> =>
  void (await setEventIn(db, secrets, eventId, set));

/** The same in a transaction. */
export async function setEventIn(db: Executor, secrets: Secrets, eventId: string, set: SQL): Promise<VotingEvent> {
  const read = async (): Promise<VotingEvent> => {
    const [row] = await db.select().from(votingEvents).where(eq(votingEvents.id, eventId));
    if (row === undefined) throw new Error('the event is there');
    return row;
  };
  const wasGenuine = isGenuineEvent(secrets, await read());
  await db.execute(sql`UPDATE voting_events SET ${set} WHERE id = ${eventId}`);
  const row = await read();
  // What SQL wrote before never becomes the service's own word.
  if (!wasGenuine) return row;
  const tag = tagOfEvent(secrets, row);
  await db.update(votingEvents).set({ tag }).where(eq(votingEvents.id, eventId));
  return { ...row, tag };
}

/** Lets an invite expire. */
export async function expireInvite({ deps: { db, secrets } }: TestService, eventId: string, id: string): Promise<void> {
  const [event] = await db.select().from(votingEvents).where(eq(votingEvents.id, eventId));
  const invite = (await listInviteRows(db, eventId)).find((row) => row.id === id);
  if (event === undefined || invite === undefined) throw new Error('the invite is there');
  const tag = tagOfInvite(secrets, { ...invite, expiresAt: 1 }, event);
  await db.update(eventInvites).set({ expiresAt: 1, tag }).where(eq(eventInvites.id, id));
}

/** Registrations that wait for their link, as if they had come so much earlier: their IDs say when they did. */
export async function ageRegistrations(
  { deps: { db, secrets } }: TestService,
  eventId: string,
  byMs: number,
): Promise<void> {
  const ids = createIds({ now: () => Date.now() - byMs });
  const { rows } = await db.execute<{ tagged: TaggedArray }>(sql`
    SELECT ${sql.raw(TAGGED_VOTER)} AS tagged FROM voters v WHERE voting_event_id = ${eventId} AND confirm_by > 0 ORDER BY id`);
  for (const { tagged } of rows) {
    const voter = taggedVoter(eventId, tagged);
    const id = ids.sortable('vtr');
    await db.execute(sql`UPDATE voters SET id = ${id}, tag = ${tagOfVoter(secrets, { ...voter, id })}, confirm_by = confirm_by - ${byMs}
      WHERE voting_event_id = ${eventId} AND id = ${voter.id}`);
  }
}
