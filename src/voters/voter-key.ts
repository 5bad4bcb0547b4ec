import { randomBytes } from 'node:crypto';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { type Executor, inTransaction, type Transaction, valuesOf } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { HOUR_MS } from '#src/platform/clock.ts';
import { base32 } from '#src/platform/ids.ts';
import { type Secrets, sha256 } from '#src/platform/secrets.ts';
import { readTyped } from '#src/platform/text.ts';
import { isGenuineEvent } from '#src/voting-events/event-tag.ts';
import { holdEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { changeInPages } from './change-in-pages.ts';
import { stopConfirmation } from './registration-repository.ts';
import { noteChanges } from './roll-sum.ts';
import { voterKeys, voters } from './tables.ts';
import type { Voter } from './voter.ts';
import { isApprovedInRehearsal, type TaggedVoter, tagOfVoter } from './voter-tag.ts';

const KEY_CHARACTERS = 16;

/** What a voter key is made of, chosen at random when its mail is asked for. */
export function generateKeySeed(): string {
  return randomBytes(16).toString('base64url');
}

type KeyHolder = Pick<Voter, 'votingEventId' | 'id' | 'keyGeneration'>;

/**
 * 80 bits in Crockford's base32, in four groups that people can type: `7H2K-…`. Each attempt at a mail makes the same key,
 * and nothing that stands in the database alone makes it: it takes the secret key besides. One seed makes another key for each voter:
 * a job that SQL copied mails no one the key of somebody else.
 */
export function makeVoterKey(secrets: Secrets, { votingEventId, id, keyGeneration }: KeyHolder, seed: string): string {
  const message = JSON.stringify([votingEventId, id, keyGeneration, seed]);
  const text = base32(secrets.mac('mailed-key', message).subarray(0, 10), KEY_CHARACTERS).toUpperCase();
  return (text.match(/.{4}/g) ?? []).join('-');
}

type KeyWorld = Pick<VotingEvent, 'id' | 'rehearsalSince'>;

/** What is hashed of a key that was printed in a rehearsal: it opens nothing but that rehearsal. */
const rehearsed = ({ id, rehearsalSince }: KeyWorld, key: string): string =>
  `${id}\nrehearsal ${rehearsalSince}\n${readTyped(key)}`;

/**
 * What a sent key is compared by: a keyed hash of event and key under each secret key, 32 bytes one after the other. The
 * database binds it to the voter (`voter_key_hashes`), who is unknown before the look-up.
 */
export function hashSentKey(secrets: Secrets, event: KeyWorld, key: string): Buffer {
  return Buffer.concat([
    ...secrets.macs('voter-key', `${event.id}\n${readTyped(key)}`),
    ...(event.rehearsalSince === null ? [] : secrets.macs('voter-key', rehearsed(event, key))),
  ]);
}

/**
 * What is stored of a key: it binds event, voter, generation and key. A row that is copied opens nothing for another voter, and one that
 * is put back nothing once the voter's keys ended.
 */
export function hashStoredKey(secrets: Secrets, { votingEventId, id, keyGeneration }: KeyHolder, key: string): Buffer {
  const mac = secrets.mac('voter-key', `${votingEventId}\n${readTyped(key)}`);
  return sha256(Buffer.concat([mac, Buffer.from(`${id}\n${keyGeneration}`)]));
}

/**
 * What is stored of a printed key: bound besides to the run that printed it, which the voter's tag names. A row that is put back opens
 * nothing once the voter has another letter, and one of a rehearsal nothing in another world.
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
 * Stores a key's hash beside the earlier ones, which stay valid, unless an earlier attempt at its mail has stored it.
 * @param read the event as the mail was written for it
 * @param voter for whose present generation of keys it was made
 * @returns false when the voter has another address by now, or none, or when a rehearsal began or ended meanwhile
 */
export async function insertVoterKey(
  tx: Transaction,
  read: VotingEvent,
  { id: voterId, keyGeneration }: Pick<Voter, 'id' | 'keyGeneration'>,
  email: string,
  keyHash: Buffer,
): Promise<boolean> {
  const { id: eventId } = read;
  // Mixing the roll rewrites keys, and a change of address drops them, both under the lock that this one waits for.
  const event = await holdEvent(tx, eventId);
  if (event === undefined || event.rehearsalSince !== read.rehearsalSince) return false;
  const { rowCount } = await tx.execute(sql`
    INSERT INTO voter_keys (voting_event_id, voter_id, key_hash, rehearsal, number)
    SELECT v.voting_event_id, v.id, ${keyHash}, ${event.rehearsalSince !== null}, (SELECT coalesce(max(number), 0) + 1 FROM voter_keys k
      WHERE k.voting_event_id = v.voting_event_id AND k.voter_id = v.id)
    FROM voters v WHERE v.voting_event_id = ${eventId} AND v.id = ${voterId} AND v.email = ${email}
      AND v.key_generation = ${keyGeneration}
      AND v.status <> 'rejected' AND v.deleted_at IS NULL
    ON CONFLICT (voting_event_id, voter_id, key_hash) DO UPDATE SET number = voter_keys.number`);
  if (rowCount !== 1) return false;
  // A mailed key stays valid until the close (completions 4.3), and with it its voter. Keys of a rehearsal go with it.
  if (event.rehearsalSince === null) await stopConfirmation(tx, eventId, voterId);
  return true;
}

export async function storeKeyMailEnd(
  tx: Transaction,
  eventId: string,
  voterId: string,
  keyStatus: 'sent' | 'failed',
): Promise<void> {
  await tx
    .update(voters)
    .set({ keyStatus })
    .where(and(eq(voters.votingEventId, eventId), eq(voters.id, voterId)));
}

/** Notes how a voter stands before a mail or a link changes it in a rehearsal. Call with the event held. */
export async function noteBeforeRehearsal(tx: Transaction, eventId: string, voterId: string): Promise<void> {
  await tx.execute(sql`SELECT note_before_rehearsal(${eventId}, ${voterId})`);
}

/**
 * Approves a voter by a first key, in the world in which it was used. No function of the database does: the tag says so with the column.
 * @param read the event as the key was judged by it @param before the voter as it was judged
 */
export async function approveByKey(
  { db, secrets }: Pick<Deps, 'db' | 'secrets'>,
  read: VotingEvent,
  before: TaggedVoter,
): Promise<void> {
  const after = { ...before, status: 'approved' } as const;
  await inTransaction(db, async (tx) => {
    const event = await holdEvent(tx, read.id);
    if (event === undefined || event.rehearsalSince !== read.rehearsalSince) return;
    // The statement that judged the key asked the row alone, which SQL can change for that long.
    if (!isGenuineEvent(secrets, event) || event.voterApproval !== 'automatic') return;
    if (event.rehearsalSince !== null) await noteBeforeRehearsal(tx, event.id, before.id);
    const { rowCount } = await tx.execute(sql`
      UPDATE voters v SET status = ${after.status}, approved_by_key = true, key_used = true, tag = ${tagOfVoter(secrets, after, event.rehearsalSince !== null)}
      WHERE v.voting_event_id = ${event.id} AND v.id = ${before.id} AND v.tag = ${before.tag} AND v.status = ${before.status}
        AND v.deleted_at IS NULL
        AND EXISTS (SELECT 1 FROM voter_keys k WHERE k.voting_event_id = v.voting_event_id AND k.voter_id = v.id)`);
    if (rowCount === 1) await noteChanges(tx, secrets, event, [{ before, after }]);
  });
}

/** Voters who wait again with the end of the rehearsal in which a key approved them. Call with the event locked, before it is wiped. */
export async function takeApprovalsBack(tx: Transaction, secrets: Secrets, event: VotingEvent): Promise<void> {
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

/** Ends every key of these voters. Their rows need a new generation. */
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

/** Counts one request of an identity within the hour; returns how many there were, this one included. */
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
