import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonPieces } from '#src/http/send.ts';

const written = (value: unknown): string => [...jsonPieces(value)].join('');

test('pieces of JSON join to what JSON.stringify gives', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      expect(written(value)).toBe(JSON.stringify(value));
    }),
  );
  for (const value of [
    { data: [], nextCursor: null },
    { data: undefined, x: 1 },
    { a: undefined },
    [undefined, 1],
    { at: new Date(0), deep: { at: new Date(0) } },
    { data: { list: [{ gone: undefined }, null] } },
  ])
    expect(written(value)).toBe(JSON.stringify(value));
});

test('no piece of a list holds more than one row, wherever the list stands', () => {
  const rows = Array.from({ length: 1_000 }, (_, index) => ({ id: index, text: 'x'.repeat(5_000) }));
  for (const body of [{ data: rows, nextCursor: null }, { data: { rows } }]) {
    const longest = Math.max(...[...jsonPieces(body)].map((piece) => piece.length));
    expect(longest).toBeLessThan(5_100);
  }
});
