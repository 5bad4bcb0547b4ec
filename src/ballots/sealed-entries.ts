import type { Secrets } from '#src/platform/secrets.ts';

/**
 * A ballot's packed entries as they are stored until the ballot is sealed into the log: encrypted (AES-256-GCM), because
 * until then the database could tell whose ballot it is. Version 2 of the column's encoding:
 *
 *   byte 0       the version, 2
 *   4 bytes      the ID of the secret key
 *   the rest     nonce, ciphertext and tag
 *
 * A first byte of 1 is a packed ballot in clear (`ballot-encoding.ts`): one that was sealed into the log.
 */
const SEALED_VERSION = 2;
const KEY_ID_BYTES = 4;

/** Ties the ciphertext to its ballot: copied to another one it does not open. */
function placeOf(eventId: string, codeTag: Uint8Array) {
  return { table: 'ballot_queue', column: 'entries', row: `${eventId}/${Buffer.from(codeTag).toString('hex')}` };
}

export function sealEntries(secrets: Secrets, eventId: string, codeTag: Uint8Array, packed: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(SEALED_VERSION), secrets.sealBytes(packed, placeOf(eventId, codeTag))]);
}

/** The packed entries of a stored ballot, sealed or not. @throws Error when it was changed, moved, or its key is not configured */
export function openEntries(secrets: Secrets, eventId: string, codeTag: Uint8Array, stored: Uint8Array): Buffer {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.length);
  if (bytes[0] !== SEALED_VERSION) return bytes;
  const keyId = bytes.toString('hex', 1, 1 + KEY_ID_BYTES);
  return secrets.open(`${keyId}.${bytes.toString('base64url', 1 + KEY_ID_BYTES)}`, placeOf(eventId, codeTag));
}
