import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CHUNK_CHARACTERS, streamText } from '#src/platform/stream-text.ts';

/** Reads a text as fast as it comes, and gives what was made between two turns of another request at most. */
async function mostBetweenTurns(count: number, make: () => string): Promise<{ pieces: number; characters: number }> {
  let made = { pieces: 0, characters: 0 };
  const most = { pieces: 0, characters: 0 };
  let ended = false;
  const other = (async () => {
    while (!ended) {
      made = { pieces: 0, characters: 0 };
      await setImmediate();
    }
  })();
  function* pieces(): Generator<string> {
    for (let index = 0; index < count; index += 1) {
      const piece = make();
      made.pieces += 1;
      made.characters += piece.length;
      most.pieces = Math.max(most.pieces, made.pieces);
      most.characters = Math.max(most.characters, made.characters);
      yield piece;
    }
  }
  let characters = 0;
  for await (const chunk of streamText(pieces())) characters += chunk.length;
  ended = true;
  await other;
  expect(characters).toBeGreaterThan(0);
  return most;
}

test('a long text is made a chunk at a time, and others have their turn after each', async () => {
  const { characters } = await mostBetweenTurns(3_000, () => 'x'.repeat(1_000));
  expect(characters).toBeLessThan(CHUNK_CHARACTERS + 1_000);
});

test('short pieces that take long to make give others their turn as well', async () => {
  const work = (): string => {
    const end = performance.now() + 11;
    while (performance.now() < end);
    return 'x';
  };
  expect((await mostBetweenTurns(20, work)).pieces).toBe(1);
});
