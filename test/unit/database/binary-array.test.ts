import fc from 'fast-check';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { type ArrayElement, binaryArray, type ElementType } from '#src/database/binary-array.ts';
import { useService } from '#test/harness/test-service.ts';

const service = await useService({ worker: false });
const client = new pg.Client({ connectionString: service.databaseUrl });
await client.connect();
afterAll(() => client.end());

/** What the database reads, element by element. */
async function readBack(type: ElementType, elements: readonly ArrayElement[]): Promise<unknown[]> {
  const { rows } = await client.query<{ element: unknown }>(
    `SELECT element FROM unnest($1::${type}[]) WITH ORDINALITY AS e (element, place) ORDER BY place`,
    [binaryArray(type, elements)],
  );
  return rows.map(({ element }) => element);
}

const nullable = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.array(fc.option(arbitrary), { maxLength: 5 });

async function comesBack<Value extends ArrayElement>(
  type: ElementType,
  arbitrary: fc.Arbitrary<Value>,
  shown: (value: Value) => unknown = (value) => value,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(nullable(arbitrary), async (elements) => {
      const expected = elements.map((one) => (one === null ? null : shown(one)));
      expect(await readBack(type, elements)).toEqual(expected);
    }),
    { numRuns: 40 },
  );
}

/** PostgreSQL keeps every text but those with a zero character, which requests may not hold either. */
const text = fc.string({ unit: 'grapheme', maxLength: 20 }).map((one) => one.replaceAll('\0', ''));

test('texts come back as they were, with quotes, backslashes, empty ones and nulls', async () => {
  await comesBack('text', text);
  const hostile = ['', 'NULL', '{a,b}', '"', '\\', 'ä€😀', null];
  expect(await readBack('text', hostile)).toEqual(hostile);
});

test('bytes come back as they were', () =>
  comesBack('bytea', fc.uint8Array({ maxLength: 40 }), (bytes) => Buffer.from(bytes)));

test('whole numbers come back as they were, up to the ends of the type', async () => {
  await comesBack('bigint', fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), String);
  expect(await readBack('bigint', [Number.MAX_SAFE_INTEGER, -1])).toEqual([String(Number.MAX_SAFE_INTEGER), '-1']);
});

test('JSON comes back as the value that it was written from', () =>
  comesBack(
    'jsonb',
    fc.dictionary(text, text).map((value) => JSON.stringify(value)),
    (json) => JSON.parse(json),
  ));
