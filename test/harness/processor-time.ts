import { readFileSync } from 'node:fs';
import type { ClientBase, QueryResultRow } from 'pg';

/** Clock ticks of a second in `/proc`, on every Linux. */
const TICKS = 100;

/**
 * Runs a statement. `ms` is the processor time that PostgreSQL took for it: unlike the time on a clock it is the same where a machine does
 * other things meanwhile. The server must run on this machine, as the one of the tests does.
 */
export async function measured(client: ClientBase, sql: string, values: unknown[]) {
  const { rows: backends } = await client.query('SELECT pg_backend_pid() AS pid');
  // Behind the name of the program in parentheses: the 12th and 13th value are what it took itself and in the kernel.
  const taken = (): number => {
    const fields = readFileSync(`/proc/${backends[0].pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
  };
  const before = taken();
  const { rows } = await client.query<QueryResultRow>(sql, values);
  return { rows, ms: taken() - before };
}
