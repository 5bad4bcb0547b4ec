import { HASH_BYTES } from './merkle-tree.ts';
import { type NoteSigner, signNote } from './signed-note.ts';

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
