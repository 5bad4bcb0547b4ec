import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';
import { sha256 } from './secrets.ts';

/** The prefix of an ID: the kind of thing that the ID identifies (completions 1.7). */
export type IdPrefix =
  | 'evt'
  | 'pos'
  | 'cnd'
  | 'grp'
  | 'spn'
  | 'vtr'
  | 'pay'
  | 'biz'
  | 'whe'
  | 'whd'
  | 'msg'
  | 'inv'
  | 'key'
  | 'acc'
  | 'aud'
  | 'bal'
  | 'vot'
  | 'tier'
  | 'crd'
  | 'ntf'
  | 'ltr';

export type Ids = ReturnType<typeof createIds>;

export const ID_ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARACTERS = 9;
const RANDOM_CHARACTERS = 13;

export function base32(bytes: Uint8Array, characters: number): string {
  let text = '';
  for (let index = 0; index < characters; index += 1) {
    const bit = index * 5;
    const byte = bit >> 3;
    const pair = ((bytes[byte] ?? 0) << 8) | (bytes[byte + 1] ?? 0);
    text += ID_ALPHABET.charAt((pair >> (11 - (bit & 7))) & 31);
  }
  return text;
}

function encodeTime(timeMs: number): string {
  let rest = timeMs;
  let text = '';
  for (let index = 0; index < TIME_CHARACTERS; index += 1) {
    text = ID_ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** When a sortable ID was made, in Unix milliseconds. */
export function madeAt(id: string): number {
  const [, rest = ''] = id.split('_');
  let timeMs = 0;
  for (const character of rest.slice(0, TIME_CHARACTERS)) timeMs = timeMs * 32 + ID_ALPHABET.indexOf(character);
  return timeMs;
}

/** Adds one to a base32 number. The largest becomes the smallest; with 65 random bits that practically never happens. */
function increment(text: string): string {
  const digits = [...text];
  for (let index = digits.length - 1; index >= 0; index -= 1) {
    const next = ID_ALPHABET.indexOf(digits[index] ?? '0') + 1;
    if (next < ID_ALPHABET.length) {
      digits[index] = ID_ALPHABET.charAt(next);
      break;
    }
    digits[index] = '0';
  }
  return digits.join('');
}

/** A sortable ID that is always the same for the same thing. @param thing its unique name */
export const idOfThing = (prefix: IdPrefix, timeMs: number, thing: string): string =>
  `${prefix}_${encodeTime(timeMs)}${base32(sha256(thing), RANDOM_CHARACTERS)}`;

export function createIds(clock: Clock) {
  let lastMs = 0;
  let lastRandom = '';
  return {
    /** An ID that sorts by creation: 45 bits of milliseconds, then 65 random bits that count up within a millisecond. */
    sortable(prefix: IdPrefix): string {
      const nowMs = clock.now();
      if (nowMs > lastMs) {
        lastMs = nowMs;
        lastRandom = base32(randomBytes(9), RANDOM_CHARACTERS);
      } else {
        lastRandom = increment(lastRandom);
      }
      return `${prefix}_${encodeTime(lastMs)}${lastRandom}`;
    },
    /** An ID of 130 random bits, which does not reveal when it was made: for ballots and votes. */
    random(prefix: IdPrefix): string {
      return `${prefix}_${base32(randomBytes(17), 26)}`;
    },
  };
}
