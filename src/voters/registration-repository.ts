import { type SQL, sql } from 'drizzle-orm';
import type { Executor, Transaction } from '#src/database/client.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { LockedEvent } from '#src/voting-events/repository.ts';
import { updateVoters } from './repository.ts';
import { noteChanges } from './roll-sum.ts';
import { type TaggedArray, taggedVoter } from './voter-tag.ts';

/** How long the link mailed at registration may stay unused. */
const CONFIRM_WITHIN_MS = 7 * DAY_MS;
/** Registrations that one run ends: the rest is for the next. */
const EXPIRED_TOGETHER = 1_000;

const waiting = (eventId: string): SQL =>
  sql`voting_event_id = ${eventId} AND source = 'registration' AND status = 'pending' AND confirm_by IS DISTINCT FROM 0 AND deleted_at IS NULL`;

export async function startConfirmation(tx: Transaction, eventId: string, voterId: string): Promise<void> {
  await tx.execute(
    sql`UPDATE voters SET confirm_by = now_ms() + ${CONFIRM_WITHIN_MS} WHERE ${waiting(eventId)} AND id = ${voterId}`,
  );
}

/** After a mail that did not go out, what was not asked for is not waited for; nor is anything where a voter key is under way. */
export async function stopConfirmation(tx: Transaction, eventId: string, voterId: string): Promise<void> {
  await tx.execute(sql`UPDATE voters SET confirm_by = NULL WHERE ${waiting(eventId)} AND id = ${voterId}`);
}

/** Call with the event locked. False where no voter has this address any more. */
export async function markAddressConfirmed(
  tx: Transaction,
  eventId: string,
  voterId: string,
  address: string,
): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    UPDATE voters SET confirm_by = 0
    WHERE voting_event_id = ${eventId} AND id = ${voterId} AND email_key = ${address} AND deleted_at IS NULL`);
  return rowCount === 1;
}

export async function listEventsWithExpired(executor: Executor): Promise<string[]> {
  const { rows } = await executor.execute<{ id: string }>(sql`
    SELECT DISTINCT voting_event_id AS id FROM (
      SELECT voting_event_id FROM voters WHERE confirm_by > 0 AND confirm_by < now_ms() AND status = 'pending' AND deleted_at IS NULL
      ORDER BY confirm_by, voting_event_id LIMIT 10000) AS v`);
  return rows.map(({ id }) => id);
}

async function takeWaiting(tx: Transaction, secrets: Secrets, event: LockedEvent, which: SQL): Promise<string[]> {
  const { rows } = await tx.execute<{ tagged: TaggedArray }>(
    sql`SELECT tagged_voter(v) AS tagged FROM voters v WHERE ${which}`,
  );
  const changes = rows.map(({ tagged }) => ({
    before: { ...taggedVoter(event.id, tagged), source: 'registration' } as const,
  }));
  await noteChanges(tx, secrets, event, changes);
  const ids = changes.map(({ before }) => before.id);
  await updateVoters(tx, event.id, ids, { deletedAt: event.lockedAt, emailKey: null, voterIdKey: null });
  return ids;
}

/** Marks registrations as deleted whose time is over. Call with the event locked. */
export function takeExpired(tx: Transaction, secrets: Secrets, event: LockedEvent): Promise<string[]> {
  const due = sql`SELECT id FROM voters WHERE ${waiting(event.id)} AND confirm_by < ${event.lockedAt} ORDER BY id LIMIT ${EXPIRED_TOGETHER}`;
  return takeWaiting(tx, secrets, event, sql`${waiting(event.id)} AND id IN (${due})`);
}

export function takeRefused(tx: Transaction, secrets: Secrets, event: LockedEvent, voterId: string): Promise<string[]> {
  return takeWaiting(tx, secrets, event, sql`${waiting(event.id)} AND id = ${voterId}`);
}
