import { base32 } from '#src/platform/ids.ts';
import { takeRandomBytes } from '#src/platform/random-bytes.ts';
import { type Secrets, sha256 } from '#src/platform/secrets.ts';
import { readTyped } from '#src/platform/text.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

const CODE_CHARACTERS = 26;
const CODE_BYTES = 16;

/** 128 random bits as 26 characters of Crockford's base32. */
export const generateConfirmationCode = (): string =>
  base32(takeRandomBytes(CODE_BYTES), CODE_CHARACTERS).toUpperCase();

/**
 * The confirmation code of an election's ballot that was cast with an Idempotency-Key. A retry derives the same code, although no
 * answer is stored. Only the holder of the event's key can derive it.
 * @param seed the seed of the idempotency claim
 */
export const deriveConfirmationCode = (secrets: Secrets, eventId: string, seed: Uint8Array): string =>
  base32(
    secrets.mac('confirmation-code', Buffer.concat([Buffer.from(`${eventId}\n`), seed])),
    CODE_CHARACTERS,
  ).toUpperCase();

/** The canonical form of a typed code; undefined for a text that cannot be a code. */
export function normaliseCode(text: string): string | undefined {
  const code = readTyped(text);
  return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(code) ? code : undefined;
}

/** The hash of a code. The database and the ballot's log leaf contain the hash, not the code. */
export const codeTagOf = (code: string): Buffer => sha256(`code${code}`);

/**
 * The look-up key of a pending or queued ballot. In an election it is a MAC of the code under the event's key, not the hash in the
 * log: these rows point to voters, and that hash would join a leaked dump of them with the ballots that the log later opens. A poll
 * uses the hash, because its ballots name their voters anyway.
 * @param secrets the keys that encrypt the event's ballots until they are in the box
 */
export const waitingTag = (secrets: Secrets, event: Pick<VotingEvent, 'id' | 'type'>, code: string): Buffer =>
  event.type === 'poll' ? codeTagOf(code) : secrets.mac('ballot-tag', `${event.id}\n${code}`);

/**
 * The stored form of a ballot until it is sealed into the log: encrypted (AES-256-GCM), because until then its row can be joined
 * with its voter. The first byte is the form; a packed ballot in the box, which is not encrypted, begins with 1:
 *
 *   2   a poll's ballot, under the secret key of the service: packed entries
 *   3   an election's ballot, under the key of its event (`ballot-keys.ts`): everything of it that will be public one day
 *
 * Then follow the key's ID (4 bytes), nonce, ciphertext and authentication tag. The plaintext of an election's ballot: the tag of
 * its code (32 bytes), the salt (32), a MAC of the voter's identity (16, `voter-tag.ts`), the weight (8, millionths, big-endian), the
 * length of the packed entries (4, big-endian), the packed entries, and zeros up to the length of the definition's largest ballot
 * (`roomOf`), so that the length does not reveal the choice. The log publishes tag and salt: if the queue held them in clear, a
 * leaked dump of the queue could later be joined with the log.
 */
const POLL_FORM = 2;
const SECRET_FORM = 3;
const HASH_BYTES = 32;
const VOTER_AT = 2 * HASH_BYTES;
const VOTER_BYTES = 16;
const WEIGHT_AT = VOTER_AT + VOTER_BYTES;
const LENGTH_AT = WEIGHT_AT + 8;
const ENTRIES_AT = LENGTH_AT + 4;

type Column = 'entries' | 'sealed_time';

/** Associated data: a ciphertext copied to another column or row fails to decrypt. */
const placeOf = (column: Column, eventId: string, tag: Uint8Array) => ({
  table: 'ballot_queue',
  column,
  row: `${eventId}/${Buffer.from(tag).toString('hex')}`,
});

/** Encrypts the packed entries of a poll's ballot. @param tag the row's look-up key */
export const sealEntries = (secrets: Secrets, eventId: string, tag: Uint8Array, packed: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(POLL_FORM), secrets.sealBytes(packed, placeOf('entries', eventId, tag))]);

interface SecretBallot {
  /** The look-up key of the ballot in the log (`codeTagOf`). */
  readonly codeTag: Uint8Array;
  readonly packed: Uint8Array;
  /** The size of the definition's largest packed ballot, in bytes: shorter ballots are padded to it. */
  readonly room: number;
  readonly weightMicro: bigint;
  /** The MAC of the voter's identity (`tagOfIdentity`). */
  readonly voter: Uint8Array;
}

/** Encrypts an election's ballot with a new random salt. @param tag the row's look-up key, which reveals nothing of `codeTag` */
export function sealSecretBallot(
  secrets: Secrets,
  eventId: string,
  tag: Uint8Array,
  { codeTag, packed, room, weightMicro, voter }: SecretBallot,
): Buffer {
  if (packed.length > room) throw new RangeError(`a ballot of ${packed.length} bytes has no room in ${room}`);
  const plain = Buffer.alloc(ENTRIES_AT + room);
  plain.set(codeTag);
  plain.set(takeRandomBytes(HASH_BYTES), HASH_BYTES);
  plain.set(voter, VOTER_AT);
  plain.writeBigInt64BE(weightMicro, WEIGHT_AT);
  plain.writeUInt32BE(packed.length, LENGTH_AT);
  plain.set(packed, ENTRIES_AT);
  return Buffer.concat([Buffer.of(SECRET_FORM), secrets.sealBytes(plain, placeOf('entries', eventId, tag))]);
}

interface OpenedBallot {
  /** Packed entries, in clear. */
  readonly entries: Buffer;
  /** Encrypted values of an election's ballot, used instead of its row's columns; undefined for other ballots. */
  readonly sealed:
    | {
        readonly id: string;
        readonly codeTag: Buffer;
        readonly salt: Buffer;
        /** The weight that counts, even if the row's column differs. */
        readonly weightMicro: bigint;
        readonly voter: Buffer;
      }
    | undefined;
}

export const isSealed = (stored: Uint8Array): boolean => stored[0] === POLL_FORM || stored[0] === SECRET_FORM;

/**
 * Decrypts a pending or queued ballot.
 * @param tag the row's look-up key
 * @throws Error if its form does not fit the event, it was altered or moved to another row, or its key is not configured
 */
export function openWaiting(
  secrets: Secrets,
  { id: eventId, type }: Pick<VotingEvent, 'id' | 'type'>,
  tag: Uint8Array,
  stored: Buffer,
): OpenedBallot {
  if (stored[0] !== (type === 'poll' ? POLL_FORM : SECRET_FORM))
    throw new Error('a waiting ballot has another form than its event');
  const plain = secrets.open(stored.subarray(1), placeOf('entries', eventId, tag));
  if (type === 'poll') return { entries: plain, sealed: undefined };
  const codeTag = plain.subarray(0, HASH_BYTES);
  const salt = plain.subarray(HASH_BYTES, VOTER_AT);
  const voter = plain.subarray(VOTER_AT, WEIGHT_AT);
  const weightMicro = plain.readBigInt64BE(WEIGHT_AT);
  const entries = plain.subarray(ENTRIES_AT, ENTRIES_AT + plain.readUInt32BE(LENGTH_AT));
  return { entries, sealed: { id: ballotIdOf(salt, codeTag), codeTag, salt, weightMicro, voter } };
}

/** Reads a confirmed ballot, queued or in the box. @throws Error as `openWaiting` does */
export const openBallot = (
  secrets: Secrets,
  event: Pick<VotingEvent, 'id' | 'type'>,
  tag: Uint8Array,
  stored: Buffer,
): OpenedBallot =>
  isSealed(stored) ? openWaiting(secrets, event, tag, stored) : { entries: stored, sealed: undefined };

/** The ID of a secret ballot in the box: unrelated to the ID of its row in the queue, and always the same. */
export const ballotIdOf = (salt: Buffer, codeTag: Buffer): string =>
  `bal_${base32(sha256(Buffer.concat([Buffer.from('ballot id'), salt, codeTag])), 26)}`;

const TIME_BYTES = 6;
const MASKED_TIMES_BYTES = 2 * TIME_BYTES;

interface ConfirmTimes {
  readonly confirmedMs: number;
  /** The date by which the ballot was promised to be in the log. */
  readonly promisedMs: number;
}

/** Encrypts both times with a pad from the code, which is not stored: a repeated confirm reads them, a reader of the database does not. */
export function sealTimes(code: string, { confirmedMs, promisedMs }: ConfirmTimes): Buffer {
  const bytes = Buffer.alloc(MASKED_TIMES_BYTES);
  bytes.writeUIntBE(confirmedMs, 0, TIME_BYTES);
  bytes.writeUIntBE(promisedMs, TIME_BYTES, TIME_BYTES);
  return mask(code, bytes);
}

export function openTimes(code: string, sealed: Uint8Array): ConfirmTimes {
  const bytes = mask(code, sealed);
  return { confirmedMs: bytes.readUIntBE(0, TIME_BYTES), promisedMs: bytes.readUIntBE(TIME_BYTES, TIME_BYTES) };
}

function mask(code: string, bytes: Uint8Array): Buffer {
  const pad = sha256(`time${code}`);
  return Buffer.from(bytes.map((byte, index) => byte ^ (pad[index] ?? 0)));
}

/**
 * Encrypts the masked times of a queued secret ballot: the box will contain them unchanged, so a leaked dump of the queue with
 * masked times could be joined with the box.
 * @param dueMs when the ballot must be in the log, however few ballots are queued
 */
export function sealWaitingTime(
  secrets: Secrets,
  eventId: string,
  tag: Uint8Array,
  masked: Uint8Array,
  dueMs: number,
): Buffer {
  const plain = Buffer.alloc(MASKED_TIMES_BYTES + TIME_BYTES);
  plain.set(masked);
  plain.writeUIntBE(dueMs, MASKED_TIMES_BYTES, TIME_BYTES);
  return secrets.sealBytes(plain, placeOf('sealed_time', eventId, tag));
}

/** Whether stored times are only masked, as in the box; the times of a queued secret ballot are encrypted too. */
export const isMaskedTime = (stored: Uint8Array): boolean => stored.length === MASKED_TIMES_BYTES;

/** The masked times of a stored ballot, queued or in the box. @returns `dueMs` only for a queued secret ballot */
export function openWaitingTime(
  secrets: Secrets,
  eventId: string,
  tag: Uint8Array,
  stored: Buffer,
): { readonly masked: Buffer; readonly dueMs?: number } {
  if (isMaskedTime(stored)) return { masked: stored };
  const plain = secrets.open(stored, placeOf('sealed_time', eventId, tag));
  return {
    masked: plain.subarray(0, MASKED_TIMES_BYTES),
    dueMs: plain.readUIntBE(MASKED_TIMES_BYTES, TIME_BYTES),
  };
}
