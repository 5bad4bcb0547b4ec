import type { Pool } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { databaseErrorCode } from './client.ts';

/** A row in binary form: where its fields begin and end within `bytes`. Valid only until the next row is read. */
export interface CopiedRow {
  readonly bytes: Buffer;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** Header: the signature "PGCOPY\n\xff\r\n\0", flags, and the length of an extension. */
const HEADER_BYTES = 19;
const END_OF_ROWS = -1;

/**
 * Parses a binary COPY, whose pieces may end in the middle of a row. Rejects NULL: all copied columns are NOT NULL.
 * https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS
 */
export class CopyReader {
  readonly #row: { bytes: Buffer; readonly starts: Int32Array; readonly ends: Int32Array };
  #rest: Buffer = Buffer.alloc(0);
  #headerRead = false;

  constructor(fields: number) {
    this.#row = { bytes: this.#rest, starts: new Int32Array(fields), ends: new Int32Array(fields) };
  }

  /** Passes every row that is complete by now to `take`, and keeps the rest for the next piece. */
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

  /** The end of the row that begins at `at`; undefined if the row is incomplete, or after the last row. */
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

/** Attempts at a copy that the database ends by its statement timeout. */
const TRIES = 5;
const STATEMENT_TIMEOUT = '57014';

/**
 * Reads a whole binary COPY, the fastest way to export rows, into pieces. Rows are parsed later, because the time in which this process
 * does not read counts against the statement timeout. If the timeout still ends the copy, because this process was too busy to read, the
 * copy is started again.
 * @param query SQL text without parameters, because COPY takes none; all its rows must fit in memory
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
  // The driver wraps `callback` to clear its time limit, but this stream never calls it. The call below prevents a late timeout.
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
    // After an interrupted copy, the server may still be sending rows: close the connection.
    client.release(!complete);
  }
}
