import fc from 'fast-check';
import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { type ArrayElement, binaryArray, type ElementType } from '#src/database/binary-array.ts';
import { CopyReader } from '#src/database/copy-rows.ts';
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

/** Rows as PostgreSQL writes them: header, a count and lengths in front of every field, -1 at the end. */
function writeCopy(rows: readonly (readonly Uint8Array[])[], extension: Uint8Array): Buffer {
  const int = (value: number, length = 4) => {
    const bytes = Buffer.alloc(length);
    bytes.writeIntBE(value, 0, length);
    return bytes;
  };
  const header = [Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), int(0), int(extension.length), extension];
  const body = rows.flatMap((fields) => [
    int(fields.length, 2),
    ...fields.flatMap((field) => [int(field.length), field]),
  ]);
  return Buffer.concat([...header, ...body, int(-1, 2)]);
}

function readPieces(fields: number, bytes: Buffer, cuts: readonly number[]): string[][] {
  const reader = new CopyReader(fields);
  const rows: string[][] = [];
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  let from = 0;
  for (const end of ends) {
    reader.read(bytes.subarray(from, end), (row) =>
      rows.push([...row.starts].map((start, field) => row.bytes.toString('hex', start, row.ends[field]))),
    );
    from = end;
  }
  return rows;
}

describe('a binary copy', () => {
  test('gives its rows wherever the pieces that it comes in end', () => {
    const field = fc.uint8Array({ maxLength: 40 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(field, field, field), { maxLength: 12 }),
        fc.uint8Array({ maxLength: 5 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        (rows, extension, cuts) => {
          const expected = rows.map((fields) => fields.map((one) => Buffer.from(one).toString('hex')));
          expect(readPieces(3, writeCopy(rows, extension), cuts)).toEqual(expected);
        },
      ),
    );
    const whole = writeCopy([[Buffer.from('a'), Buffer.from('bc')]], Buffer.alloc(0));
    expect(readPieces(2, whole, [...whole.keys()])).toEqual([['61', '6263']]);
  });

  test('is refused when it has other fields than were asked for, or none in one of them', () => {
    const copy = writeCopy([[Buffer.from('a'), Buffer.from('b')]], Buffer.alloc(0));
    expect(() => readPieces(3, copy, [])).toThrow('2 fields instead of 3');
    copy.writeInt32BE(-1, 21);
    expect(() => readPieces(2, copy, [])).toThrow('NULL');
  });
});
