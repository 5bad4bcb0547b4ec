import type pg from 'pg';
import { MOST_CLOCK_DIFFERENCE_MS } from '#src/platform/clock.ts';
import { ID_ALPHABET } from '#src/platform/ids.ts';
import type { Log } from '#src/platform/log.ts';
import { withClient } from './client.ts';
import { explainDatabaseFault } from './explain-database-fault.ts';
import { readSchemaState, whatIsLacking } from './migrate.ts';
import { askCopy, askWriter } from './read-pool.ts';
import { mayReplace, requireSchemaNumber, SCHEMA } from './schema-number.ts';
import { IN_RECOVERY, StandbyClient } from './writer.ts';

/** The service cannot start; the message says why, in one line for the operator. */
export class StartRefused extends Error {}

export interface Finding {
  readonly name: string;
  /** `failed`: the service does not start. `warning`: it starts, and the operator should act. */
  readonly status: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  /** What to do about it; empty if nothing. */
  readonly cure: string;
}

const finding =
  (status: Finding['status']) =>
  (name: string, detail: string, cure = ''): Finding => ({ name, status, detail, cure });
export const [found, warned, failed] = [finding('ok'), finding('warning'), finding('failed')];

/** The oldest major version that the tests have run on. */
const OLDEST_POSTGRES = 15;
const CONNECT_MS = 5_000;

const checking = (url: string): pg.ClientConfig => ({
  connectionString: url,
  application_name: 'check of voting-service',
  connectionTimeoutMillis: CONNECT_MS,
  statement_timeout: CONNECT_MS,
  query_timeout: CONNECT_MS,
});

/** Runs `look` on a new connection, without checking that the schema fits this build. */
export const lookAt = <T>(url: string, look: (client: pg.Client) => Promise<T>): Promise<T> =>
  withClient(checking(url), look);

/** Runs `work` on a new connection. @throws SchemaRefused if the schema does not fit this build */
export const withConnection = <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> =>
  lookAt(url, async (client) => {
    await requireSchemaNumber(client);
    return work(client);
  });

async function checkVersion(client: pg.Client): Promise<Finding> {
  const { rows } = await client.query<{ number: string; text: string }>(
    "SELECT current_setting('server_version_num') AS number, current_setting('server_version') AS text",
  );
  const major = Math.floor(Number(rows[0]?.number) / 10_000);
  const text = `PostgreSQL ${rows[0]?.text.split(' ')[0] ?? '?'}`;
  return major >= OLDEST_POSTGRES
    ? found('version', text)
    : failed('version', `${text} is too old`, `Use PostgreSQL ${OLDEST_POSTGRES} or newer.`);
}

type Asked = Pick<pg.Client | pg.Pool, 'query'>;

/** Names of safety settings that have one of these values, for this or future connections. */
async function listSettings(client: Asked, values: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT DISTINCT name FROM (
       SELECT name, setting FROM pg_settings
       UNION ALL
       SELECT split_part(c, '=', 1), split_part(c, '=', 2) FROM pg_db_role_setting s CROSS JOIN unnest(s.setconfig) AS c
       WHERE s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
         AND s.setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = current_user))
     ) AS found
     WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND lower(setting) = ANY ($1) ORDER BY name`,
    [values],
  );
  return rows.map(({ name }) => name);
}

/** Names of safety settings that are off: a power cut could then lose committed votes. */
const listUnsafeSettings = (client: Asked): Promise<string[]> => listSettings(client, ['off', 'false', 'no', '0']);

/** Whether commits wait for the server's own disk alone, even if a synchronous standby is connected. */
const isStandbyLeftOut = async (client: Asked): Promise<boolean> => (await listSettings(client, ['local'])).length > 0;

async function checkDurability(client: pg.Client): Promise<Finding> {
  const unsafe = await listUnsafeSettings(client);
  return unsafe.length === 0
    ? found('durability', 'a committed vote survives a power cut')
    : failed(
        'durability',
        `the database would lose confirmed votes in a power cut: ${unsafe.join(', ')} is off`,
        `Switch on ${unsafe.join(', ')}.`,
      );
}

/** Fails for a standby, which takes no writes. */
async function checkWriter(client: pg.Client): Promise<Finding> {
  const { rows } = await client.query<{ standby: boolean }>(IN_RECOVERY);
  return rows[0]?.standby === false
    ? found('writer', 'the server takes writes')
    : failed(
        'writer',
        'DATABASE_URL leads to a standby, which takes no votes',
        'Name the primary, or all servers: postgres://user:password@one:5432,two:5432/database.',
      );
}

/** Counts the connected synchronous standbys. A role without `pg_read_all_stats` sees none. */
export const countStandbys = async (client: Asked): Promise<number> => {
  const { rows } = await client.query("SELECT 1 FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')");
  return rows.length;
};

async function checkStandby(client: pg.Client, isRequired: boolean): Promise<Finding> {
  const { rows } = await client.query<{ names: string }>(
    "SELECT current_setting('synchronous_standby_names') AS names",
  );
  if (isRequired && (await countStandbys(client)) === 0)
    return failed(
      'standby',
      'DATABASE_REQUIRE_STANDBY is on, and no synchronous standby is connected',
      'Start it, or switch the setting off. A role that does not own the server needs GRANT pg_read_all_stats to see it.',
    );
  if (rows[0]?.names === '')
    return warned(
      'standby',
      'there is no synchronous standby',
      'Votes of the last moments can be lost with the database’s disk; operations.md, "The database".',
    );
  return (await isStandbyLeftOut(client))
    ? (isRequired ? failed : warned)(
        'standby',
        'synchronous_commit is local, so that commits wait for no standby',
        'Set it to on for the server, the database and the role.',
      )
    : found('standby', 'commits wait for a standby');
}

/** Fails for a database that cannot store every text or sorts IDs otherwise: lists are in the order of their IDs. */
async function checkLocale(client: pg.Client): Promise<Finding> {
  const cure =
    "Create a database with ENCODING 'UTF8' and the locale C.UTF-8 or en_US.UTF-8, and restore the rows into that.";
  const refused = (what: string) => failed('locale', `the database’s ${what}`, cure);
  const { rows: encodings } = await client.query<{ name: string }>("SELECT current_setting('server_encoding') AS name");
  if (encodings[0]?.name !== 'UTF8') return refused(`encoding is ${encodings[0]?.name}, which cannot store every text`);
  // Some languages sort y before k, or ch behind z, and know another small letter of I.
  const { rows } = await client.query<{ sorts: boolean; lowers: boolean; all: boolean }>(
    `SELECT lower('IDS') = 'ids' AS lowers, lower(U&'\\00C4') = U&'\\00E4' AS all,
       (SELECT array_agg(a || b ORDER BY a || b) = array_agg(a || b ORDER BY a || b COLLATE "C")
        FROM regexp_split_to_table($1, '') AS a, regexp_split_to_table($1, '') AS b) AS sorts`,
    [ID_ALPHABET],
  );
  if (rows[0]?.sorts !== true || !rows[0].lowers) return refused('locale sorts letters otherwise than lists do');
  return rows[0].all
    ? found('locale', 'the database stores every text, and sorts as lists do')
    : warned(
        'locale',
        'the database’s locale knows capitals of English letters alone: a search for äpfel does not find ÄPFEL',
        cure,
      );
}

const pidOf = async (client: pg.Client): Promise<number | undefined> =>
  (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;

/** Detects a pooler in transaction mode: two connections share a server process, or one changes its process. */
const checkPooler = (first: pg.Client, url: string): Promise<Finding> =>
  lookAt(url, async (second) => {
    const before = await pidOf(first);
    await second.query('BEGIN');
    const other = await pidOf(second);
    const after = await pidOf(first);
    await second.query('COMMIT');
    if (before !== other && before === after) return found('connections', 'each connection is one of the server’s own');
    return failed(
      'connections',
      'DATABASE_URL leads to a pooler in transaction mode, where LISTEN, advisory locks and named statements do not last',
      'Name the server itself, or a pooler in session mode. Pause this one before `migrate`, and until it is done.',
    );
  });

const NO_READS = 'The service starts without it: the writer answers reads until it can be used.';

/** Checks DATABASE_READ_URL. Warns if the standby is unreachable or not streaming; fails for a standby of another database. */
export async function checkCopy(url: string, readUrl: string): Promise<Finding> {
  try {
    const writer = await lookAt(url, askWriter);
    const copy = await withClient(checking(readUrl), (client) => askCopy(client, writer), StandbyClient);
    if (copy.place !== writer.place)
      return failed(
        'reads',
        'DATABASE_READ_URL leads to another database, not to a copy of the one of DATABASE_URL',
        'Name a streaming standby of it, or leave the setting out.',
      );
    return copy.timeline === writer.timeline
      ? found('reads', 'a copy answers long reads')
      : warned(
          'reads',
          'DATABASE_READ_URL leads to a server that is not seen to stream from the writer',
          `${NO_READS} A role that does not own the server needs GRANT pg_read_all_stats to see it.`,
        );
  } catch (fault) {
    const reason = explainDatabaseFault(fault);
    if (reason === undefined) throw fault;
    return warned('reads', `DATABASE_READ_URL cannot be used: ${reason}`, NO_READS);
  }
}

/** Fails if a pooler drops the settings in a connection's startup message. */
async function checkSettingsKept(client: pg.Client): Promise<Finding> {
  const { rows } = await client.query<{ ms: string }>(
    "SELECT setting AS ms FROM pg_settings WHERE name = 'statement_timeout'",
  );
  return rows[0]?.ms === String(CONNECT_MS)
    ? found('settings', 'connections keep their time limits')
    : failed(
        'settings',
        'the time limits that a connection asks for do not reach the server',
        'Have the pooler pass startup parameters on, or name the server itself.',
      );
}

async function checkClock(client: pg.Client, now: () => number): Promise<Finding> {
  const before = now();
  const { rows } = await client.query<{ ms: string }>('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms');
  // The database read its clock between the two reads of this clock.
  const difference = Math.round(Number(rows[0]?.ms) - (before + now()) / 2);
  const words = `this machine’s clock is ${(Math.abs(difference) / 1000).toFixed(1)} s ${difference > 0 ? 'behind' : 'ahead of'} the database’s`;
  return Math.abs(difference) <= MOST_CLOCK_DIFFERENCE_MS
    ? found('clock', words)
    : failed('clock', words, 'Set both clocks by NTP.');
}

async function checkSchema(client: pg.Client): Promise<Finding> {
  const state = await readSchemaState(client);
  const lacking = whatIsLacking(state);
  if (lacking === undefined) return found('schema', `schema number ${SCHEMA.number}, which this build serves`);
  const isMigrated = state.empty || (state.schema !== undefined && mayReplace(state.schema, false));
  return isMigrated && state.mayMigrate ? found('schema', lacking) : failed('schema', lacking, '');
}

/**
 * Checks a database before the service uses it. Writes nothing.
 * @param now this machine's clock, Unix milliseconds; @param requireStandby whether a synchronous standby must be connected
 * @throws the driver's error if the database cannot be reached
 */
export const checkServer = (url: string, now: () => number, requireStandby = false): Promise<Finding[]> =>
  lookAt(url, async (client) => {
    const findings: Finding[] = [];
    // A wrong version or a standby ends the checks: an old server may not know the views that later checks query.
    for (const check of [
      () => checkVersion(client),
      () => checkWriter(client),
      () => checkPooler(client, url),
      () => checkSettingsKept(client),
      () => checkLocale(client),
      () => checkDurability(client),
      () => checkStandby(client, requireStandby),
      () => checkClock(client, now),
      () => checkSchema(client),
    ]) {
      const finding = await check();
      findings.push(finding);
      if (finding.status === 'failed' && ['version', 'writer'].includes(finding.name)) break;
    }
    return findings;
  });

/** Settings and standbys can change while the service runs: raises `database_not_durable` or `no_standby`. */
export async function lookAtDurability(pool: pg.Pool, log: Log, requireStandby: boolean): Promise<void> {
  const settings = await listUnsafeSettings(pool);
  if (settings.length > 0)
    log.error({ alarm: 'database_not_durable', settings }, 'the database would lose confirmed votes in a power cut');
  if (requireStandby && ((await countStandbys(pool)) === 0 || (await isStandbyLeftOut(pool))))
    log.error({ alarm: 'no_standby' }, 'commits wait for no synchronous standby: votes would be lost with the server');
}
