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
 * The code of an election's ballot that was cast under an Idempotency-Key: who repeats the request gets it again, although no answer
 * is stored. Only the key of the event can make it.
 * @param seed of the claim
 */
export const deriveConfirmationCode = (secrets: Secrets, eventId: string, seed: Uint8Array): string =>
  base32(
    secrets.mac('confirmation-code', Buffer.concat([Buffer.from(`${eventId}\n`), seed])),
    CODE_CHARACTERS,
  ).toUpperCase();

/** The code as it is stored, however it was typed. Undefined for a text that is no code: it names nothing. */
export function normaliseCode(text: string): string | undefined {
  const code = readTyped(text);
  return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(code) ? code : undefined;
}

/** What is stored of a code, and stands in its leaf of the log. */
export const codeTagOf = (code: string): Buffer => sha256(`code${code}`);

/**
 * What a ballot is found by while it is pending or waits in the queue. In an election it is a hash of the code under the key of
 * the event: the tag that stands in the log would join a copy of these rows, which can be recognised as somebody's, with the
 * ballot that is opened later. A poll uses the tag of the log: its ballots carry their voter.
 * @param secrets what the ballots of the event wait under
 */
export const waitingTag = (secrets: Secrets, event: Pick<VotingEvent, 'id' | 'type'>, code: string): Buffer =>
  event.type === 'poll' ? codeTagOf(code) : secrets.mac('ballot-tag', `${event.id}\n${code}`);

/**
 * A ballot as it is stored until it is sealed into the log: encrypted (AES-256-GCM), because until then the database could
 * show whose ballot it is. The first byte says which form it has; a packed ballot, as it stands in the box, begins with 1:
 *
 *   2   a poll's, under the secret key of the service: packed entries
 *   3   an election's, under the key of its event (`ballot-keys.ts`): everything of it that will be public one day
 *
 * Both go on with 4 bytes, the ID of the key, then nonce, ciphertext and tag. What an election's seals is the tag of the code
 * (32 bytes), the salt (32), whom it was cast for (16, `voter-tag.ts`), the weight (8, millionths, big-endian), the length of the packed
 * entries (4, big-endian), the packed entries, and zeros up to the length of the largest ballot of the definition (`roomOf`), so that the length shows nothing of the
 * choice. Tag and salt stand in the log and in its openings: a copy of the queue that held them in clear would be joined with those
 * later.
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

/** Ties the ciphertext to its ballot: copied to another one it does not open. */
const placeOf = (column: Column, eventId: string, tag: Uint8Array) => ({
  table: 'ballot_queue',
  column,
  row: `${eventId}/${Buffer.from(tag).toString('hex')}`,
});

/** Seals the packed entries of a poll's ballot. @param tag what the row is found by */
export const sealEntries = (secrets: Secrets, eventId: string, tag: Uint8Array, packed: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(POLL_FORM), secrets.sealBytes(packed, placeOf('entries', eventId, tag))]);

interface SecretBallot {
  /** What the ballot will be found by in the log. */
  readonly codeTag: Uint8Array;
  readonly packed: Uint8Array;
  /** Bytes that the packed entries of any ballot of the definition fit into. */
  readonly room: number;
  readonly weightMicro: bigint;
  /** Whom it is cast for, as `tagOfIdentity` names them. */
  readonly voter: Uint8Array;
}

/** Seals a secret ballot with a salt that is drawn here. @param tag what the row is found by, which reveals nothing of `codeTag` */
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

/** What a stored ballot says. */
interface OpenedBallot {
  /** Packed entries, in clear. */
  readonly entries: Buffer;
  /** What an election's ballot brings along in place of its row's own values; undefined for every other one. */
  readonly sealed:
    | {
        readonly id: string;
        readonly codeTag: Buffer;
        readonly salt: Buffer;
        /** What it weighs, whatever its row says. */
        readonly weightMicro: bigint;
        readonly voter: Buffer;
      }
    | undefined;
}

/** Whether a stored ballot is encrypted, so that a key is needed to read it. */
export const isSealed = (stored: Uint8Array): boolean => stored[0] === POLL_FORM || stored[0] === SECRET_FORM;

/**
 * Opens a ballot that waits.
 * @param tag what its row is found by
 * @throws Error where it has another form than its event's, was changed or moved, or its key is not configured
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

/** Opens a confirmed ballot, in the box or on its way. @throws Error as `openWaiting` does */
export const openBallot = (
  secrets: Secrets,
  event: Pick<VotingEvent, 'id' | 'type'>,
  tag: Uint8Array,
  stored: Buffer,
): OpenedBallot =>
  isSealed(stored) ? openWaiting(secrets, event, tag, stored) : { entries: stored, sealed: undefined };

type Opening = Parameters<typeof openWaiting>;
const orNot =
  (open: (...of: Opening) => OpenedBallot) =>
  (...of: Opening): OpenedBallot | undefined => {
    try {
      return open(...of);
    } catch {
      return undefined;
    }
  };

/** The same, undefined where they throw. */
export const openWaitingOrNot = orNot(openWaiting);
export const openBallotOrNot = orNot(openBallot);

/** The ID of a secret ballot in the box: another one than that of its row in the queue, and the same one each time. */
export const ballotIdOf = (salt: Buffer, codeTag: Buffer): string =>
  `bal_${base32(sha256(Buffer.concat([Buffer.from('ballot id'), salt, codeTag])), 26)}`;

const TIME_BYTES = 6;
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

/**
 * Seals the masked times of a secret ballot while it waits: they will stand in the box, where they must not be found again.
 * @param dueMs when it is to be in the log, however few wait
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

/** Whether the times of a stored ballot stand as they do in the box: those of a secret ballot that waits are sealed besides. */
export const isMaskedTime = (stored: Uint8Array): boolean => stored.length === MASKED_TIMES_BYTES;

/** The masked times of a stored ballot, waiting or not; of a secret one that waits when it is due besides. */
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
