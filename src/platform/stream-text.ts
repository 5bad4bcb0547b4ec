import { setImmediate } from 'node:timers/promises';
import { Pauses } from './loop-turns.ts';

/** Characters of a chunk, after which other requests run; the last piece may exceed it. */
export const CHUNK_CHARACTERS = 64 * 1024;

/**
 * Joins pieces of text into chunks of UTF-8, and lets other requests run in between: after each chunk, and after a piece
 * when 10 ms have passed since the last pause.
 */
export async function* streamText(pieces: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  let waiting: string[] = [];
  let characters = 0;
  const pauses = new Pauses();
  for await (const piece of pieces) {
    waiting.push(piece);
    characters += piece.length;
    if (characters < CHUNK_CHARACTERS) {
      await pauses.take();
      continue;
    }
    yield Buffer.from(waiting.join(''));
    waiting = [];
    characters = 0;
    await setImmediate();
  }
  if (characters > 0) yield Buffer.from(waiting.join(''));
}

/** Levels of nesting that `jsonPieces` splits: for example the body, an object in the body, and a list in that object. */
const LEVELS = 3;

/**
 * The text that `JSON.stringify` gives for a plain value, in pieces, so that a list of a thousand rows can be sent row by row.
 * Values that are nested `levels` deep are not split.
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
