import type { Log } from '#src/platform/log.ts';
import { type Database, onOwnConnection } from './client.ts';

/** A vacuum reads its table once: of the largest ones that takes minutes. */
const MOST_MS = 3_600_000;
/** The first version in which somebody other than the owner of a table may be given the right to vacuum it. */
const MAINTAIN_SINCE = 170_000;

/** Logs that have heard that their role may not vacuum: said once a process. */
const informed = new WeakSet<Log>();

/**
 * Removes dead rows from tables, one after another, outside of any transaction. One that another vacuum is at is left to it.
 * A role that may not do so leaves it to the server's own vacuum, and the log says that once.
 */
export async function vacuumTables(db: Database, log: Log, tables: readonly string[]): Promise<void> {
  const { rows } = await db.$client.query<{ name: string }>(
    `SELECT c.relname AS name FROM unnest($1::text[]) AS t (name) JOIN pg_class c ON c.oid = to_regclass('public.' || t.name)
     WHERE pg_has_role(c.relowner, 'USAGE') OR CASE WHEN current_setting('server_version_num')::int >= $2
       THEN has_table_privilege(c.oid, 'MAINTAIN') ELSE false END`,
    [tables, MAINTAIN_SINCE],
  );
  if (rows.length < tables.length && !informed.has(log)) {
    informed.add(log);
    log.warn(
      { tables: tables.length - rows.length },
      'the role of the service may not vacuum some of its tables: dead rows go when the server’s own vacuum comes by (deploy/roles.sql gives the right)',
    );
  }
  await onOwnConnection(db, async (client) => {
    await client.query('SET statement_timeout = 0');
    for (const { name } of rows) {
      // The driver's own limit, which its types leave out.
      const statement = { text: `VACUUM (SKIP_LOCKED) public.${name}`, query_timeout: MOST_MS };
      await client.query(statement);
    }
  });
}
