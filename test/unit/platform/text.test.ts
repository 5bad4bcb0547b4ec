import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvById } from '#src/platform/csv.ts';
import { CHUNK_LENGTH, streamBytes, streamText } from '#src/platform/stream-text.ts';
import { readTyped, textHolds } from '#src/platform/text.ts';
import { asker } from '#src/platform/turns.ts';

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
  expect(characters).toBeLessThan(CHUNK_LENGTH + 1_000);
});

test.each([
  ['texts', (chunks: number) => streamText(Array.from({ length: chunks }, () => 'x'.repeat(CHUNK_LENGTH)))],
  ['files', (chunks: number) => streamBytes(Buffer.alloc(chunks * CHUNK_LENGTH))],
])(
  'of many long %s one chunk is made in a turn, and those of another account wait for one chunk alone',
  async (_what, open) => {
    const order: string[] = [];
    let [made, most] = [0, 0];
    const read = (account: string, chunks: number) =>
      asker.run({ account }, async () => {
        for await (const _ of open(chunks)) {
          order.push(account);
          made += 1;
        }
      });
    const all = [...Array.from({ length: 40 }, () => read('busy', 6)), read('quiet', 4)];
    await setImmediate();
    // The first chunk of each is made at once.
    expect(order.splice(0)).toHaveLength(41);
    let ended = false;
    const turns = (async () => {
      while (!ended) {
        made = 0;
        await setImmediate();
        most = Math.max(most, made);
      }
    })();
    await Promise.all(all);
    ended = true;
    await turns;
    expect(most).toBeLessThanOrEqual(1);
    expect(order).toHaveLength(40 * 5 + 3);
    expect(order.lastIndexOf('quiet')).toBeLessThan(10);
  },
);

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
