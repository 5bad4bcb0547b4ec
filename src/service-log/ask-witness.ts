import { type Dispatcher, request } from 'undici';
import { consistencyProof, nodesOfConsistency } from '#src/ballot-log/merkle-tree.ts';
import { loadNodes } from '#src/ballot-log/read-log.ts';
import type { NoteVerifier } from '#src/ballot-log/signed-note.ts';
import type { Database } from '#src/database/client.ts';
import { type Cosignature, openCosignature } from './cosignature.ts';
import { type ServiceCheckpoint, serviceTree } from './repository.ts';

/** A witness as `WITNESSES` names it. */
export interface WitnessPlace {
  /** Its submission prefix. */
  readonly url: string;
  readonly key: NoteVerifier;
  /** The verifier key as it was written. */
  readonly keyText: string;
}

/** An answer may hold the lines of several keys. */
const MAX_ANSWER_BYTES = 16_384;
/** The first question, one with the size that the witness names, and one for a witness that moved on meanwhile. */
const MOST_QUESTIONS = 3;

/** A witness that answers, and does not sign. */
class WitnessRefused extends Error {}

/** A witness that has signed a longer log than the database holds. */
export class WitnessAhead extends Error {
  readonly size: number;

  constructor(size: number) {
    super('a witness has signed a longer log');
    this.size = size;
  }
}

/** The start of an answer's body. The rest is cut off with its connection. */
async function readShort(body: Dispatcher.ResponseData['body']): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES) throw new WitnessRefused('the answer of the witness is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** The size that a witness holds, of an answer 409. @throws WitnessRefused where it names none */
function readSize(type: unknown, text: string): number {
  const isSize = typeof type === 'string' && type.startsWith('text/x.tlog.size');
  const [, size] = /^(0|[1-9]\d{0,14})\n$/.exec(text) ?? [];
  if (!isSize || size === undefined) throw new WitnessRefused('the witness refuses this head, and names no size');
  return Number(size);
}

/**
 * Sends a head to a witness with the proof from the size that it signed last (C2SP tlog-witness, `add-checkpoint`).
 * @param known the size that it is believed to have signed last; it says itself where that is another one
 * @param signal ends the exchange, however slowly the witness answers
 * @returns its cosignature, verified
 * @throws WitnessRefused, WitnessAhead, NoteRefused for a false or missing cosignature, or what the exchange throws
 */
export async function askWitness(
  deps: { readonly db: Database; readonly dispatcher: Dispatcher },
  witness: WitnessPlace,
  checkpoint: ServiceCheckpoint,
  known: number,
  signal: AbortSignal,
): Promise<Cosignature> {
  const { size, note } = checkpoint;
  let old = known;
  for (let asked = 0; asked < MOST_QUESTIONS; asked += 1) {
    const body = `old ${old}\n${await proofLines(deps.db, old, size)}\n${note}`;
    const answer = await request(`${witness.url}/add-checkpoint`, {
      method: 'POST',
      body,
      signal,
      dispatcher: deps.dispatcher,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    });
    const text = await readShort(answer.body);
    if (answer.statusCode === 200)
      return openCosignature(text, note.slice(0, note.lastIndexOf('\n\n') + 1), witness.key);
    if (answer.statusCode !== 409) throw new WitnessRefused(`the witness answers ${answer.statusCode}`);
    const held = readSize(answer.headers['content-type'], text);
    if (held > size) throw new WitnessAhead(held);
    // The same size again, and a conflict: it holds another root for it.
    if (held === old) throw new WitnessRefused('the witness holds another root for this size');
    old = held;
  }
  throw new WitnessRefused('the witness names another size each time');
}

async function proofLines(db: Database, from: number, to: number): Promise<string> {
  if (from === 0 || from === to) return '';
  const read = await loadNodes(serviceTree(db), nodesOfConsistency(from, to), to);
  return consistencyProof(from, to, read)
    .map((hash) => `${Buffer.from(hash).toString('base64')}\n`)
    .join('');
}
