import { setImmediate } from 'node:timers/promises';
import { Pauses } from './pauses.ts';

/** Characters after which others have their turn; one piece may go beyond. */
export const CHUNK_CHARACTERS = 64 * 1024;

/**
 * Joins pieces of text into chunks of UTF-8, and lets other requests have their turn in between: after each chunk, and
 * after each piece that ends more than 10 ms of work.
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
