import * as ed25519 from '@noble/ed25519';
import { sha256 as digestOf, sha512 } from '@noble/hashes/sha2.js';
import { Buffer } from 'buffer';

// Hashes and signatures for the browser. WebCrypto is not used, because it is asynchronous, and the verifier hashes leaf after leaf.

ed25519.hashes.sha512 = sha512;

export function sha256(...parts: readonly (Uint8Array | string)[]): Buffer {
  const digest = digestOf.create();
  for (const part of parts) digest.update(typeof part === 'string' ? Buffer.from(part) : part);
  return Buffer.from(digest.digest());
}

/** @param publicKey the 32 bytes of an Ed25519 key */
export function isSignedBy(publicKey: Uint8Array, text: Uint8Array, signature: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, text, publicKey, { zip215: false });
  } catch {
    // A signature or key of a wrong length makes no valid signature.
    return false;
  }
}

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
