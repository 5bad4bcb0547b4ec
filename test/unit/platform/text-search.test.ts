import { expect, test } from 'vitest';
import { textHolds } from '#src/platform/text.ts';

test('a short search finds any sign as it is written, at the beginning of a word, and never fails', () => {
  for (let code = 0x21; code < 0x2ff; code += 1) {
    const sign = String.fromCodePoint(code);
    expect(textHolds(`before ${sign}after`, sign), `U+${code.toString(16)}`).toBe(true);
  }
  expect(textHolds('voter.created', 'cr')).toBe(true);
  expect(textHolds('voter.created', 're')).toBe(false);
  expect(textHolds('voter', '.')).toBe(false);
});
