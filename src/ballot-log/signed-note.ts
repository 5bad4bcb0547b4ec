import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';

/**
 * Signed notes of the C2SP signed-note format, with Ed25519: the text, which ends in a newline, an empty line, and lines
 * `— <key name> <base64(key ID ‖ signature)>`. The key ID is the first 4 bytes of SHA-256(name ‖ "\n" ‖ 0x01 ‖ public key).
 * A verifier key is written `<name>+<key ID in hex>+<base64(0x01 ‖ public key)>`. The key name is the host name by which
 * the service is known.
 */
const ED25519 = 0x01;
const KEY_BYTES = 32;
const KEY_ID_BYTES = 4;
const SIGNATURE_BYTES = 64;
const MAX_NOTE_CHARACTERS = 1_000_000;
const SIGNATURE_LINE = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/u;
/** The DER bytes before the seed in PKCS #8, and before the public key in SPKI, of an Ed25519 key (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

export interface NoteVerifier {
  readonly name: string;
  readonly keyId: Uint8Array;
  readonly publicKey: KeyObject;
}

export interface NoteSigner extends NoteVerifier {
  /** The text of the public key, with which others verify this signer's notes. */
  readonly verifierKey: string;
  readonly privateKey: KeyObject;
}

/** Thrown for a note that is malformed or not signed by the expected key. */
export class NoteRefused extends Error {}

/** What `open` reads; undefined if it refuses the note. */
export function unlessRefused<T>(open: () => T): T | undefined {
  try {
    return open();
  } catch (fault) {
    if (fault instanceof NoteRefused) return undefined;
    throw fault;
  }
}

/** Whether a text is allowed in a note, so that every implementation of the format encodes it as the same bytes. */
function isNoteText(text: string): boolean {
  const line = text.replaceAll('\n', '');
  return text.endsWith('\n') && text.isWellFormed() && !/\p{Cc}/u.test(line);
}

function keyIdOf(name: string, rawPublicKey: Uint8Array, algorithm = ED25519): Buffer {
  const named = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(algorithm), rawPublicKey]);
  return hash('sha256', named, 'buffer').subarray(0, KEY_ID_BYTES);
}

/** Creates a signer from an Ed25519 private key, 32 random bytes (RFC 8032, "seed"). */
export function createNoteSigner(name: string, seed: Uint8Array): NoteSigner {
  if (seed.length !== KEY_BYTES) throw new RangeError(`a signing key has ${KEY_BYTES} bytes`);
  const der = Buffer.concat([PKCS8_PREFIX, seed]);
  return nameSigner(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }), name);
}

/** The same key under another name, and so with another key ID. */
export const renameSigner = ({ privateKey }: NoteSigner, name: string): NoteSigner => nameSigner(privateKey, name);

/** As `renameSigner`, for a public key. */
export const renameVerifier = ({ publicKey }: NoteVerifier, name: string): NoteVerifier => ({
  ...{ name, publicKey },
  keyId: keyIdOf(name, rawKeyOf(publicKey)),
});

const rawKeyOf = (publicKey: KeyObject): Buffer =>
  publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX.length);

function nameSigner(privateKey: KeyObject, name: string): NoteSigner {
  if (!/^[^\s+\p{Cc}]+$/u.test(name) || !name.isWellFormed())
    throw new RangeError('a key name has at least one character, no space, plus or control character');
  const publicKey = createPublicKey(privateKey);
  const raw = rawKeyOf(publicKey);
  const keyId = keyIdOf(name, raw);
  const encoded = Buffer.concat([Buffer.of(ED25519), raw]).toString('base64');
  return { name, keyId, publicKey, privateKey, verifierKey: `${name}+${keyId.toString('hex')}+${encoded}` };
}

/** Reads a verifier key. @throws NoteRefused if it is malformed, or its key ID does not match its name, key and `algorithm` byte */
export function parseVerifierKey(text: string, algorithm = ED25519): NoteVerifier {
  const [, name = '', idText = '', keyText = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/u.exec(text) ?? [];
  const bytes = decodeBase64(keyText);
  if (name === '' || bytes?.length !== 1 + KEY_BYTES || bytes[0] !== algorithm)
    throw new NoteRefused('this is no verifier key of an Ed25519 signer');
  const raw = bytes.subarray(1);
  const keyId = keyIdOf(name, raw, algorithm);
  if (keyId.toString('hex') !== idText) throw new NoteRefused('the key ID of this verifier key is not its own');
  const der = Buffer.concat([SPKI_PREFIX, raw]);
  return { name, keyId, publicKey: createPublicKey({ key: der, format: 'der', type: 'spki' }) };
}

/** Decodes canonical base64 only: undefined for example if unused trailing bits are set. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** Signs a text that ends in a newline and returns the whole note. */
export function signNote(text: string, signer: NoteSigner): string {
  if (!isNoteText(text))
    throw new RangeError('the text of a note ends in a newline and has no other control characters');
  const signature = sign(null, Buffer.from(text), signer.privateKey);
  const encoded = Buffer.concat([signer.keyId, signature]).toString('base64');
  return `${text}\n— ${signer.name} ${encoded}\n`;
}

/** Verifies a note and returns its text; ignores other keys. @throws NoteRefused if it is malformed, or not signed by the key */
export function openNote(note: string, verifier: NoteVerifier): string {
  const split = note.lastIndexOf('\n\n');
  if (note.length > MAX_NOTE_CHARACTERS || !isNoteText(note) || split < 1)
    throw new NoteRefused('this is no signed note');
  const text = note.slice(0, split + 1);
  const lines = note.slice(split + 2, -1).split('\n');
  const own = lines.flatMap((line) => signatureOf(line, verifier));
  if (own.length === 0) throw new NoteRefused(`the note is not signed by the key of ${verifier.name}`);
  if (!own.every((signature) => verify(null, Buffer.from(text), verifier.publicKey, signature)))
    throw new NoteRefused(`the signature of ${verifier.name} is false`);
  return text;
}

/** The signature in a line, none if another key made it. @throws NoteRefused for a malformed line */
function signatureOf(line: string, verifier: NoteVerifier): Buffer[] {
  const [, name, encoded = ''] = SIGNATURE_LINE.exec(line) ?? [];
  const bytes = decodeBase64(encoded);
  if (name === undefined || bytes === undefined || bytes.length <= KEY_ID_BYTES)
    throw new NoteRefused('a signature line of the note is malformed');
  const known = name === verifier.name && Buffer.compare(bytes.subarray(0, KEY_ID_BYTES), verifier.keyId) === 0;
  if (!known) return [];
  if (bytes.length !== KEY_ID_BYTES + SIGNATURE_BYTES) throw new NoteRefused('an Ed25519 signature has 64 bytes');
  return [bytes.subarray(KEY_ID_BYTES)];
}
