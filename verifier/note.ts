import { isSignedBy, sha256 } from './primitives.ts';

/** Data that were read are wrong. The message is for people. */
export class Unbelievable extends Error {}

/** A text without a valid signature of the service's key, for example cut off or mistyped. It says nothing against the service. */
export class Unsigned extends Unbelievable {}

export interface LogKey {
  readonly name: string;
  readonly id: string;
  /** The 32 bytes of an Ed25519 key. */
  readonly publicKey: Buffer;
}

/** The byte that stands for each kind of signature. */
const ED25519 = 1;
const COSIGNATURE_V1 = 4;
/** The last second that a date can express. */
const LAST_SECOND = 8_640_000_000_000n;

/** Reads a key in the form of C2SP: `<name>+<8 hex digits>+<base64 of 0x01 and the Ed25519 key>`. */
export const readLogKey = (text: string): LogKey => readKey(text, ED25519, 'the log key');

/** Reads a witness's key, which has 0x04 (for cosignatures) in place of 0x01. */
export const readWitnessKey = (text: string): LogKey => readKey(text, COSIGNATURE_V1, 'the witness key');

function readKey(text: string, algorithm: number, what: string): LogKey {
  const [, name, id, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text.trim()) ?? [];
  if (name === undefined || id === undefined || encoded === undefined) throw new Unbelievable(`${what} is malformed`);
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.length !== 33 || bytes[0] !== algorithm) throw new Unbelievable(`${what} is of another kind`);
  const expected = sha256(`${name}\n`, bytes).toString('hex').slice(0, 8);
  if (expected !== id) throw new Unbelievable(`${what} has the ID of another key`);
  return { name, id, publicKey: bytes.subarray(1) };
}

/** The same key under another name. */
export function renameKey({ publicKey }: LogKey, name: string): LogKey {
  return { name, publicKey, id: sha256(`${name}\n`, Buffer.of(ED25519), publicKey).toString('hex').slice(0, 8) };
}

/**
 * When a witness signed a note, in Unix ms, by its own clock (C2SP tlog-cosignature, `cosignature/v1`); undefined if it did not.
 * @throws Unbelievable for a false signature in the name of the witness
 */
export function readCosignature(note: string, witness: LogKey): number | undefined {
  const gap = note.lastIndexOf('\n\n');
  for (const line of note.slice(gap + 2).split('\n')) {
    const [, name, encoded] = /^— (\S+) (\S+)$/u.exec(line) ?? [];
    const bytes = Buffer.from(encoded ?? '', 'base64');
    if (name !== witness.name || bytes.toString('hex', 0, 4) !== witness.id) continue;
    const seconds = bytes.length === 76 ? bytes.readBigUInt64BE(4) : 0n;
    const signed = Buffer.from(`cosignature/v1\ntime ${seconds}\n${note.slice(0, gap + 1)}`);
    const isTime = bytes.length === 76 && seconds <= LAST_SECOND;
    if (!isTime || !isSignedBy(witness.publicKey, signed, bytes.subarray(12)))
      throw new Unbelievable(`the cosignature of ${name} is false`);
    return Number(seconds) * 1_000;
  }
  return undefined;
}

/** Length of a signature, with the ID of its key. */
const SIGNATURE_BYTES = 68;

/** The lines of a note that the key has signed. @throws Unsigned, or Unbelievable if another key of the same name has signed */
export function readSignedLines(note: string, logKey: LogKey): string[] {
  const gap = note.lastIndexOf('\n\n');
  if (gap < 0 || !note.endsWith('\n')) throw new Unsigned('it is no signed note');
  const text = note.slice(0, gap + 1);
  const signatures = note
    .slice(gap + 2)
    .split('\n')
    .flatMap((line) => {
      const [, name, encoded] = /^— (\S+) (\S+)$/u.exec(line) ?? [];
      const bytes = Buffer.from(encoded ?? '', 'base64');
      return name === logKey.name && bytes.length === SIGNATURE_BYTES ? [bytes] : [];
    });
  if (signatures.length === 0) throw new Unsigned(`it bears no signature of ${logKey.name}`);
  const own = signatures.filter((bytes) => bytes.toString('hex', 0, 4) === logKey.id);
  if (own.length === 0) throw new Unbelievable(`another key of the name ${logKey.name} has signed it`);
  if (!own.every((bytes) => isSignedBy(logKey.publicKey, Buffer.from(text), bytes.subarray(4))))
    throw new Unsigned('its signature is false');
  return text.slice(0, -1).split('\n');
}

/** A head of a log: of an event's log, or of the service's own. */
export interface TreeHead {
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
}

/** A head of an event's log. */
export interface SignedHead extends TreeHead {
  /** Number of ballots confirmed so far, whether in the log or waiting for it. */
  readonly confirmed: number;
}

function readLines(lines: readonly string[]): TreeHead {
  const [origin = '', size = '', root = ''] = lines;
  const hash = Buffer.from(root, 'base64');
  if (!/^(0|[1-9]\d{0,14})$/.test(size) || hash.length !== 32) throw new Unbelievable('it is no checkpoint');
  return { origin, size: Number(size), root: hash };
}

/** Reads a checkpoint of the service's own log. Its signed text has exactly three lines. */
export function readServiceHead(note: string, serviceKey: LogKey): TreeHead {
  const lines = readSignedLines(note, serviceKey);
  if (lines.length !== 3) throw new Unbelievable('it is no checkpoint of the service’s own log');
  return readLines(lines);
}

/** Reads a checkpoint of an event's log, whose fourth line says how many ballots were confirmed. */
export function readCheckpoint(note: string, logKey: LogKey): SignedHead {
  const lines = readSignedLines(note, logKey);
  const confirmed = /^confirmed (0|[1-9]\d{0,14})$/.exec(lines[3] ?? '')?.[1];
  if (lines.length !== 4 || confirmed === undefined)
    throw new Unbelievable('it is no checkpoint of four lines, the last of which says how many ballots were confirmed');
  return { ...readLines(lines), confirmed: Number(confirmed) };
}

/** A promise to a voter. */
export interface SignedPromise {
  readonly origin: string;
  readonly leaf: Buffer;
  /** The time by which the leaf will be in the log, in Unix ms. */
  readonly untilMs: number;
}

/** Every repetition has a bound, so that the time grows only linearly with the text. */
const PROMISE =
  /(\S{1,300})\s{1,99}this\s{1,99}leaf\s{1,99}will\s{1,99}be\s{1,99}in\s{1,99}the\s{1,99}log\s{1,99}([\w+/\s]{43,99}=)\s{1,99}until\s{1,99}(\S{24})\s{1,99}[—–-]{1,3}\s{1,99}(\S{1,300})\s{1,99}([\w+/\s]{90,199}={0,2})/;
/** A longer text contains more than a receipt. */
const MOST_CHARACTERS = 20_000;

/**
 * Restores a signed promise from a text in which a mail or a form has broken or joined its lines, or indented or quoted them. The
 * signature shows whether it was restored correctly.
 * @returns the text itself if it contains no promise
 */
export function mendPromise(text: string): string {
  const plain = text.slice(0, MOST_CHARACTERS).replaceAll(/^[ \t>]+/gm, '');
  const [, origin, leaf = '', date, name, signature = ''] = PROMISE.exec(plain) ?? [];
  if (origin === undefined) return text;
  const [hash, signed] = [leaf, signature].map((part) => part.replaceAll(/\s/g, ''));
  return `${origin}\nthis leaf will be in the log\n${hash}\nuntil ${date}\n\n— ${name} ${signed}\n`;
}

const DATE = /^until (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/;

export function readPromise(note: string, logKey: LogKey): SignedPromise {
  const lines = readSignedLines(note, logKey);
  const [origin = '', words, leaf = '', date = ''] = lines;
  const hash = Buffer.from(leaf, 'base64');
  const untilMs = Date.parse(DATE.exec(date)?.[1] ?? '');
  if (lines.length !== 4 || words !== 'this leaf will be in the log' || hash.length !== 32 || Number.isNaN(untilMs))
    throw new Unbelievable('it is no promise of a leaf');
  return { origin, leaf: hash, untilMs };
}
