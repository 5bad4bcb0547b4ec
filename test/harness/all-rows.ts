import type { TestService } from './test-service.ts';

/** What is counted of requests, refused ones too, and what processes say of themselves. */
const APART = ['rate_limits', 'request_traces', 'service_processes', 'job_runners', 'api_keys', 'voter_key_failures'];

/** The tables with rows that were written or deleted since it was asked last: a row carries the number of its transaction. */
export async function watchRows({ deps, query }: Pick<TestService, 'deps' | 'query'>) {
  const tables = await query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> ALL ($1)`,
    [APART],
  );
  const figures = tables.map(
    ({ name }) =>
      `SELECT '${name}' AS name, count(*) || ' ' || coalesce(max(xmin::text::bigint), 0) AS rows FROM ${name}`,
  );
  // Named, so that it is planned once.
  const statement = { name: 'watch_rows', text: figures.join(' UNION ALL ') };
  let [until, known] = ['', new Map<string, string>()];
  const look = async (): Promise<readonly string[]> => {
    const [{ at }] = await query('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS at');
    // No transaction of the whole server has written since.
    if (at === until) return [];
    const { rows } = await deps.db.$client.query<{ name: string; rows: string }>(statement);
    const changed = rows.filter((row) => known.get(row.name) !== row.rows).map(({ name }) => name);
    [until, known] = [at, new Map(rows.map((row) => [row.name, row.rows]))];
    return changed;
  };
  await look();
  return look;
}
