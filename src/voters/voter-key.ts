import { randomBytes } from 'node:crypto';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { type Executor, inTransaction, type Transaction, valuesOf } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { HOUR_MS } from '#src/platform/clock.ts';
import { emailKey } from '#src/platform/email-address.ts';
import { base32 } from '#src/platform/ids.ts';
import { type Secrets, sha256 } from '#src/platform/secrets.ts';
import { readTyped } from '#src/platform/text.ts';
import { isGenuineEvent } from '#src/voting-events/event-tag.ts';
import { requireSameWorld } from '#src/voting-events/rehearsal.ts';
import { holdEvent, type LockedEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { changeInPages } from './change-in-pages.ts';
import { clearDeadline } from './registration-repository.ts';
import { listTagged } from './repository.ts';
import { noteChanges } from './roll-sum.ts';
import { voterKeys } from './tables.ts';
import type { Voter } from './voter.ts';
import { isApprovedInRehearsal, isGenuine, type TaggedVoter, tagOfVoter } from './voter-tag.ts';

const KEY_CHARACTERS = 16;

/** A random seed from which a voter key is derived. It is made when the mail is requested. */
export function generateKeySeed(): string {
  return randomBytes(16).toString('base64url');
}

type KeyHolder = Pick<Voter, 'votingEventId' | 'id' | 'keyGeneration'>;

/**
 * Derives a voter key: 80 bits in Crockford's base32, in four groups that people can type: `7H2K-…`. Each attempt at a mail derives the
 * same key. The derivation needs the secret key, so that the database alone reveals no key. It depends on the voter, so that a job
 * copied by other SQL cannot mail one voter the key of another.
 */
export function makeVoterKey(secrets: Secrets, { votingEventId, id, keyGeneration }: KeyHolder, seed: string): string {
  const message = JSON.stringify([votingEventId, id, keyGeneration, seed]);
  const text = base32(secrets.mac('mailed-key', message).subarray(0, 10), KEY_CHARACTERS).toUpperCase();
  return (text.match(/.{4}/g) ?? []).join('-');
}

type KeyWorld = Pick<VotingEvent, 'id' | 'rehearsalSince'>;

/** The hash input of a key that was printed in a rehearsal. The key is valid only in that rehearsal. */
const rehearsed = ({ id, rehearsalSince }: KeyWorld, key: string): string =>
  `${id}\nrehearsal ${rehearsalSince}\n${readTyped(key)}`;

/** Hashes event and key under each listed secret key, 32 bytes each. The database adds the voter whom it finds (`voter_key_hashes`). */
export function hashSentKey(secrets: Secrets, event: KeyWorld, key: string): Buffer {
  return Buffer.concat([
    ...secrets.macs('voter-key', `${event.id}\n${readTyped(key)}`),
    ...(event.rehearsalSince === null ? [] : secrets.macs('voter-key', rehearsed(event, key))),
  ]);
}

/** The hash of a mailed key. It covers voter and generation, so that a copied row, or one restored after the keys ended, is invalid. */
export function hashStoredKey(secrets: Secrets, { votingEventId, id, keyGeneration }: KeyHolder, key: string): Buffer {
  const mac = secrets.mac('voter-key', `${votingEventId}\n${readTyped(key)}`);
  return sha256(Buffer.concat([mac, Buffer.from(`${id}\n${keyGeneration}`)]));
}

/**
 * The hash of a printed key, over event, voter, generation, key and printing run. The voter's tag covers the last run, so that a
 * row that is restored after the voter's next letter is invalid. In a rehearsal, the hash covers the rehearsal instead of the run.
 */
export function hashPrintedKey(
  secrets: Secrets,
  event: KeyWorld,
  { id, keyGeneration }: KeyHolder,
  key: string,
  runId: string,
): Buffer {
  const isRehearsed = event.rehearsalSince !== null;
  const mac = secrets.mac('voter-key', isRehearsed ? rehearsed(event, key) : `${event.id}\n${readTyped(key)}`);
  return sha256(Buffer.concat([mac, Buffer.from(`${id}\n${keyGeneration}${isRehearsed ? '' : `\n${runId}`}`)]));
}

/**
 * Stores a key's hash, unless an earlier attempt at the mail has stored it. The voter's earlier keys stay valid.
 * @param read the event as it was when the mail was written
 * @param voter with the key generation for which the key was made
 * @returns false if the voter's address or key generation has changed @throws ApiError 500 if a rehearsal has begun or ended since
 */
export async function insertVoterKey(
  tx: Transaction,
  read: VotingEvent,
  { id: voterId, keyGeneration }: Pick<Voter, 'id' | 'keyGeneration'>,
  email: string,
  keyHash: Buffer,
): Promise<boolean> {
  const { id: eventId } = read;
  // Wait for transactions that lock the event: a job that mixes the roll rewrites keys, and a change of address deletes them.
  const event = await holdEvent(tx, eventId);
  if (event === undefined) return false;
  requireSameWorld(read, event);
  const { rowCount } = await tx.execute(sql`
    INSERT INTO voter_keys (voting_event_id, voter_id, key_hash, rehearsal, number)
    SELECT v.voting_event_id, v.id, ${keyHash}, ${event.rehearsalSince !== null}, (SELECT coalesce(max(number), 0) + 1 FROM voter_keys k
      WHERE k.voting_event_id = v.voting_event_id AND k.voter_id = v.id)
    FROM voters v WHERE v.voting_event_id = ${eventId} AND v.id = ${voterId} AND v.email_key = ${emailKey(email)}
      AND v.key_generation = ${keyGeneration}
      AND v.status <> 'rejected' AND v.deleted_at IS NULL
    ON CONFLICT (voting_event_id, voter_id, key_hash) DO UPDATE SET number = voter_keys.number`);
  if (rowCount !== 1) return false;
  // A mailed key is valid until the close (completions 4.3), so its registration must not expire. A rehearsal's keys are wiped.
  if (event.rehearsalSince === null) await clearDeadline(tx, eventId, voterId);
  return true;
}

/** Stores a voter's state before a mail or a link changes it in a rehearsal. Call with the event locked (`holdEvent`). */
export async function noteBeforeRehearsal(tx: Transaction, eventId: string, voterId: string): Promise<void> {
  await tx.execute(sql`SELECT note_before_rehearsal(${eventId}, ${voterId})`);
}

/**
 * Approves a voter by a first key, unless a rehearsal has begun or ended since. Not a database function, because the row needs a tag.
 * @param read the event when the key was checked @param judged the voter when the key was checked
 */
export async function approveByKey(
  { db, secrets }: Pick<Deps, 'db' | 'secrets'>,
  read: VotingEvent,
  judged: TaggedVoter,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const event = await holdEvent(tx, read.id);
    if (event === undefined || event.rehearsalSince !== read.rehearsalSince) return;
    // The statement that checked the key did not check the event's tag, so other SQL could have changed the event for a moment.
    if (!isGenuineEvent(secrets, event) || event.voterApproval !== 'automatic') return;
    // Read the voter again: an organizer may have changed the name since. A change that ends the keys has raised their generation.
    const [before] = await listTagged(tx, event.id, sql`v.id = ${judged.id}`, 1);
    if (before === undefined || !isGenuine(secrets, before) || before.keyGeneration !== judged.keyGeneration) return;
    const after = { ...before, status: 'approved' } as const;
    if (event.rehearsalSince !== null) await noteBeforeRehearsal(tx, event.id, before.id);
    const { rowCount } = await tx.execute(sql`
      UPDATE voters v SET status = ${after.status}, approved_by_key = true, key_used = true, tag = ${tagOfVoter(secrets, after, event.rehearsalSince !== null)}
      WHERE v.voting_event_id = ${event.id} AND v.id = ${before.id} AND v.tag = ${before.tag} AND v.status = ${judged.status}
        AND v.deleted_at IS NULL
        AND EXISTS (SELECT 1 FROM voter_keys k WHERE k.voting_event_id = v.voting_event_id AND k.voter_id = v.id)`);
    if (rowCount === 1) await noteChanges(tx, secrets, event, [{ before, after }]);
  });
}

/** Sets voters whom a key approved in the rehearsal back to `pending` when it ends. Call with the event locked, before the wipe. */
export async function takeApprovalsBack(tx: Transaction, secrets: Secrets, event: LockedEvent): Promise<void> {
  await changeInPages(
    tx,
    secrets,
    event,
    sql`v.status = 'approved' AND v.deleted_at IS NULL AND v.source = 'registration'`,
    { status: 'pending' },
    (row) => isApprovedInRehearsal(secrets, row),
  );
}

export async function dropUnconfirmed(tx: Transaction, eventId: string, voterIds: readonly string[]): Promise<void> {
  await tx.execute(sql`SELECT drop_pending_ballot(b.voting_event_id, b.code_tag) FROM pending_ballots b
    WHERE b.voting_event_id = ${eventId} AND b.participant = ANY (${sql.param([...voterIds])}::text[])`);
}

/** Deletes all keys of these voters. The caller must raise their key generation. */
export async function endKeys(tx: Transaction, eventId: string, voterIds: readonly string[]): Promise<void> {
  await tx
    .delete(voterKeys)
    .where(and(eq(voterKeys.votingEventId, eventId), inArray(voterKeys.voterId, [...voterIds])));
}

export async function deleteVoterKey(
  executor: Executor,
  eventId: string,
  voterId: string,
  keyHash: Buffer,
): Promise<void> {
  await executor
    .delete(voterKeys)
    .where(and(eq(voterKeys.votingEventId, eventId), eq(voterKeys.voterId, voterId), eq(voterKeys.keyHash, keyHash)));
}

/** Counts one request of an identity; returns its requests within the hour, with this one. */
export async function countKeyRequest(tx: Transaction, eventId: string, identity: Buffer): Promise<number> {
  const [requests = 1] = await valuesOf<number>(
    tx,
    sql`
    INSERT INTO voter_key_requests AS r (voting_event_id, identity, window_started_at, requests)
    VALUES (${eventId}, ${identity}, now_ms(), 1)
    ON CONFLICT (voting_event_id, identity) DO UPDATE SET
      requests = CASE WHEN r.window_started_at > now_ms() - ${HOUR_MS} THEN r.requests + 1 ELSE 1 END,
      window_started_at = CASE WHEN r.window_started_at > now_ms() - ${HOUR_MS} THEN r.window_started_at ELSE now_ms() END
    RETURNING requests`,
  );
  return requests;
}
