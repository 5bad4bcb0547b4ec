import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CopyReader } from '#src/database/copy-rows.ts';

/** Rows as PostgreSQL writes them: header, a count and lengths in front of every field, -1 at the end. */
function writeCopy(rows: readonly (readonly Uint8Array[])[], extension: Uint8Array): Buffer {
  const int32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value);
    return bytes;
  };
  const int16 = (value: number) => {
    const bytes = Buffer.alloc(2);
    bytes.writeInt16BE(value);
    return bytes;
  };
  const header = [Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), int32(0), int32(extension.length), extension];
  const body = rows.flatMap((fields) => [
    int16(fields.length),
    ...fields.flatMap((field) => [int32(field.length), field]),
  ]);
  return Buffer.concat([...header, ...body, int16(-1)]);
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
