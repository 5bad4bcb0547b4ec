import { setImmediate } from 'node:timers/promises';

const CHUNK_CHARACTERS = 64 * 1024;

/** Joins pieces of text into chunks of UTF-8, and lets other requests have their turn between two of them. */
export async function* streamText(pieces: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  let waiting: string[] = [];
  let characters = 0;
  for await (const piece of pieces) {
    waiting.push(piece);
    characters += piece.length;
    if (characters < CHUNK_CHARACTERS) continue;
    yield Buffer.from(waiting.join(''));
    waiting = [];
    characters = 0;
    await setImmediate();
  }
  if (characters > 0) yield Buffer.from(waiting.join(''));
}
