import { randomBytes } from 'node:crypto';
import { base32 } from '#src/platform/ids.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { readTyped } from '#src/platform/typed-text.ts';

const KEY_CHARACTERS = 16;

/** 80 random bits in Crockford's base32, in four groups that people can type: `7H2K-…`. */
export function generateVoterKey(): string {
  const text = base32(randomBytes(10), KEY_CHARACTERS).toUpperCase();
  return (text.match(/.{4}/g) ?? []).join('-');
}

/** What is stored of a key. Bound to the event, so that one hash never speaks for two. */
export function hashVoterKey(secrets: Secrets, eventId: string, key: string): Buffer {
  return secrets.mac('voter-key', `${eventId}\n${readTyped(key)}`);
}
