import { HASH_BYTES } from './merkle-tree.ts';
import { NoteRefused, type NoteSigner, type NoteVerifier, openNote, signNote } from './signed-note.ts';

/**
 * The promise that a confirmed ballot will be in the log: a signed note of four lines, `<key name>/<voting event id>`, the
 * words below, the hash of the ballot's leaf in base64, and `until` with a date in UTC. The holder of one that finds no such
 * leaf after that date, or after the close, holds the proof that a ballot was removed. Promises of versions up to 1.0.0 have no
 * date.
 *
 * The second line keeps promises and checkpoints apart, which the same key signs: a checkpoint has a number there.
 */
const WORDS = 'this leaf will be in the log';
const UNTIL = 'until ';

export interface LogPromise {
  readonly origin: string;
  /** 32 bytes. */
  readonly leafHash: Uint8Array;
  /** Unix ms; undefined where no date was promised. */
  readonly untilMs?: number;
}

/**
 * The note as text.
 * @param origin of the log that it promises by: `originOf`
 * @param leafHash hash of the leaf in the tree (RFC 6962), 32 bytes
 * @param untilMs until when the leaf will be in the log; undefined for a ballot that was promised without a date
 */
export function signLogPromise(
  origin: string,
  leafHash: Uint8Array,
  signer: NoteSigner,
  untilMs: number | undefined,
): string {
  if (leafHash.length !== HASH_BYTES) throw new RangeError(`a leaf hash has ${HASH_BYTES} bytes`);
  const encoded = Buffer.from(leafHash).toString('base64');
  const date = untilMs === undefined ? '' : `${UNTIL}${new Date(untilMs).toISOString()}\n`;
  return signNote(`${origin}\n${WORDS}\n${encoded}\n${date}`, signer);
}

/** What the key has promised. @throws NoteRefused for a note that is no promise of this key */
export function openLogPromise(note: string, verifier: NoteVerifier): LogPromise {
  const lines = openNote(note, verifier).split('\n');
  const [origin = '', words, encoded = '', date] = lines;
  const leafHash = Buffer.from(encoded, 'base64');
  const dated = lines.length === 5;
  const untilMs = dated ? readDate(date) : undefined;
  const formed = words === WORDS && lines.at(-1) === '' && (dated ? untilMs !== undefined : lines.length === 4);
  if (!formed || leafHash.length !== HASH_BYTES || leafHash.toString('base64') !== encoded) {
    throw new NoteRefused('this is no promise of a leaf');
  }
  return untilMs === undefined ? { origin, leafHash } : { origin, leafHash, untilMs };
}

/** Undefined for a line that is not `until` and a date in its one form. */
function readDate(line = ''): number | undefined {
  const ms = line.startsWith(UNTIL) ? Date.parse(line.slice(UNTIL.length)) : Number.NaN;
  return !Number.isNaN(ms) && line === `${UNTIL}${new Date(ms).toISOString()}` ? ms : undefined;
}
