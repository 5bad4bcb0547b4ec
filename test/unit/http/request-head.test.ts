import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { announcesBody, checkContentType, ownRequestId, parseIdempotencyKey } from '#src/http/request-headers.ts';
import { MAX_TARGET_LENGTH, parseRequestTarget } from '#src/http/request-target.ts';
import { ApiError } from '#src/platform/errors.ts';
import { checkFraming, checkRequestSyntax } from '#src/server/framing.ts';
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
    ...['/%', '/%zz', '/%f', '/%ff', '/%c0%80', '/%ed%a0%80', '/%00', '/a%0ab', '/%7f', '/%c2%85', '/?a=%00'],
    ...['/?a=%ff', '/?%0d=1', '/a#b', '/ÿ', '/a b', '', '*', 'a', 'localhost:443', 'http://localhost/me'],
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

/** The field that a check refuses, or undefined where it refuses nothing. */
function refusedField(check: () => void): unknown {
  try {
    check();
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    expect(error.code).toBe('bad_request');
    return error.details?.['field'];
  }
}

describe('the syntax of headers', () => {
  test.each(['authorization', 'content-type', 'content-length', 'host', 'user-agent', 'expect'])(
    'two of %s are refused, in whatever case, even where they agree',
    (name) => {
      const host = name === 'host' ? [] : ['Host', 'a.example'];
      expect(refusedField(() => checkRequestSyntax([...host, name, 'a.example']))).toBeUndefined();
      expect(
        refusedField(() => checkRequestSyntax([...host, name, 'a.example', name.toUpperCase(), 'a.example'])),
      ).toBe(name);
    },
  );

  test('a list header may come in several lines', () => {
    const headers = [
      'Host',
      'a.example',
      'Accept',
      'a/b',
      'Accept',
      'c/d',
      'X-Forwarded-For',
      '1',
      'X-Forwarded-For',
      '2',
    ];
    expect(refusedField(() => checkRequestSyntax(headers))).toBeUndefined();
  });

  test.each([
    ...['localhost', 'localhost:3000', 'API.example.com', 'a.example.', '127.0.0.1:65535', '[::1]', '[::1]:3000'],
    ...['my_host'],
  ])('takes the Host %j', (host) => {
    expect(refusedField(() => checkRequestSyntax(['host', host]))).toBeUndefined();
  });

  test.each([
    ...['', ' ', 'a b', 'a,b', 'a/b', 'user@a', 'a:', 'a:b', 'a:99999', '[::1', '[::g]', '127.1', '0x7f.1'],
    ...['256.1.1.1', 'ü.example', 'a%2eb', 'a#b', 'a?b', 'a\\b', '..'],
  ])('refuses the Host %j', (host) => {
    expect(refusedField(() => checkRequestSyntax(['host', host]))).toBe('Host');
  });

  test('a missing Host and any coding of the body are refused', () => {
    expect(refusedField(() => checkRequestSyntax([]))).toBe('Host');
    expect(refusedField(() => checkRequestSyntax([], '1.0'))).toBeUndefined();
    expect(refusedField(() => checkRequestSyntax(['Host', ''], '1.0'))).toBe('Host');
    for (const coding of ['gzip', 'identity', '']) {
      expect(refusedField(() => checkRequestSyntax(['Host', 'a', 'Content-Encoding', coding]))).toBe(
        'Content-Encoding',
      );
    }
  });

  test('the only transfer coding is chunked, once, in HTTP/1.1', () => {
    expect(refusedField(() => checkFraming([], '1.0'))).toBeUndefined();
    expect(refusedField(() => checkFraming(['Transfer-Encoding', 'Chunked'], '1.1'))).toBeUndefined();
    for (const [version, ...values] of [
      ['1.0', 'chunked'],
      ['1.1', 'gzip, chunked'],
      ['1.1', 'xchunked'],
      ['1.1', 'identity'],
      ['1.1', 'chunked', 'chunked'],
    ]) {
      const headers = values.flatMap((value) => ['Transfer-Encoding', value]);
      expect(refusedField(() => checkFraming(headers, version ?? ''))).toBe('Transfer-Encoding');
    }
  });

  test('no header, whatever it holds, is answered with anything but bad_request', () => {
    const name = fc.constantFrom(
      'Host',
      'Content-Type',
      'Idempotency-Key',
      'Transfer-Encoding',
      'X-Request-Id',
      'Content-Length',
    );
    const header = fc.tuple(name, fc.string({ unit: 'binary' }));
    fc.assert(
      fc.property(fc.array(header, { maxLength: 6 }), (pairs) => {
        const headers = pairs.flat();
        for (const check of [checkRequestSyntax, checkContentType, parseIdempotencyKey, ownRequestId, announcesBody])
          refusedField(() => check(headers));
        refusedField(() => checkFraming(headers, '1.1'));
      }),
      { numRuns: 500 },
    );
  });
});

describe('the idempotency key', () => {
  test('is what was sent, when it is 1 to 255 visible ASCII characters', () => {
    expect(parseIdempotencyKey([])).toBeUndefined();
    expect(parseIdempotencyKey(['idempotency-KEY', '!~'])).toBe('!~');
    expect(parseIdempotencyKey(['Idempotency-Key', 'k'.repeat(255)])).toHaveLength(255);
  });

  test.each([[['']], [['a b']], [['k'.repeat(256)]], [['é']], [['a\t']], [['a', 'a']]])(
    'is refused when it is %j',
    (values) => {
      const headers = values.flatMap((value) => ['Idempotency-Key', value]);
      expect(refusedField(() => parseIdempotencyKey(headers))).toBe('Idempotency-Key');
    },
  );
});

describe('the request ID', () => {
  test("is the caller's own when it can be one, and never an error", () => {
    expect(ownRequestId(['X-Request-ID', 'order_17-a'])).toBe('order_17-a');
    for (const value of ['', 'a b', 'a.b', 'é', 'a'.repeat(65)])
      expect(ownRequestId(['X-Request-Id', value])).toBeUndefined();
    expect(ownRequestId(['X-Request-Id', 'a', 'X-Request-Id', 'a'])).toBeUndefined();
    expect(ownRequestId([])).toBeUndefined();
  });
});

describe('the headers of a body', () => {
  test('announce one by a length above zero or by a transfer coding', () => {
    expect(announcesBody([])).toBe(false);
    expect(announcesBody(['Content-Length', '0'])).toBe(false);
    expect(announcesBody(['Content-Length', '00'])).toBe(false);
    expect(announcesBody(['Content-Length', '2'])).toBe(true);
    expect(announcesBody(['Transfer-Encoding', 'chunked'])).toBe(true);
  });

  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('take the content type %j', (type) => {
    expect(refusedField(() => checkContentType(['Content-Type', type]))).toBeUndefined();
  });

  test.each([
    ...['', 'text/plain', 'text/json', 'application/x-www-form-urlencoded', 'application/json; charset=utf-16'],
    ...['application/json; charset="utf-8', 'application/json; version=2', 'application/json, application/json'],
    ...['application/jsonx', 'application/problem+json'],
  ])('refuse the content type %j', (type) => {
    expect(refusedField(() => checkContentType(['Content-Type', type]))).toBe('Content-Type');
  });

  test('refuse a body without a content type', () => {
    expect(refusedField(() => checkContentType([]))).toBe('Content-Type');
  });
});
