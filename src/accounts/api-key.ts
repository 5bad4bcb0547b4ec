import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Scope } from '#src/http/caller.ts';
import type { DecidingRow } from '#src/platform/row-tag.ts';
import { sha256 } from '#src/platform/secrets.ts';
import type { apiKeys } from './tables.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_CHARACTERS = 32;
const CHECKSUM_CHARACTERS = 6;
const SHAPE = new RegExp(`^v[svol]k_[0-9A-Za-z]{${RANDOM_CHARACTERS + CHECKSUM_CHARACTERS}}$`);

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let index = 0; index < CHECKSUM_CHARACTERS; index += 1) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Prefixes of keys with a single exclusive scope; organizers' keys with `read` or `write` begin with `vsk_`. */
const PREFIXES: Readonly<Partial<Record<Scope, string>>> = { vote: 'vvk_', observe: 'vok_', log: 'vlk_' };

/** A new key: prefix by scope, 190 random bits, and a checksum that secret scanners and we can verify. */
export function generateApiKey(scopes: readonly Scope[]): string {
  const prefix = scopes.map((scope) => PREFIXES[scope]).find((one) => one !== undefined) ?? 'vsk_';
  const body = prefix + Array.from({ length: RANDOM_CHARACTERS }, () => BASE62.charAt(randomInt(62))).join('');
  return body + checksum(body);
}

/** Whether a text can be a key: length and shape first, so that only a bounded text is hashed, then the checksum. */
export function isWellFormedApiKey(text: string): boolean {
  if (text.length !== 4 + RANDOM_CHARACTERS + CHECKSUM_CHARACTERS || !SHAPE.test(text)) return false;
  return checksum(text.slice(0, -CHECKSUM_CHARACTERS)) === text.slice(-CHECKSUM_CHARACTERS);
}

/** SHA-256 suffices: a slow password hash adds nothing to 190 random bits. */
export function hashApiKey(key: string): Buffer {
  return sha256(key);
}

/** The part of a key that may be shown: prefix and last four characters. */
export function hintOf(key: string): string {
  return `${key.slice(0, 4)}…${key.slice(-4)}`;
}

/** The columns that an API key's tag covers: account and rights. `revokedAt` is not covered, so that revoking needs no new tag. */
export const rowOfApiKey = (
  key: Pick<typeof apiKeys.$inferSelect, 'id' | 'accountId' | 'hash' | 'votingEventId' | 'expiresAt'> & {
    readonly scopes: readonly string[];
  },
): DecidingRow => [
  'api_keys',
  ...[key.id, key.accountId, key.hash.toString('hex'), key.scopes.join(), key.votingEventId, key.expiresAt],
];
