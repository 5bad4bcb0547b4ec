import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;

/**
 * HMAC-SHA256 (RFC 2104) under one key, out of two one-shot hashes. The library's own sets a context up for each message, which
 * takes longer than hashing it; a cast asks for five. A test holds it against the library's.
 */
export class HmacKey {
  readonly #inner = Buffer.alloc(BLOCK_BYTES, 0x36);
  /** The outer block, with room behind it for the inner hash. */
  readonly #outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES, 0x5c);

  /** @param key at most 64 bytes: longer ones would have to be hashed first, and ours have 32 */
  constructor(key: Uint8Array) {
    if (key.length > BLOCK_BYTES) throw new Error(`a key has at most ${BLOCK_BYTES} bytes`);
    key.forEach((byte, index) => {
      this.#inner[index] = byte ^ 0x36;
      this.#outer[index] = byte ^ 0x5c;
    });
  }

  mac(message: string | Uint8Array): Buffer {
    const bytes = typeof message === 'string' ? Buffer.byteLength(message) : message.length;
    const keyed = Buffer.allocUnsafe(BLOCK_BYTES + bytes);
    keyed.set(this.#inner);
    if (typeof message === 'string') keyed.write(message, BLOCK_BYTES);
    else keyed.set(message, BLOCK_BYTES);
    this.#outer.write(hash('sha256', keyed, 'hex'), BLOCK_BYTES, 'hex');
    return Buffer.from(hash('sha256', this.#outer, 'hex'), 'hex');
  }
}
