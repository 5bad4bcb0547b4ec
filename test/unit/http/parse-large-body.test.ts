import { setImmediate } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { parseLargeBody } from '#src/http/json/parse-large-body.ts';
import { parseJsonBody } from '#src/http/json/strict-json.ts';
import { ApiError } from '#src/platform/errors.ts';

const BOUNDS = { bytes: 32 * 1024 * 1024, values: 250_000 };
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

const LONG = 'é'.repeat(1_000_000);
const TAKEN = `{"title":"${LONG}","list":[${'1.5,'.repeat(100_000)}null],"b":{"c":true}}`;
const KEPT_IN_PART = `{"title":"${LONG}","n":12345678901234567890}`;
const REFUSED = [`{"title":"${LONG}`, `["${LONG}"]`, `{"a":[${'1,'.repeat(300_000)}1]}`, `{"a":"${LONG}"} x`];

const refusalOf = async (work: () => unknown): Promise<unknown> => {
  try {
    await work();
  } catch (fault) {
    if (fault instanceof ApiError) return [fault.code, fault.message, fault.details];
    throw fault;
  }
  throw new Error('was not refused');
};

describe('a large body', () => {
  test.each([TAKEN, KEPT_IN_PART])('is read as any other is (%#)', async (text) => {
    expect(await parseLargeBody(bytesOf(text), BOUNDS)).toEqual(parseJsonBody(bytesOf(text), BOUNDS));
  });

  test.each(REFUSED)('is refused as any other is (%#)', async (text) => {
    const expected = await refusalOf(() => parseJsonBody(bytesOf(text), BOUNDS));
    expect(await refusalOf(() => parseLargeBody(bytesOf(text), BOUNDS))).toEqual(expected);
  });

  test('holds up nobody else while it is read, and several come to their own ends', async () => {
    let turns = 0;
    let isDone = false;
    const reading = Promise.all([TAKEN, KEPT_IN_PART, TAKEN].map((text) => parseLargeBody(bytesOf(text), BOUNDS)));
    const done = reading.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      await setImmediate();
      turns += 1;
    }
    expect((await done).map(({ faults }) => faults.length)).toEqual([0, 1, 0]);
    expect(turns).toBeGreaterThan(10);
  });

  test('that comes while the idle thread ends is read by another', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      await parseLargeBody(bytesOf(TAKEN), BOUNDS);
      vi.advanceTimersByTime(60_000);
      expect((await parseLargeBody(bytesOf(TAKEN), BOUNDS)).faults).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });
});
