import type { Log } from '#src/platform/log.ts';
import { type Database, withLongStatements } from './client.ts';

/** The first PostgreSQL version with the MAINTAIN privilege, which lets a role other than the owner vacuum a table. */
const MAINTAIN_SINCE = 170_000;

/** The loggers that have warned that the role may not vacuum: each warns once per process. */
const informed = new WeakSet<Log>();

/** Vacuums tables, but skips locked tables. Warns once about tables that the role may not vacuum; autovacuum vacuums them. */
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
  await withLongStatements(db, async (send) => {
    for (const { name } of rows) await send(`VACUUM (SKIP_LOCKED) public.${name}`);
  });
}
