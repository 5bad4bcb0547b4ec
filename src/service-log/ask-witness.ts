import { type Dispatcher, request } from 'undici';
import { proveConsistency } from '#src/ballot-log/read-log.ts';
import type { NoteVerifier } from '#src/ballot-log/signed-note.ts';
import type { Database } from '#src/database/client.ts';
import { type Cosignature, openCosignature } from './cosignature.ts';
import { type ServiceCheckpoint, serviceTree } from './repository.ts';

/** A witness from the setting WITNESSES. */
export interface WitnessPlace {
  /** The witness's submission prefix (C2SP tlog-witness). */
  readonly url: string;
  readonly key: NoteVerifier;
  readonly keyText: string;
}

/** The first request, a retry with the size that the witness reports, and another retry if it has signed a new head meanwhile. */
const MOST_QUESTIONS = 3;

/** Thrown if a witness responds without signing. */
class WitnessRefused extends Error {}

/** Thrown if a witness has signed a longer log than the database has, which means that the database lost leaves. */
export class WitnessAhead extends Error {
  readonly size: number;

  constructor(size: number) {
    super('a witness has signed a longer log');
    this.size = size;
  }
}

/** The size in a 409 response, which is the size that the witness signed last. @throws WitnessRefused if the response has none */
function readSize(type: unknown, text: string): number {
  const isSize = typeof type === 'string' && type.startsWith('text/x.tlog.size');
  const [, size] = /^(0|[1-9]\d{0,14})\n$/.exec(text) ?? [];
  if (!isSize || size === undefined) throw new WitnessRefused('the witness refuses this head, and names no size');
  return Number(size);
}

/**
 * Sends a head to a witness, with the consistency proof from the size that the witness signed last (C2SP tlog-witness, `add-checkpoint`).
 * @param known the size that the witness presumably signed last; if it is wrong, the witness reports the right size
 * @param signal aborts the whole exchange, so that a slow witness cannot prolong it
 * @returns the verified cosignature
 * @throws WitnessRefused, WitnessAhead, NoteRefused for an invalid or missing cosignature, or a network error
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
    const text = await answer.body.text();
    if (answer.statusCode === 200)
      return openCosignature(text, note.slice(0, note.lastIndexOf('\n\n') + 1), witness.key);
    if (answer.statusCode !== 409) throw new WitnessRefused(`the witness answers ${answer.statusCode}`);
    const held = readSize(answer.headers['content-type'], text);
    if (held > size) throw new WitnessAhead(held);
    // The witness reports a conflict at the size that it signed last: it has signed another root at this size.
    if (held === old) throw new WitnessRefused('the witness holds another root for this size');
    old = held;
  }
  throw new WitnessRefused('the witness names another size each time');
}

async function proofLines(db: Database, from: number, to: number): Promise<string> {
  if (from === 0 || from === to) return '';
  return (await proveConsistency(serviceTree(db), from, to)).map((hash) => `${hash}\n`).join('');
}
