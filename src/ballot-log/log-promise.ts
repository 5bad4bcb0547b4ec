import { logOrigin } from './checkpoint.ts';
import { HASH_BYTES } from './merkle-tree.ts';
import { NoteRefused, type NoteSigner, type NoteVerifier, openNote, signNote } from './signed-note.ts';

/**
 * The promise that a confirmed ballot will be in the log: a signed note of three lines, `<key name>/<voting event id>`,
 * the words below, and the hash of the ballot's leaf in base64. Who holds one, and finds no such leaf after the close, holds
 * the proof that a ballot was removed.
 *
 * The second line keeps promises and checkpoints apart, which the same key signs: a checkpoint has a number there.
 */
const WORDS = 'this leaf will be in the log';

export interface LogPromise {
  readonly origin: string;
  /** 32 bytes. */
  readonly leafHash: Uint8Array;
}

/** The note as text. @param leafHash hash of the leaf in the tree (RFC 6962), 32 bytes */
export function signLogPromise(eventId: string, leafHash: Uint8Array, signer: NoteSigner): string {
  if (leafHash.length !== HASH_BYTES) throw new RangeError(`a leaf hash has ${HASH_BYTES} bytes`);
  const encoded = Buffer.from(leafHash).toString('base64');
  return signNote(`${logOrigin(signer.name, eventId)}\n${WORDS}\n${encoded}\n`, signer);
}

/** What the key has promised. @throws NoteRefused for a note that is no promise of this key */
export function openLogPromise(note: string, verifier: NoteVerifier): LogPromise {
  const [origin = '', words, encoded = '', end, ...more] = openNote(note, verifier).split('\n');
  const leafHash = Buffer.from(encoded, 'base64');
  const formed = words === WORDS && end === '' && more.length === 0;
  if (!formed || leafHash.length !== HASH_BYTES || leafHash.toString('base64') !== encoded) {
    throw new NoteRefused('this is no promise of a leaf');
  }
  return { origin, leafHash };
}
