import { createHash, createPublicKey, verify } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

// Hashes and signatures for Node. `browser/primitives.ts` has the same functions for the page.

export function sha256(...parts: readonly (Uint8Array | string)[]): Buffer {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  return digest.digest();
}

/** @param publicKey the 32 bytes of an Ed25519 key */
export function isSignedBy(publicKey: Buffer, text: Buffer, signature: Buffer): boolean {
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: publicKey.toString('base64url') },
    format: 'jwk',
  });
  return verify(null, text, key, signature);
}

export const pause = (ms: number): Promise<void> => setTimeout(ms);
