import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson } from '#src/platform/canonical-json.ts';

test('names are sorted by UTF-16 code units, at every depth, and nothing is set apart by spaces', () => {
  const value = { b: 2, a: { d: [{ y: 1, x: 2 }], c: null }, '': 0, A: true };
  expect(canonicalJson(value)).toBe('{"":0,"A":true,"a":{"c":null,"d":[{"x":2,"y":1}]},"b":2}');
});

test('a name beyond the basic plane sorts by its surrogates, before one at the end of the plane', () => {
  expect(canonicalJson({ '\ufb33': 1, '😀': 2, ö: 3, '\u0080': 4, '\r': 5, '1': 6, '€': 7 })).toBe(
    '{"\\r":5,"1":6,"\u0080":4,"ö":3,"€":7,"😀":2,"\ufb33":1}',
  );
});

test('names that look like numbers are sorted as texts', () => {
  expect(canonicalJson({ 10: 'a', 9: 'b', '01': 'c' })).toBe('{"01":"c","10":"a","9":"b"}');
});

test('numbers are written as ECMAScript writes them', () => {
  const numbers = [
    [0, '0'],
    [-0, '0'],
    [1.0, '1'],
    [-1.5, '-1.5'],
    [1e21, '1e+21'],
    [1e20, '100000000000000000000'],
    [1e-6, '0.000001'],
    [1e-7, '1e-7'],
    [5e-324, '5e-324'],
    [Number.MAX_VALUE, '1.7976931348623157e+308'],
    [2 ** 53 + 1, '9007199254740992'],
    [0.1 + 0.2, '0.30000000000000004'],
  ] as const;
  for (const [number, text] of numbers) expect(canonicalJson(number)).toBe(text);
});

test('only what must be escaped is, and by the shortest form', () => {
  expect(canonicalJson('"\\/\b\f\n\r\t\u0000\u001f\u007f\u2028é😀')).toBe(
    '"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\u007f\u2028é😀"',
  );
});

test('characters are not normalised: what looks alike stays apart', () => {
  expect(canonicalJson('\u00e9')).not.toBe(canonicalJson('e\u0301'));
});

test('what JSON cannot say is refused, wherever it stands', () => {
  const hole = new Array<number>(2);
  const unsayable = [
    undefined,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '\ud800',
    'a\udc00b',
    1n,
    Symbol('x'),
    () => 1,
    hole,
    new Date(0),
    new Map([['a', 1]]),
    Buffer.from('x'),
  ];
  for (const value of unsayable) {
    for (const wrapped of [value, [value], { a: value }, [[{ a: [value] }]]])
      expect(() => canonicalJson(wrapped)).toThrow(TypeError);
  }
  expect(() => canonicalJson({ '\ud800': 1 })).toThrow(TypeError);
});

test('any JSON value is read back as the same value, and equal values give equal texts', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const text = canonicalJson(value);
      const parsed: unknown = JSON.parse(text);
      expect(canonicalJson(parsed)).toBe(text);
      expect(parsed).toEqual(JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: 500, seed: 8785 },
  );
});

test('names are sorted by UTF-16 code units however many there are', () => {
  const names = fc.uniqueArray(fc.string({ unit: 'grapheme', maxLength: 4 }), { minLength: 0, maxLength: 30 });
  fc.assert(
    fc.property(names, (all) => {
      const text = canonicalJson(Object.fromEntries(all.map((name) => [name, 0])));
      expect(text).toBe(`{${all.toSorted().map((name) => `${JSON.stringify(name)}:0`)}}`);
    }),
    { numRuns: 300, seed: 8785 },
  );
});
