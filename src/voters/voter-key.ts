import { randomBytes } from 'node:crypto';
import { base32 } from '#src/platform/ids.ts';
import { type Secrets, sha256 } from '#src/platform/secrets.ts';
import { readTyped } from '#src/platform/typed-text.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { Voter } from './voter.ts';

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
