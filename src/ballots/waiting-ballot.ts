import { base32 } from '#src/platform/ids.ts';
import { takeRandomBytes } from '#src/platform/random-bytes.ts';
import { type Secrets, sha256 } from '#src/platform/secrets.ts';
import { readTyped } from '#src/platform/typed-text.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

const CODE_CHARACTERS = 26;
const CODE_BYTES = 16;

/** 128 random bits as 26 characters of Crockford's base32. */
export function generateConfirmationCode(): string {
  return base32(takeRandomBytes(CODE_BYTES), CODE_CHARACTERS).toUpperCase();
}

/** The code as it is stored, however it was typed. Undefined for a text that is no code: it names nothing. */
export function normaliseCode(text: string): string | undefined {
  const code = readTyped(text);
  return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(code) ? code : undefined;
}

/** What is stored of a code, and stands in its leaf of the log. */
export function codeTagOf(code: string): Buffer {
  return sha256(`code${code}`);
}

const keyedText = (eventId: string, code: string): string => `${eventId}\n${code}`;

/** What a new ballot is stored under: the first of its `waitingTags`. @param codeTag the tag of its code in the log */
export function newTag(
  secrets: Secrets,
  event: Pick<VotingEvent, 'id' | 'type'>,
  code: string,
  codeTag: Buffer,
): Buffer {
  return event.type === 'poll' ? codeTag : secrets.mac('ballot-tag', keyedText(event.id, code));
}

/**
 * What a ballot is found by while it is pending or waits in the queue, the one that new ballots get first. In an election it
 * is a hash of the code under the key of the event: the tag that stands in the log would join a copy of these rows, which can
 * be recognised as somebody's, with the ballot that is opened later. In an event that opened before there were keys of events
 * it is one under each listed secret key. Last comes the tag of the log, which ballots had before there were keyed ones, and by
 * which those of the box are found. Polls use that one alone: their ballots carry their voter.
 * @param secrets what the ballots of the event wait under; undefined once none waits any more
 */
export function waitingTags(
  secrets: Secrets | undefined,
  event: Pick<VotingEvent, 'id' | 'type'>,
  code: string,
): Buffer[] {
  const codeTag = codeTagOf(code);
  const keyed = event.type === 'poll' ? [] : (secrets?.macs('ballot-tag', keyedText(event.id, code)) ?? []);
  return [...keyed, codeTag];
}

/**
 * A ballot as it is stored until it is sealed into the log: encrypted (AES-256-GCM), because until then the database could
 * show whose ballot it is. The column's first byte is the version:
 *
 *   1   a packed ballot in clear (`ballot-encoding.ts`): one that was sealed into the log
 *   2   sealed packed entries: a poll's, whose ballots carry their voter anyway
 *   3   a sealed ballot of a secret event, with everything of it that will be public one day but its weight, under the secret
 *       key of the service: of events that opened before there were keys of events
 *   4   the same with its weight, under the key of its event (`ballot-keys.ts`)
 *
 * Sealed ones go on with 4 bytes, the ID of the key, then nonce, ciphertext and tag. What versions 3 and 4 seal is the tag of
 * the code (32 bytes), the salt (32), in version 4 the weight (8, millionths, big-endian), the length of the packed entries
 * (4, big-endian), the packed entries, and zeros up to a multiple of 128 bytes, so that the length does not show how many
 * entries there are. Tag and salt stand in the log and in its openings: a copy of the queue that held them in clear would be
 * joined with those later.
 */
const POLL_VERSION = 2;
const UNWEIGHED_VERSION = 3;
const WEIGHED_VERSION = 4;
const KEY_ID_BYTES = 4;
const HASH_BYTES = 32;
const WEIGHT_BYTES = 8;
const LENGTH_BYTES = 4;
const BLOCK_BYTES = 128;

type Column = 'entries' | 'sealed_time';

/** Ties the ciphertext to its ballot: copied to another one it does not open. */
function placeOf(column: Column, eventId: string, tag: Uint8Array) {
  return { table: 'ballot_queue', column, row: `${eventId}/${Buffer.from(tag).toString('hex')}` };
}

function seal(secrets: Secrets, place: ReturnType<typeof placeOf>, plain: Uint8Array): Buffer {
  return secrets.sealBytes(plain, place);
}

function open(secrets: Secrets, place: ReturnType<typeof placeOf>, sealed: Buffer): Buffer {
  return secrets.open(
    `${sealed.toString('hex', 0, KEY_ID_BYTES)}.${sealed.toString('base64url', KEY_ID_BYTES)}`,
    place,
  );
}

/** Seals the packed entries of a poll's ballot. @param tag what the row is found by */
export function sealEntries(secrets: Secrets, eventId: string, tag: Uint8Array, packed: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(POLL_VERSION), seal(secrets, placeOf('entries', eventId, tag), packed)]);
}

interface SecretBallot {
  /** What the ballot will be found by in the log. */
  readonly codeTag: Uint8Array;
  readonly packed: Uint8Array;
  /** Undefined where it waits under the secret key of the service, as such ballots always did. */
  readonly weightMicro: bigint | undefined;
}

/** Seals a secret ballot with a salt that is drawn here. @param tag what the row is found by, which reveals nothing of `codeTag` */
export function sealSecretBallot(
  secrets: Secrets,
  eventId: string,
  tag: Uint8Array,
  { codeTag, packed, weightMicro }: SecretBallot,
): Buffer {
  const version = weightMicro === undefined ? UNWEIGHED_VERSION : WEIGHED_VERSION;
  const lengthAt = 2 * HASH_BYTES + (weightMicro === undefined ? 0 : WEIGHT_BYTES);
  const headBytes = lengthAt + LENGTH_BYTES;
  const plain = Buffer.allocUnsafe(Math.ceil((headBytes + packed.length) / BLOCK_BYTES) * BLOCK_BYTES).fill(0);
  plain.set(codeTag);
  plain.set(takeRandomBytes(HASH_BYTES), HASH_BYTES);
  if (weightMicro !== undefined) plain.writeBigInt64BE(weightMicro, 2 * HASH_BYTES);
  plain.writeUInt32BE(packed.length, lengthAt);
  plain.set(packed, headBytes);
  return Buffer.concat([Buffer.of(version), seal(secrets, placeOf('entries', eventId, tag), plain)]);
}

/** What a stored ballot says. */
interface OpenedBallot {
  /** Packed entries, in clear. */
  readonly entries: Buffer;
  /** What a secret ballot brings along in place of its row's own values; undefined for every other one. */
  readonly sealed:
    | {
        readonly id: string;
        readonly codeTag: Buffer;
        readonly salt: Buffer;
        /** What it weighs, whatever its row says; undefined in one that was sealed without. */
        readonly weightMicro: bigint | undefined;
      }
    | undefined;
}

/** Whether a stored ballot is encrypted, so that a key is needed to read it. */
export const isSealed = (stored: Uint8Array): boolean =>
  stored[0] === POLL_VERSION || stored[0] === UNWEIGHED_VERSION || stored[0] === WEIGHED_VERSION;

/**
 * Opens a stored ballot of any version.
 * @param tag what its row is found by
 * @throws Error when it was changed, moved, or its key is not configured
 */
export function openBallot(secrets: Secrets, eventId: string, tag: Uint8Array, stored: Uint8Array): OpenedBallot {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.length);
  if (!isSealed(bytes)) return { entries: bytes, sealed: undefined };
  const plain = open(secrets, placeOf('entries', eventId, tag), bytes.subarray(1));
  if (bytes[0] === POLL_VERSION) return { entries: plain, sealed: undefined };
  const codeTag = plain.subarray(0, HASH_BYTES);
  const salt = plain.subarray(HASH_BYTES, 2 * HASH_BYTES);
  const isWeighed = bytes[0] === WEIGHED_VERSION;
  const weightMicro = isWeighed ? plain.readBigInt64BE(2 * HASH_BYTES) : undefined;
  const lengthAt = 2 * HASH_BYTES + (isWeighed ? WEIGHT_BYTES : 0);
  const start = lengthAt + LENGTH_BYTES;
  const entries = plain.subarray(start, start + plain.readUInt32BE(lengthAt));
  return { entries, sealed: { id: ballotIdOf(salt, codeTag), codeTag, salt, weightMicro } };
}

/** The ID of a secret ballot in the box: another one than that of its row in the queue, and the same one each time. */
export const ballotIdOf = (salt: Buffer, codeTag: Buffer): string =>
  `bal_${base32(sha256(Buffer.concat([Buffer.from('ballot id'), salt, codeTag])), 26)}`;

/** The packed entries alone. */
export function openEntries(secrets: Secrets, eventId: string, tag: Uint8Array, stored: Uint8Array): Buffer {
  return openBallot(secrets, eventId, tag, stored).entries;
}

const TIME_BYTES = 6;
/** Two masked times in clear; sealed they are longer. */
const MASKED_TIMES_BYTES = 2 * TIME_BYTES;

/** The two times of a confirmed ballot. */
interface ConfirmTimes {
  readonly confirmedMs: number;
  /** Until when the ballot was promised to be in the log. */
  readonly promisedMs: number;
}

/**
 * Hides when a ballot was confirmed, and until when it was promised to be in the log, under the code, which is not stored:
 * the voter's server gets the same answer twice, a reader of the database learns no time. Each takes six bytes.
 */
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

/** Seals the masked times of a secret ballot while it waits: they will stand in the box, where they must not be found again. */
export function sealWaitingTime(secrets: Secrets, eventId: string, tag: Uint8Array, masked: Uint8Array): Buffer {
  return seal(secrets, placeOf('sealed_time', eventId, tag), masked);
}

/** The masked times of a stored ballot, waiting or not. */
export function openWaitingTime(secrets: Secrets, eventId: string, tag: Uint8Array, stored: Uint8Array): Buffer {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.length);
  return bytes.length <= MASKED_TIMES_BYTES ? bytes : open(secrets, placeOf('sealed_time', eventId, tag), bytes);
}
