import { createCipheriv, createDecipheriv, createHash, hash, hkdfSync, timingSafeEqual } from 'node:crypto';
import { makeClearable, takeRandomBytes } from './random-bytes.ts';

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;

/**
 * HMAC-SHA256 (RFC 2104) under one key, made of two one-shot hashes. Node's `createHmac` sets up a context per message, which
 * takes longer than hashing, and a cast computes five. A test compares the results with those of Node.
 */
export class HmacKey {
  readonly #inner = makeClearable(BLOCK_BYTES).fill(0x36);
  /** The outer block, with room behind it for the inner hash. */
  readonly #outer = makeClearable(BLOCK_BYTES + HASH_BYTES).fill(0x5c);

  /** @param key at most 64 bytes: a longer key would have to be hashed first, and the service's keys have 32 */
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
    this.#outer.write(hash('sha256', keyed, 'latin1'), BLOCK_BYTES, 'latin1');
    // This memory is reused for other data: the key is wiped from it.
    keyed.fill(0, 0, BLOCK_BYTES);
    return Buffer.from(hash('sha256', this.#outer, 'latin1'), 'latin1');
  }

  clear(): void {
    this.#inner.fill(0);
    this.#outer.fill(0);
  }
}

const PURPOSES = [
  'encryption',
  'voter-key',
  'mailed-key',
  'fingerprint',
  'idempotency-key',
  'cursor',
  'download',
  'identity',
  'mask',
  'invite',
  'ballot-tag',
  'row-tag',
  'confirmation-code',
  'log-signing',
  'key-check',
] as const;
/** What a derived key is used for; each purpose has its own key, so that one use never reveals another. */
type SecretPurpose = (typeof PURPOSES)[number];

/** Where an encrypted value is stored. Encryption authenticates the place: a value copied to another row cannot be decrypted there. */
export interface SealedPlace {
  readonly table: string;
  readonly column: string;
  readonly row: string;
}

/** The place in a column, as a function of the row. */
export const placesIn =
  (table: string, column: string) =>
  (row: string): SealedPlace => ({ table, column, row });

export type Secrets = Readonly<ReturnType<typeof createSecrets>>;

const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
export const SECRET_KEY_BYTES = 32;

type Keyring = ReturnType<typeof createKeyring>;

function createKeyring(master: Uint8Array) {
  if (master.length !== SECRET_KEY_BYTES) throw new Error(`a secret key has ${SECRET_KEY_BYTES} bytes`);
  /** Buffers, because they can be wiped: a `KeyObject` stays in memory until garbage collection. */
  const keys = new Map(
    PURPOSES.map((purpose) => [
      purpose,
      Buffer.from(hkdfSync('sha256', master, '', `voting-service/${purpose}`, SECRET_KEY_BYTES)),
    ]),
  );
  const macs = new Map([...keys].map(([purpose, key]) => [purpose, new HmacKey(key)]));
  const encryption = requireKey(keys.get('encryption'), 'encryption');
  return { id: createHash('sha256').update('key-id').update(encryption).digest('hex').slice(0, 8), keys, macs };
}

function clearKeyring(ring: Keyring): void {
  for (const key of ring.keys.values()) key.fill(0);
  for (const mac of ring.macs.values()) mac.clear();
  ring.keys.clear();
  ring.macs.clear();
}

const keyFor = (ring: Keyring, purpose: SecretPurpose): Buffer => requireKey(ring.keys.get(purpose), purpose);

function requireKey<Key>(key: Key | undefined, purpose: SecretPurpose): Key {
  if (key === undefined) throw new Error(`no key for ${purpose}`);
  return key;
}

function associatedData(place: SealedPlace): Buffer {
  return Buffer.from(JSON.stringify([place.table, place.column, place.row]));
}

/** Nonce, ciphertext and tag. */
function encrypt(ring: Keyring, plain: string | Uint8Array, place: SealedPlace): Buffer[] {
  const nonce = takeRandomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keyFor(ring, 'encryption'), nonce);
  cipher.setAAD(associatedData(place));
  return [nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()];
}

/** Splits an encrypted ("sealed") value into key ID and bytes. A text is `<key ID>.<base64url>`; bytes begin with the key ID. */
function split(sealed: string | Buffer): [id: string, bytes: Buffer] {
  if (typeof sealed !== 'string') return [sealed.toString('hex', 0, KEY_ID_BYTES), sealed.subarray(KEY_ID_BYTES)];
  const dot = sealed.indexOf('.');
  return [sealed.slice(0, dot), Buffer.from(sealed.slice(dot + 1), 'base64url')];
}

/** @param masters the current key, then the keys it replaced @param onUnreadable called with a stored value's place */
export function createSecrets(
  masters: readonly Uint8Array[],
  onUnreadable: (place: SealedPlace) => void = () => undefined,
) {
  const rings = masters.map(createKeyring);
  const current = rings[0];
  if (current === undefined) throw new Error('at least one secret key is needed');
  const macOf = (ring: Keyring, purpose: SecretPurpose, message: string | Uint8Array): Buffer =>
    requireKey(ring.macs.get(purpose), purpose).mac(message);
  const openSealed = (sealed: string | Buffer, place: SealedPlace): Buffer => {
    const [id, bytes] = split(sealed);
    const ring = rings.find((candidate) => candidate.id === id);
    if (ring === undefined) throw new Error('sealed under a secret key that is not configured');
    const decipher = createDecipheriv('aes-256-gcm', keyFor(ring, 'encryption'), bytes.subarray(0, NONCE_BYTES));
    decipher.setAAD(associatedData(place));
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES)), decipher.final()]);
  };
  return {
    /** The ID of the current key: 8 hex digits, with which every value that this key encrypts begins. */
    id: current.id,
    /** How many secret keys are listed; above 1 while a rotation is under way. */
    count: rings.length,
    /** HMAC-SHA256 under the key of a purpose. */
    mac: (purpose: SecretPurpose, message: string | Uint8Array): Buffer => macOf(current, purpose, message),
    /** HMACs under each listed secret key, the current key first. They find values that were stored before a rotation. */
    macs: (purpose: SecretPurpose, message: string | Uint8Array): Buffer[] =>
      rings.map((ring) => macOf(ring, purpose, message)),
    /** A key of 32 bytes derived for a purpose, for a library that needs a key of its own. */
    derive: (purpose: SecretPurpose): Buffer => keyFor(current, purpose),
    /** Encrypts with AES-256-GCM. The text begins with the ID of the key. */
    seal: (plain: string | Uint8Array, place: SealedPlace): string =>
      `${current.id}.${Buffer.concat(encrypt(current, plain, place)).toString('base64url')}`,
    /** Encrypts like `seal`, but returns bytes: the ID of the key, then nonce, ciphertext and tag. */
    sealBytes: (plain: string | Uint8Array, place: SealedPlace): Buffer =>
      Buffer.concat([Buffer.from(current.id, 'hex'), ...encrypt(current, plain, place)]),
    /** Decrypts a stored value. Throws and raises an alarm if it was changed or moved, or its key is not listed. */
    open(sealed: string | Buffer, place: SealedPlace): Buffer {
      try {
        return openSealed(sealed, place);
      } catch (fault) {
        onUnreadable(place);
        throw fault;
      }
    },
    /** Decrypts input from outside: undefined, and no alarm, if this service did not encrypt it. */
    openForeign(sealed: string | Buffer, place: SealedPlace): Buffer | undefined {
      try {
        return openSealed(sealed, place);
      } catch {
        // Input from outside may be anything: a failure only means that this service did not encrypt the input.
        return undefined;
      }
    },
    /** Wipes every key from memory; later calls fail. Copies inside of Node's crypto remain until garbage collection. */
    clear: () => rings.forEach(clearKeyring),
  };
}

/** Requests the hash as a latin1 string and converts it: Node takes longer to return a buffer than to hash. */
export function sha256(message: string | Uint8Array): Buffer {
  return Buffer.from(hash('sha256', message, 'latin1'), 'latin1');
}

/** Compares in a time that does not depend on where the two differ. */
export function equalSecrets(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}
