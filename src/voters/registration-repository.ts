import { type SQL, sql } from 'drizzle-orm';
import { type Executor, type Transaction, valuesOf } from '#src/database/client.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { madeAt } from '#src/platform/ids.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { lifeOf } from '#src/voting-events/lifecycle.ts';
import type { LockedEvent } from '#src/voting-events/repository.ts';
import { listTagged, updateVoters } from './repository.ts';
import { noteChanges } from './roll-sum.ts';
import { isGenuine, type TaggedVoter } from './voter-tag.ts';

/** How long the link that was mailed at registration may stay unused. */
const CONFIRM_WITHIN_MS = 7 * DAY_MS;
/** Most registrations that one run deletes; the next run deletes further ones. */
const EXPIRED_TOGETHER = 1_000;

const waiting = (eventId: string): SQL =>
  sql`voting_event_id = ${eventId} AND source = 'registration' AND status = 'pending' AND confirm_by IS DISTINCT FROM 0 AND deleted_at IS NULL`;

const hasNoKey = (eventId: string): SQL =>
  sql`NOT EXISTS (SELECT 1 FROM voter_keys k WHERE k.voting_event_id = ${eventId} AND k.voter_id = v.id)`;

/** Clears a registration's deadline: its mail was not sent, or a voter key was mailed, which is valid until the close. */
export async function clearDeadline(tx: Transaction, eventId: string, voterId: string): Promise<void> {
  await tx.execute(sql`UPDATE voters SET confirm_by = NULL WHERE ${waiting(eventId)} AND id = ${voterId}`);
}

/**
 * Sets a registration's deadline when a link is mailed to its address. Does nothing if the address was changed, or a voter key was mailed.
 * @param to the address to which the link goes, as `emailKey` returns it
 */
export async function setDeadline(tx: Transaction, eventId: string, voterId: string, to: string): Promise<void> {
  await tx.execute(sql`
    UPDATE voters v SET confirm_by = now_ms() + ${CONFIRM_WITHIN_MS} WHERE ${waiting(eventId)} AND id = ${voterId} AND email_key = ${to}
      AND ${hasNoKey(eventId)}`);
}

/** Marks a voter's address as confirmed. Call with the event locked. @returns false if the voter no longer has this address */
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

/** Events with registrations to expire. Leaves out closed events and manual approval, which would fill the LIMIT for ever. */
export const listEventsWithExpired = (executor: Executor): Promise<string[]> =>
  valuesOf(
    executor,
    sql`SELECT DISTINCT voting_event_id FROM (
      SELECT v.voting_event_id FROM voters v JOIN voting_events e ON e.id = v.voting_event_id
      WHERE v.confirm_by > 0 AND v.confirm_by < now_ms() AND v.status = 'pending' AND v.deleted_at IS NULL
        AND e.voter_approval = 'automatic' AND e.deleted_at IS NULL AND event_status(${sql.raw(lifeOf('e'))}, now_ms()) <> 'closed'
      ORDER BY v.confirm_by, v.voting_event_id LIMIT 10000) AS expired`,
  );

export interface Taken {
  readonly ids: readonly string[];
  /** Registrations that other SQL wrote. They stay, and lose their deadline. */
  readonly forged: readonly string[];
}

async function takeWaiting(
  tx: Transaction,
  secrets: Secrets,
  event: LockedEvent,
  which: SQL,
  isDue = (_voter: TaggedVoter): boolean => true,
): Promise<Taken> {
  const [genuine, others] = [[] as TaggedVoter[], [] as TaggedVoter[]];
  for (const voter of await listTagged(tx, event.id, which))
    (isGenuine(secrets, voter) && isDue(voter) ? genuine : others).push(voter);
  const changes = genuine.map((before) => ({ before }));
  await noteChanges(tx, secrets, event, changes);
  const idsOf = (voters: readonly TaggedVoter[]): string[] => voters.map(({ id }) => id);
  const erased = { deletedAt: event.lockedAt, emailKey: null, voterIdKey: null };
  await updateVoters(tx, event.id, idsOf(genuine), erased);
  await updateVoters(tx, event.id, idsOf(others), { confirmBy: null });
  return { ids: idsOf(genuine), forged: idsOf(others.filter((voter) => !isGenuine(secrets, voter))) };
}

/** Marks overdue registrations as deleted. Call with the event locked. */
export function takeExpired(tx: Transaction, secrets: Secrets, event: LockedEvent): Promise<Taken> {
  const due = sql`SELECT id FROM voters WHERE ${waiting(event.id)} AND confirm_by < ${event.lockedAt} ORDER BY id LIMIT ${EXPIRED_TOGETHER}`;
  // The ID contains the time of registration, and the tag covers the ID: if other SQL changes `confirm_by`, no registration ends early.
  const isDue = ({ id }: TaggedVoter): boolean => madeAt(id) + CONFIRM_WITHIN_MS <= event.lockedAt;
  return takeWaiting(tx, secrets, event, sql`${waiting(event.id)} AND id IN (${due})`, isDue);
}

/**
 * Marks a registration as deleted whose address refused a mail. Leaves out a voter to whom a key was mailed, which is valid until the
 * close, and in a rehearsal a registration from before it.
 * @param to the refusing address, as `emailKey` returns it: the voter may have another address by now
 */
export function takeRefused(
  tx: Transaction,
  secrets: Secrets,
  event: LockedEvent,
  voterId: string,
  to: string,
): Promise<Taken> {
  const isRehearsed = sql`(${event.rehearsalSince}::bigint IS NULL OR before_rehearsal ? 'new')`;
  const refused = sql`${waiting(event.id)} AND id = ${voterId} AND email_key = ${to} AND ${isRehearsed} AND ${hasNoKey(event.id)}`;
  return takeWaiting(tx, secrets, event, refused);
}
