import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { findJsonFaults, MAX_DEPTH, MAX_VALUES } from '#src/http/json/json-fault.ts';
import { digestOf, readLargeBody } from '#src/http/json/large-body.ts';
import { type JsonObject, parseJsonBody } from '#src/http/json/strict-json.ts';
import { judgeShape } from '#src/http/sound-parts.ts';
import { ApiError, validationError } from '#src/platform/errors.ts';
import { jsonPieces } from '#src/platform/stream-text.ts';
import { ThreadPool } from '#src/platform/thread-pool.ts';
import { LOOSE_BODY, looseBody } from '#test/harness/loose-body.ts';

const encoder = new TextEncoder();
const bytesOf = (text: string): Uint8Array => encoder.encode(text);

/** A body of which everything can be kept. */
function keep(bytes: Uint8Array): JsonObject {
  const { value, faults } = parseJsonBody(bytes);
  if (faults.length > 0) throw validationError(faults);
  return value;
}

const parse = (text: string): JsonObject => keep(bytesOf(text));

function refusalOf(bytes: Uint8Array): ApiError {
  try {
    keep(bytes);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

function isRefused(bytes: Uint8Array): boolean {
  try {
    keep(bytes);
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: 'validation_error', status: 422 });
    return true;
  }
}

/** The plainest statement of what may be kept, to compare with. */
function isKeepable(value: unknown): boolean {
  if (typeof value === 'string') return !/[\0\p{Surrogate}]/u.test(value);
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER || value % 1 !== 0;
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, item]) => isKeepable(name) && isKeepable(item));
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('strict JSON', () => {
  test('gives what JSON.parse gives for every object that breaks no rule', () => {
    const unit = fc.oneof(fc.constantFrom('\0', '\ud800', '\udc00', '"', '\\', '\u2028', 'é', '😀'), fc.string());
    const objects = fc.dictionary(
      fc.string({ unit }),
      fc
        .jsonValue({ maxDepth: 6, stringUnit: 'binary' })
        .chain((value) => fc.constantFrom(value, [value, { v: value }])),
    );
    fc.assert(
      fc.property(objects, (value) => {
        const text = JSON.stringify(value);
        if (isKeepable(value) && depthOf(value) <= MAX_DEPTH) expect(parse(text)).toEqual(JSON.parse(text));
        else expect(isRefused(bytesOf(text))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test('answers random bytes with a validation error and nothing else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(isRefused(bytes) || JSON.parse(new TextDecoder().decode(bytes)) !== null).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test('refuses a text exactly when a reading of it from the front finds a fault', () => {
    const piece = fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', '"a"', '"b"', '"\\u0061"', '"\\ud800"', '"\\u0000"'],
      ...['"\\"', '"', '\\', ' ', '\n'],
      ...['0', '1', '-1', '01', '1.5', '1e400', '9007199254740993', '-', 'true', 'null', 'nul', '\ufeff', "'a'"],
    );
    const soup = fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join(''));
    const almost = fc
      .tuple(fc.jsonValue({ maxDepth: 4 }), fc.nat(), fc.nat({ max: 2 }), soup)
      .map(([value, at, cut, patch]) => {
        const text = JSON.stringify({ a: value, b: [value, { c: value }] });
        const place = at % text.length;
        return text.slice(0, place) + patch.slice(0, 3) + text.slice(place + cut);
      });
    fc.assert(
      fc.property(fc.oneof(soup, almost), (text) => {
        const refused = isRefused(bytesOf(text));
        expect([text, refused]).toEqual([text, findJsonFaults(text.toWellFormed()).faults.length > 0]);
      }),
      { numRuns: 3_000 },
    );
  });

  test.each([
    ['', '', 'must be a JSON object'],
    ['null', '', 'must be a JSON object'],
    ['"x"', '', 'must be a JSON object'],
    ['[1]', '', 'must be a JSON object'],
    ['\ufeff{}', '', 'byte order mark'],
    ['{"a":1,}', '', 'a field name in double quotes was expected (line 1, column 8)'],
    ["{'a':1}", '', 'line 1, column 2'],
    ['{"a":1}}', '', 'nothing may follow the object'],
    ['{"a":{"b":tru}}', 'a.b', 'a value was expected'],
    ['{"a":[1,2,]}', 'a[2]', 'a value was expected'],
    ['{"a":-Infinity}', 'a', 'is not valid JSON'],
    ['{"a":"x', 'a', 'the text ends within a string'],
    ['{\n "é😀": 1\n "b": 2}', '', 'line 3, column 2'],
    ['{"a":"\u0001"}', 'a', 'a control character within a string must be escaped'],
    ['{"votes":[{"rank":1},{"rank":1,"rank":2}]}', 'votes[1].rank', 'must not be given more than once'],
    ['{"a":1,"\\u0061":1}', 'a', 'must not be given more than once'],
    ['{"__proto__":1,"__proto__":1}', '__proto__', 'must not be given more than once'],
    ['{"a":{"b":"x\\u0000"}}', 'a.b', 'NUL'],
    ['{"a":"\\ud800x"}', 'a', 'surrogate'],
    ['{"a":{"\\udc00":1}}', 'a', 'a field name must not hold half of a surrogate pair'],
    ['{"a":1e400}', 'a', 'larger than any number'],
    ['{"a":[9007199254740993]}', 'a[0]', 'cannot be kept exactly'],
    ['{"a":-1e300}', 'a', 'cannot be kept exactly'],
  ])('says of %j what is wrong and where', (text, field, message) => {
    const error = refusalOf(bytesOf(text));
    expect(error).toMatchObject({ code: 'validation_error', details: { field, issues: [{ field }] } });
    expect(error.message).toContain(message);
  });

  test('refuses bytes that are not UTF-8, even where the text around them is JSON', () => {
    for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]]) {
      const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
      expect(refusalOf(body).message).toContain('UTF-8');
    }
  });

  test('never repeats a value of the body in its message', () => {
    for (const text of ['{"voterKey":"K7QX-SECRET" oops}', '{"voterKey":"K7QX-SECRET\\u0000"}', '{"a":"K7QX-SECRET']) {
      const { message, details } = refusalOf(bytesOf(text));
      expect(JSON.stringify([message, details])).not.toContain('K7QX');
    }
  });

  test('does not quote a field name of any length', () => {
    const name = 'n'.repeat(100_000);
    expect(refusalOf(bytesOf(`{"${name}":1,"${name}":2}`)).message.length).toBeLessThan(200);
  });

  test('takes 32 levels and refuses 33, whatever they are made of', () => {
    const nested = (levels: number, open: string, close: string): string =>
      `{"a":${open.repeat(levels - 1)}1${close.repeat(levels - 1)}}`;
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      expect(depthOf(parse(nested(MAX_DEPTH, open, close)))).toBe(32);
      expect(refusalOf(bytesOf(nested(MAX_DEPTH + 1, open, close))).message).toContain('more than 32 deep');
      expect(refusalOf(bytesOf(nested(100_000, open, close))).message).toContain('more than 32 deep');
    }
  });

  test('takes 20,000 values and refuses one more', () => {
    const list = (length: number): string => `{"a":[${Array(length).fill(1).join()}]}`;
    expect(parse(list(MAX_VALUES - 2))['a']).toHaveLength(19_998);
    expect(refusalOf(bytesOf(list(MAX_VALUES - 1))).message).toContain('at most 20000 values');
  });

  test.each([
    ...['2.9999999999999999999999', '3.0000000000000000000001', '1.0000000000000000000001', '0.9999999999999999999999'],
    ...['-1.0000000000000000000001', '10000000000000000000001e-22', '1e-400', '-1e-400', '0.12345678901234567890123'],
  ])('refuses %s, which would become another number', (literal) => {
    for (const [text, field] of [
      [`{"a":${literal}}`, 'a'],
      [`{"votes":[{"value":1},{"value":${literal}}]}`, 'votes[1].value'],
    ] as const) {
      const { status, code, message, details } = refusalOf(bytesOf(text));
      expect([status, code, details?.['field']]).toEqual([422, 'validation_error', field]);
      expect(message).toContain('more digits than can be kept');
    }
  });

  test.each(['1.0', '1e3', '-0', '0.0', '0e-400', '100e-2', '1.00000000000000000000000', '0.1', '5e-324', '0.000001'])(
    'takes %s, which says just what is kept',
    (literal) => {
      expect(parse(`{"a":${literal},"text":"2.9999999999999999999999"}`)['a']).toBe(Number(literal));
    },
  );

  test('takes 1,000 fields of an object, however many objects there are, and refuses one more before it is judged', () => {
    const object = (length: number): string =>
      `{${Array.from({ length }, (_, at) => `"${10_000_000 - at * 7}":1`).join(',')}}`;
    const many = `{"a":[${Array.from({ length: 15 }, () => object(1_000)).join(',')}]}`;
    expect(parseJsonBody(bytesOf(many)).faults).toEqual([]);
    const parse = vi.spyOn(JSON, 'parse');
    const refused = refusalOf(bytesOf(`{"a":[{},${object(19_000)}]}`));
    expect(refused.details).toMatchObject({
      field: 'a[1]',
      issues: [{ message: expect.stringContaining('at most 1000 fields') }],
    });
    expect(Math.max(...parse.mock.calls.map(([text]) => text.length))).toBeLessThan(20);
    vi.restoreAllMocks();
  });

  test('refuses a number of more than 40 characters on its field, whatever it says, and reads on', () => {
    const longest = `1.${'0'.repeat(38)}`;
    expect(parse(`{"a":${longest},"b":-${longest.slice(0, 39)}}`)).toEqual({ a: 1, b: -1 });
    for (const literal of [
      `${longest}0`,
      `-${longest}`,
      '9'.repeat(41),
      `0.1${'0'.repeat(100_000)}1`,
      `1e${'0'.repeat(39)}`,
    ]) {
      const { faults } = parseJsonBody(bytesOf(`{"a":[1,${literal}],"b":1e999}`));
      expect(faults.map(({ field }) => field)).toEqual(['a[1]', 'b']);
      expect(faults[0]?.message).toContain('at most 40 characters');
    }
  });

  test('says of every fault in which line and column it begins, counted in characters', () => {
    const spaces = fc.stringMatching(/^[ \n]{0,3}$/);
    const name = fc.stringMatching(/^[a-z\u00e9\u{1f600}]{1,4}$/u);
    const entry = fc.record({ before: spaces, name, after: spaces, isFaulty: fc.boolean() });
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 40 }), (entries) => {
        const places: string[] = [];
        let text = '{';
        for (const [index, { before, name: given, after, isFaulty }] of entries.entries()) {
          text += `${index === 0 ? '' : ','}${before}"${given}${index}":${after}`;
          const lines = text.split('\n');
          if (isFaulty) places.push(`line ${lines.length}, column ${[...(lines.at(-1) ?? '')].length + 1}`);
          text += isFaulty ? '1e999' : '"\\u00e9 \u{1f600} \\\\"';
        }
        const { faults, isRead } = findJsonFaults(`${text}}`);
        expect(isRead).toBe(true);
        expect(faults.map(({ message }) => message.match(/line \d+, column \d+/)?.[0])).toEqual(places);
      }),
    );
  });

  test('does not tell 1 from 1.0', () => {
    expect(parse('{"a":1.0,"b":10e-1}')).toEqual({ a: 1, b: 1 });
  });

  test('keeps __proto__ a field like any other: nothing is polluted, and a strict schema refuses it', () => {
    const text = '{"a":1,"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}';
    const value = parse(text);
    expect(Reflect.get(value, 'isAdmin')).toBeUndefined();
    expect(Reflect.get({}, 'isAdmin')).toBeUndefined();
    const parsed = z.strictObject({ a: z.number() }).safeParse(value);
    expect(parsed.error?.issues).toMatchObject([{ code: 'unrecognized_keys', keys: ['__proto__', 'constructor'] }]);
  });
});

const BOUNDS = { bytes: 32 * 1024 * 1024, values: 250_000 };

const LONG = 'é'.repeat(1_000_000);
const TAKEN = `{"title":"${LONG}","list":[${'1.5,'.repeat(100_000)}null],"b":{"c":true}}`;
const KEPT_IN_PART = `{"title":"${LONG}","n":12345678901234567890}`;
const LONG_NUMBER = `{"title":"${LONG}","n":0.1${'0'.repeat(100_000)}1}`;
const REFUSED = [`{"title":"${LONG}`, `["${LONG}"]`, `{"a":[${'1,'.repeat(300_000)}1]}`, `{"a":"${LONG}"} x`];

const largeRefusalOf = async (work: () => unknown): Promise<unknown> => {
  try {
    await work();
  } catch (fault) {
    if (fault instanceof ApiError) return [fault.code, fault.message, fault.details];
    throw fault;
  }
  throw new Error('was not refused');
};

const threads = new ThreadPool({ threads: 2, maxHeapMb: 256, idleMs: 60_000 }, undefined);
afterAll(() => threads.close());
const folder = mkdtempSync(path.join(tmpdir(), 'bodies-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function readLarge(text: string) {
  const name = path.join(folder, randomUUID());
  await writeFile(name, text);
  const handle = await open(name);
  try {
    const stored = { file: handle.fd, length: (await handle.stat()).size };
    return await readLargeBody(threads, 'a', stored, { ...BOUNDS, schema: LOOSE_BODY });
  } finally {
    await handle.close();
  }
}

describe('a large body', () => {
  test.each(['{}', TAKEN, KEPT_IN_PART, LONG_NUMBER])('is read and judged as any other is (%#)', async (text) => {
    const { judged } = await readLarge(text);
    expect(judged).toEqual(judgeShape(looseBody, parseJsonBody(bytesOf(text), BOUNDS)));
  });

  test('has one hash in every order of its names', async () => {
    const [one, other] = [`{"a":1,"b":[{"c":2,"d":"${LONG}"}]}`, `{"b":[{"d":"${LONG}", "c":2.0}],"a":1}`];
    const { digest } = await readLarge(one);
    expect([digest, (await readLarge(other)).digest]).toEqual([
      digestOf({ value: JSON.parse(one), faults: [] }).digest,
      digest,
    ]);
    expect((await readLarge(one.replace('2', '3'))).digest).not.toBe(digest);
  });

  test.each(REFUSED)('is refused as any other is (%#)', async (text) => {
    const expected = await largeRefusalOf(() => parseJsonBody(bytesOf(text), BOUNDS));
    expect(await largeRefusalOf(() => readLarge(text))).toEqual(expected);
  });

  test('holds up nobody else while it is read, and several come to their own ends', async () => {
    let turns = 0;
    let isDone = false;
    const reading = Promise.all([TAKEN, KEPT_IN_PART, TAKEN].map((text) => readLarge(text)));
    const done = reading.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      await setImmediate();
      turns += 1;
    }
    expect((await done).map(({ judged }) => judged?.issues.length)).toEqual([0, 1, 0]);
    expect(turns).toBeGreaterThan(10);
  });
});

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
