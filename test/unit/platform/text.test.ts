import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvById } from '#src/platform/csv.ts';
import { CHUNK_CHARACTERS, streamText } from '#src/platform/stream-text.ts';
import { readTyped, textHolds } from '#src/platform/text.ts';

test('reads a table page by page until one is not full, and writes each row once behind its head', async () => {
  const rows = Array.from({ length: 1_001 }, (_, index) => ({ id: String(index).padStart(4, '0') }));
  const asked: string[] = [];
  const pieces = csvById(
    ['id', 'sum'],
    async (after, limit) => {
      asked.push(after);
      return rows.filter(({ id }) => id > after).slice(0, limit);
    },
    ({ id }) => [id, null],
  );
  const lines = (await Array.fromAsync(pieces)).join('').split('\r\n');
  expect(lines).toEqual(['\ufeffid,sum', ...rows.map(({ id }) => `"${id}",`), '']);
  expect(asked).toEqual(['', '0499', '0999']);
});

test('writes a table without rows as its head alone', async () => {
  const pieces = csvById(
    ['id'],
    async (): Promise<{ id: string }[]> => [],
    () => [],
  );
  expect(await Array.fromAsync(pieces)).toEqual(['\ufeffid\r\n']);
});

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

test('a short search finds any sign as it is written, at the beginning of a word, and never fails', () => {
  for (let code = 0x21; code < 0x2ff; code += 1) {
    const sign = String.fromCodePoint(code);
    expect(textHolds(`before ${sign}after`, sign), `U+${code.toString(16)}`).toBe(true);
  }
  expect(textHolds('voter.created', 'cr')).toBe(true);
  expect(textHolds('voter.created', 're')).toBe(false);
  expect(textHolds('voter', '.')).toBe(false);
});

test('reads what was handed out however it is typed', () => {
  const given = fc.string({
    unit: fc.constantFrom(...'0123456789ABCDEFGHJKMNPQRSTVWXYZ'),
    minLength: 1,
    maxLength: 26,
  });
  const typists = [
    (text: string) => text,
    (text: string) => text.toLowerCase(),
    (text: string) => (text.match(/.{1,4}/g) ?? []).join('-'),
    (text: string) => (text.match(/.{1,4}/g) ?? []).join(' '),
    (text: string) => text.replaceAll('0', 'O').replaceAll('1', 'l'),
    (text: string) => text.replaceAll('0', 'o').replaceAll('1', 'I'),
  ];
  fc.assert(
    fc.property(given, fc.constantFrom(...typists), (text, typed) => {
      expect(readTyped(typed(text))).toBe(text);
    }),
    { numRuns: 1_000 },
  );
});
