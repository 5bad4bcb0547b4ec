import { setImmediate } from 'node:timers/promises';
import { LoopTurns, Pauses } from './loop-turns.ts';
import { asker } from './turns.ts';

/** Characters or bytes of a chunk. Other requests run after each chunk. The last piece of text may exceed it. */
export const CHUNK_LENGTH = 64 * 1024;

/** The turns of all long answers, by account. However many are being sent, an iteration of the event loop makes at most one chunk. */
const turns = new LoopTurns();

/** Returns a function that waits until the next chunk may be made, for the account of the current request. */
function chunkTurns(): () => Promise<void> {
  const account = asker.getStore()?.account ?? '';
  return async () => {
    await setImmediate();
    await turns.take(account, () => undefined);
  };
}

/** Yields bytes in chunks; other requests run in between. */
export async function* streamBytes(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const nextTurn = chunkTurns();
  for (let at = 0; at < bytes.length; at += CHUNK_LENGTH) {
    if (at > 0) await nextTurn();
    yield bytes.subarray(at, at + CHUNK_LENGTH);
  }
}

/**
 * Joins pieces of text into chunks of UTF-8. Other requests run after each chunk, and after a piece if 10 ms have passed since the
 * last pause.
 */
export async function* streamText(pieces: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  let waiting: string[] = [];
  let characters = 0;
  const pauses = new Pauses();
  const nextTurn = chunkTurns();
  for await (const piece of pieces) {
    waiting.push(piece);
    characters += piece.length;
    if (characters < CHUNK_LENGTH) {
      await pauses.take();
      continue;
    }
    yield Buffer.from(waiting.join(''));
    waiting = [];
    characters = 0;
    await nextTurn();
  }
  if (characters > 0) yield Buffer.from(waiting.join(''));
}

/** Levels of nesting that `jsonPieces` splits: for example a body, an object in it, and a list in that object. */
const LEVELS = 3;

/**
 * Yields the text of `JSON.stringify` for a plain value in pieces, so that a list of a thousand rows is sent row by row.
 * The first `levels` levels of nesting are split; values below them are not.
 */
export function* jsonPieces(value: unknown, levels = LEVELS): Generator<string> {
  if (levels === 0 || typeof value !== 'object' || value === null || 'toJSON' in value) {
    yield JSON.stringify(value) ?? 'null';
    return;
  }
  const isArray = Array.isArray(value);
  let before = isArray ? '[' : '{';
  for (const [name, element] of isArray ? value.entries() : Object.entries(value)) {
    if (!isArray && (element === undefined || typeof element === 'function')) continue;
    yield isArray ? before : `${before}${JSON.stringify(name)}:`;
    yield* jsonPieces(element, levels - 1);
    before = ',';
  }
  const empty = before !== ',';
  if (isArray) yield empty ? '[]' : ']';
  else yield empty ? '{}' : '}';
}
