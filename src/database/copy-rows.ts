import type { Pool } from 'pg';
import { to as copyTo } from 'pg-copy-streams';

/** A row as it came: where its fields begin and end within `bytes`, which is good until the next row is asked for. */
export interface CopiedRow {
  readonly bytes: Buffer;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** "PGCOPY\n\xff\r\n\0", flags and the length of the header's extension. */
const HEADER_BYTES = 19;
const END_OF_ROWS = -1;

/**
 * Reads a binary COPY, which comes in pieces that end anywhere. NULL is not read: the columns that are copied are NOT NULL.
 * https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS
 */
export class CopyReader {
  readonly #row: { bytes: Buffer; readonly starts: Int32Array; readonly ends: Int32Array };
  #rest: Buffer = Buffer.alloc(0);
  #headerRead = false;

  constructor(fields: number) {
    this.#row = { bytes: this.#rest, starts: new Int32Array(fields), ends: new Int32Array(fields) };
  }

  /** Hands every row that is complete by now to `take`. */
  read(piece: Buffer, take: (row: CopiedRow) => void): void {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    this.#row.bytes = bytes;
    let at = 0;
    if (!this.#headerRead) {
      const extension = bytes.length < HEADER_BYTES ? 0 : bytes.readInt32BE(HEADER_BYTES - 4);
      if (bytes.length < HEADER_BYTES + extension) {
        this.#rest = bytes;
        return;
      }
      at = HEADER_BYTES + extension;
      this.#headerRead = true;
    }
    for (;;) {
      const end = this.#locate(bytes, at);
      if (end === undefined) break;
      take(this.#row);
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }

  /** Where the row that begins at `at` ends, or undefined where it is not complete yet or was the last. */
  #locate(bytes: Buffer, at: number): number | undefined {
    if (bytes.length < at + 2) return undefined;
    const fields = bytes.readInt16BE(at);
    const { starts, ends } = this.#row;
    if (fields === END_OF_ROWS) return undefined;
    if (fields !== starts.length) throw new Error(`a copied row has ${fields} fields instead of ${starts.length}`);
    let next = at + 2;
    for (let field = 0; field < fields; field += 1) {
      if (bytes.length < next + 4) return undefined;
      const length = bytes.readInt32BE(next);
      if (length < 0) throw new Error('a copied field is NULL');
      starts[field] = next + 4;
      ends[field] = next + 4 + length;
      next += 4 + length;
    }
    return bytes.length < next ? undefined : next;
  }
}

/**
 * Streams the rows of a query, the fastest way out of the database, without ever holding more than a piece of them.
 * @param query SQL text without parameters: COPY takes none
 */
export async function copyRows(
  pool: Pool,
  query: string,
  fields: number,
  take: (row: CopiedRow) => void,
): Promise<void> {
  const client = await pool.connect();
  // The client puts its time limit on the callback, which this stream never calls: done here, or it would fire later.
  const stream = Object.assign(copyTo(`COPY (${query}) TO STDOUT (FORMAT binary)`), {
    callback: (): void => undefined,
  });
  let complete = false;
  try {
    client.query(stream);
    const reader = new CopyReader(fields);
    for await (const piece of stream) reader.read(piece as Buffer, take);
    complete = true;
  } finally {
    stream.callback();
    // A connection whose copy broke off may still be sending it.
    client.release(!complete);
  }
}
