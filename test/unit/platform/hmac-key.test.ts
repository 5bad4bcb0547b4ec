import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HmacKey } from '#src/platform/secrets.ts';

test('agrees with the library for every key and message, texts beyond ASCII and one key used again included', () => {
  const message = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.uint8Array({ maxLength: 300 }));
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 64 }),
      fc.array(message, { minLength: 1, maxLength: 5 }),
      (key, messages) => {
        const ours = new HmacKey(key);
        for (const one of messages)
          expect(ours.mac(one).toString('hex')).toBe(createHmac('sha256', key).update(one).digest('hex'));
      },
    ),
    { numRuns: 1_000 },
  );
});

test('refuses a key that would have to be hashed first', () => {
  expect(() => new HmacKey(new Uint8Array(65))).toThrow('at most 64 bytes');
});
