import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_TARGET_LENGTH, parseRequestTarget } from '#src/http/request-target.ts';
import { ApiError } from '#src/platform/errors.ts';
import { fillIn, readBadInputs } from '#test/harness/bad-inputs.ts';

/** The code of the refusal, or undefined where there is none. */
function codeOf(target: string): string | undefined {
  try {
    parseRequestTarget(target);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
}

describe('the request target', () => {
  test('is decoded once, segment by segment, and nothing of it is repaired', () => {
    expect(parseRequestTarget('/a/b%2Fc/%2561//d%20e/?x=1')).toEqual({
      path: '/a/b%2Fc/%2561//d%20e/',
      segments: ['a', 'b/c', '%61', '', 'd e', ''],
      query: [['x', '1']],
    });
  });

  test('keeps repetitions and order of a query, and reads a plus as a space', () => {
    expect(parseRequestTarget('/?a=1+2&b&a=%2B&=x&c=d=e').query).toEqual([
      ['a', '1 2'],
      ['b', ''],
      ['a', '+'],
      ['', 'x'],
      ['c', 'd=e'],
    ]);
  });

  test.each([
    '/%',
    '/%zz',
    '/%f',
    '/%ff',
    '/%c0%80',
    '/%ed%a0%80',
    '/%00',
    '/a%0ab',
    '/%7f',
    '/%c2%85',
    '/?a=%00',
    '/?a=%ff',
    '/?%0d=1',
    '/a#b',
    '/ÿ',
    '/a b',
    '',
    '*',
    'a',
    'localhost:443',
    'http://localhost/me',
  ])('is refused as bad_request when it is %j', (target) => {
    expect(codeOf(target)).toBe('bad_request');
  });

  test.each(['/..', '/.', '/public/../me', '/public/%2e%2E/me', '/public/./me', '/public\\..\\me', '/\\me'])(
    'names nothing when a URL parser would make another path of %j',
    (target) => {
      expect(codeOf(target)).toBe('not_found');
    },
  );

  test('tells of a bad query before it tells of a path that names nothing', () => {
    expect(codeOf('/../me?a=%zz')).toBe('bad_request');
  });

  test('is bounded', () => {
    expect(codeOf(`/${'a'.repeat(MAX_TARGET_LENGTH - 1)}`)).toBeUndefined();
    expect(codeOf(`/${'a'.repeat(MAX_TARGET_LENGTH)}`)).toBe('bad_request');
  });

  test('is never answered otherwise than as what it is, whatever the bytes', () => {
    const piece = fc.oneof(
      fc.constantFrom('%', '/', '?', '&', '=', '%2', '%2F', '..', '\\', '#', '+'),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        expect([undefined, 'bad_request', 'not_found']).toContain(codeOf(`/${pieces.join('')}`));
      }),
      { numRuns: 1_000 },
    );
  });

  test('gives back what was encoded into it', () => {
    const text = fc
      .string({ unit: 'grapheme' })
      .filter((value) => !/^\.{1,2}$|\p{Cc}/u.test(value) && value.isWellFormed());
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 5 }),
        fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 5 }),
        (segments, query) => {
          const target = `/${segments.map(encodeURIComponent).join('/')}?${new URLSearchParams(query)}`;
          expect(parseRequestTarget(target)).toMatchObject({ segments, query });
        },
      ),
    );
  });

  test('answers the shared cases as they expect', () => {
    const inputs = readBadInputs()?.filter((input) => /^(path|query)-/.test(input.name)) ?? [];
    for (const input of inputs) {
      const code = codeOf(fillIn(input.path, { event: 'evt_1', otherGroupId: 'grp_1', otherAccountCursor: 'c' }));
      // The others are refused later, by the route that is or is not there.
      const isSyntax = /nul|bad-percent|utf8/.test(input.name);
      expect([input.name, code]).toEqual([input.name, isSyntax ? input.expectCode : undefined]);
    }
  });
});
