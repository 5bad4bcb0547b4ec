import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTyped } from '#src/platform/typed-text.ts';

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
