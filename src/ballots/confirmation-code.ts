import { base32 } from '#src/platform/ids.ts';
import { takeRandomBytes } from '#src/platform/random-bytes.ts';
import { sha256 } from '#src/platform/secrets.ts';
import { readTyped } from '#src/platform/typed-text.ts';

const CODE_CHARACTERS = 26;
const CODE_BYTES = 16;
const TIME_BYTES = 6;

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

function pad(code: string): Buffer {
  return sha256(`time${code}`).subarray(0, TIME_BYTES);
}

/** Hides a time under the code, which is not stored: the voter's server gets the same answer twice, a reader of the database learns no time. */
export function sealTime(code: string, timeMs: number): Buffer {
  const bytes = Buffer.alloc(TIME_BYTES);
  bytes.writeUIntBE(timeMs, 0, TIME_BYTES);
  const mask = pad(code);
  return bytes.map((byte, index) => byte ^ (mask[index] ?? 0)) as Buffer;
}

export function openTime(code: string, sealed: Uint8Array): number {
  const mask = pad(code);
  return Buffer.from(sealed.map((byte, index) => byte ^ (mask[index] ?? 0))).readUIntBE(0, TIME_BYTES);
}
