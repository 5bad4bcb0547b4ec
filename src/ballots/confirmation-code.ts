import { base32 } from '#src/platform/ids.ts';
import { takeRandomBytes } from '#src/platform/random-bytes.ts';
import { type Secrets, sha256 } from '#src/platform/secrets.ts';
import { readTyped } from '#src/platform/typed-text.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

const CODE_CHARACTERS = 26;
const CODE_BYTES = 16;
const TIME_BYTES = 6;
/** Two masked times in clear; sealed they are longer. */
export const MASKED_TIMES_BYTES = 2 * TIME_BYTES;

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

/** The two times of a confirmed ballot. */
interface ConfirmTimes {
  readonly confirmedMs: number;
  /** Until when the ballot was promised to be in the log; undefined for one that was promised no date. */
  readonly promisedMs: number | undefined;
}

/**
 * Hides when a ballot was confirmed, and until when it was promised to be in the log, under the code, which is not stored:
 * the voter's server gets the same answer twice, a reader of the database learns no time. Each takes six bytes.
 */
export function sealTimes(code: string, { confirmedMs, promisedMs }: ConfirmTimes): Buffer {
  const times = promisedMs === undefined ? [confirmedMs] : [confirmedMs, promisedMs];
  const bytes = Buffer.alloc(times.length * TIME_BYTES);
  for (const [index, time] of times.entries()) bytes.writeUIntBE(time, index * TIME_BYTES, TIME_BYTES);
  return mask(code, bytes);
}

export function openTimes(code: string, sealed: Uint8Array): ConfirmTimes {
  const bytes = mask(code, sealed);
  return {
    confirmedMs: bytes.readUIntBE(0, TIME_BYTES),
    promisedMs: bytes.length < MASKED_TIMES_BYTES ? undefined : bytes.readUIntBE(TIME_BYTES, TIME_BYTES),
  };
}

function mask(code: string, bytes: Uint8Array): Buffer {
  const pad = sha256(`time${code}`);
  return Buffer.from(bytes.map((byte, index) => byte ^ (pad[index] ?? 0)));
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
