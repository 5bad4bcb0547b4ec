import { setImmediate } from 'node:timers/promises';

/** Characters after which others have their turn; one piece may go beyond. */
export const CHUNK_CHARACTERS = 64 * 1024;
/** Time after which others have their turn, also where pieces are short and take long to make. */
export const TURN_MS = 10;

/**
 * Joins pieces of text into chunks of UTF-8, and lets other requests have their turn in between: after each chunk, and
 * after each piece that ends more than 10 ms of work.
 */
export async function* streamText(pieces: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  let waiting: string[] = [];
  let characters = 0;
  let began = performance.now();
  for await (const piece of pieces) {
    waiting.push(piece);
    characters += piece.length;
    const full = characters >= CHUNK_CHARACTERS;
    if (!full && performance.now() - began < TURN_MS) continue;
    if (full) {
      yield Buffer.from(waiting.join(''));
      waiting = [];
      characters = 0;
    }
    await setImmediate();
    began = performance.now();
  }
  if (characters > 0) yield Buffer.from(waiting.join(''));
}
