import { readFileSync } from 'node:fs';
import type { ClientBase, QueryResultRow } from 'pg';

/** Clock ticks of a second in `/proc`, on every Linux. */
const TICKS = 100;

/**
 * The milliseconds of processor time that a process of PostgreSQL takes while `work` is done: unlike the time on a clock they are the same
 * where a machine does other things meanwhile. The server must run on this machine, as the one of the tests does.
 * @param pid what `pg_backend_pid()` says on the connection of `work`
 */
export async function processorMs(pid: number, work: () => Promise<unknown>): Promise<number> {
  // Behind the name of the program in parentheses: the 12th and 13th value are what it took itself and in the kernel.
  const taken = (): number => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
  };
  const before = taken();
  await work();
  return taken() - before;
}

/** The rows of a statement, and the processor time `ms` that it took. */
export async function measured(client: ClientBase, sql: string, values: unknown[]) {
  const { rows: backends } = await client.query('SELECT pg_backend_pid() AS pid');
  let rows: QueryResultRow[] = [];
  const ms = await processorMs(backends[0].pid, async () => {
    ({ rows } = await client.query<QueryResultRow>(sql, values));
  });
  return { rows, ms };
}
