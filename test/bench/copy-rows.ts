import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Presets, SingleBar } from 'cli-progress';
import { from } from 'pg-copy-streams';
import { withClient } from '#test/harness/empty-database.ts';

const ROWS_A_CHUNK = 2_000;

/** What a column of a row may hold; bytes are written as `bytea`, `null` as no value. */
type Cell = string | number | bigint | boolean | Buffer | null;

function textOf(cell: Cell): string {
  if (cell === null) return '\\N';
  if (Buffer.isBuffer(cell)) return `\\\\x${cell.toString('hex')}`;
  if (typeof cell === 'boolean') return cell ? 't' : 'f';
  if (typeof cell === 'string') return cell.replace(/[\\\t\n\r]/g, (character) => `\\${character}`);
  return String(cell);
}

interface CopyTask {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: number;
  /** The cells of a row, in the order of the columns. */
  readonly row: (index: number) => readonly Cell[];
}

/**
 * Writes generated rows by `COPY`, with a progress bar. Triggers and foreign keys of the rows are not run: they are right
 * because the generator makes them so.
 */
export async function copyRows(databaseUrl: string, task: CopyTask): Promise<void> {
  const bar = new SingleBar(
    { format: `{bar} {percentage} % of {total} rows of ${task.table}, {eta} s left`, clearOnComplete: true },
    Presets.shades_classic,
  );
  // Not from the pool: its time limits are made for requests.
  const copying = withClient(databaseUrl, async (client) => {
    await client.query('SET session_replication_role = replica');
    bar.start(task.rows, 0);
    const stream = client.query(from(`COPY ${task.table} (${task.columns.join(', ')}) FROM STDIN`));
    await pipeline(Readable.from(chunksOf(task, (done) => bar.update(done))), stream);
    await client.query(`ANALYZE ${task.table}`);
  });
  await copying.finally(() => bar.stop());
}

/** How many rows a table has. */
export const countRows = (databaseUrl: string, table: 'voters'): Promise<number> =>
  withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ rows: number }>(`SELECT count(*)::int AS rows FROM ${table}`);
    return rows[0]?.rows ?? 0;
  });

function* chunksOf({ rows, row }: CopyTask, done: (rows: number) => void): Generator<string> {
  for (let first = 0; first < rows; first += ROWS_A_CHUNK) {
    const end = Math.min(rows, first + ROWS_A_CHUNK);
    let text = '';
    for (let index = first; index < end; index += 1) text += `${row(index).map(textOf).join('\t')}\n`;
    yield text;
    done(end);
  }
}
