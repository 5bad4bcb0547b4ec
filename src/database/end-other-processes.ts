import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { monotonicMs } from '#src/platform/clock.ts';
import { SCHEMA, SchemaRefused } from './schema-number.ts';

/** Time for processes to finish their requests by themselves; only a process that hangs needs more. */
const DRAIN_MS = 30_000;
/** Time for the server to terminate sessions. */
const END_MS = 10_000;
const LOOK_EVERY_MS = 100;
const INSUFFICIENT_PRIVILEGE = '42501';

/** Database sessions of serving processes, which `requireSchemaNumber` named. Migrations and read-only commands use other names. */
const SESSIONS = `
  FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'voting-service%'`;

async function listSessions(client: pg.Client): Promise<number[]> {
  const { rows } = await client.query<{ pid: number }>(`SELECT pid ${SESSIONS}`);
  return rows.map(({ pid }) => pid);
}

async function terminate(client: pg.Client, pids: readonly number[]): Promise<number> {
  try {
    const { rows } = await client.query<{ ended: number }>(
      `SELECT count(pg_terminate_backend(pid))::int AS ended ${SESSIONS} AND pid = ANY ($1)`,
      [pids],
    );
    return rows[0]?.ended ?? 0;
  } catch (fault) {
    if (!(fault instanceof pg.DatabaseError && fault.code === INSUFFICIENT_PRIVILEGE)) throw fault;
    throw new SchemaRefused(
      'this role may not end the sessions of the service: stop its processes, or run deploy/roles.sql',
    );
  }
}

/** Ends the processes of other builds, or their sessions. A new session reads the schema number, and is refused. */
export async function endOtherProcesses(client: pg.Client, say: (line: string) => void): Promise<void> {
  await client.query(`UPDATE schema_number SET next = ${SCHEMA.number}; NOTIFY schema_number_changed`);
  const asked = (await listSessions(client)).length;
  if (asked > 0) say(`Processes of another build (${asked} database sessions) are asked to end …`);
  const askedAt = monotonicMs();
  while (monotonicMs() - askedAt < DRAIN_MS && (await listSessions(client)).length > 0) await delay(LOOK_EVERY_MS);
  await client.query('UPDATE schema_number SET migrating = true');
  const left = await listSessions(client);
  if (left.length > 0) say(`${left.length} database sessions did not end by themselves, and are ended …`);
  const endedAt = monotonicMs();
  while ((await terminate(client, left)) > 0) {
    if (monotonicMs() - endedAt > END_MS)
      throw new SchemaRefused('the server does not end the sessions of other builds: stop their processes');
    await delay(LOOK_EVERY_MS);
  }
}
