import type { Pool } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { databaseErrorCode } from './client.ts';

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

/** Times that a copy is begun before it fails, where the database ends it because it took too long. */
const TRIES = 5;
const STATEMENT_TIMEOUT = '57014';

/**
 * Reads a whole binary COPY, the fastest way out of the database, in the pieces in which it comes. No row is looked at
 * meanwhile: the database waits while nothing reads, and counts that time against its limit of a statement. Where it ends the
 * copy all the same, because this process had no time to read, the copy is begun again.
 * @param query SQL text without parameters, of a bounded number of rows: COPY takes none, and all of it is held
 */
export async function copyPieces(pool: Pool, query: string): Promise<Buffer[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await copyOnce(pool, query);
    } catch (fault) {
      if (attempt >= TRIES || databaseErrorCode(fault) !== STATEMENT_TIMEOUT) throw fault;
    }
  }
}

async function copyOnce(pool: Pool, query: string): Promise<Buffer[]> {
  const client = await pool.connect();
  // The client puts its time limit on the callback, which this stream never calls: done here, or it would fire later.
  const stream = Object.assign(copyTo(`COPY (${query}) TO STDOUT (FORMAT binary)`), {
    callback: (): void => undefined,
  });
  let complete = false;
  try {
    client.query(stream);
    const pieces: Buffer[] = [];
    for await (const piece of stream) pieces.push(piece as Buffer);
    complete = true;
    return pieces;
  } finally {
    stream.callback();
    // A connection whose copy broke off may still be sending it.
    client.release(!complete);
  }
}
