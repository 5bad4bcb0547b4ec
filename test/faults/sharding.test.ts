import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '#test/harness/test-database.ts';

/**
 * Tables that do not belong to one event, and why. They are small, or are never read together with an event's rows: on a
 * sharded database they are reference tables, or stand on one node.
 */
const NOT_OF_ONE_EVENT: Readonly<Record<string, string>> = {
  accounts: 'an account owns events',
  api_keys: 'a key belongs to an account; an observer’s key only names the event that it may read',
  audit_entries: 'the trail of an account, read by account; the event is a filter of it',
  idempotency_keys: 'the answers that were given to a key',
  jobs: 'the queue: it is asked for what is due, whatever event that is about',
  job_runners: 'which runners of jobs are alive, whatever event their jobs are about',
  service_processes: 'of the processes of this deployment: which of them are alive',
  mail_quotas: 'mails to an address that an account causes, whatever event they are about',
  payment_businesses: 'a business belongs to an account and is paid for many events',
  provider_events: 'messages of a provider, to a business: which event they are about is found out later',
  rate_limits: 'what was used up of a key’s quota',
  request_traces: 'the last refused requests of all accounts, found by their IDs',
  schema_number: 'what the database was migrated to: one row',
  service_identity: 'check values of the service’s keys, and the name of its logs',
  service_checkpoints: 'heads of the one log of the whole service',
  service_cosignatures: 'what witnesses signed of that log',
  service_log: 'the head of the one log of the whole service',
  service_log_leaves: 'a leaf speaks of an event by a hash, and stays when the event goes',
  service_log_tiles: 'tiles of the one log of the whole service',
  voting_events: 'the events themselves: their ID is what the others are spread by',
  webhook_attempts: 'the history of an endpoint, which may hear of all events of its account',
  webhook_deliveries: 'the queue of an endpoint, which may hear of all events of its account',
  webhook_holds: 'which sender has an endpoint now',
  webhook_endpoints: 'an endpoint belongs to an account and may hear of all its events',
};

const SOURCE = path.resolve(import.meta.dirname, '../../src');
/** A join of a table, with its condition up to what may follow one. */
const JOIN =
  /\bJOIN\s+(\w+)\s+(?:AS\s+)?(?:(?!ON\b)\w+\s+)?ON\s+(.*?)(?=\bJOIN\b|\bLEFT\b|\bWHERE\b|\bGROUP\b|\bORDER\b|\bUNION\b|\bLIMIT\b|;|`|$)/gs;

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

interface UniqueKey {
  readonly table: string;
  readonly name: string;
  readonly primary: boolean;
  readonly columns: readonly string[];
}

const database = await createTestDatabase();
const client = new pg.Client({ connectionString: database.url });
await client.connect();
const found = await client.query<{ name: string }>(
  "SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace ORDER BY 1",
);
const tables = found.rows.map(({ name }) => name);
const unique = await client.query<UniqueKey>(`
  SELECT t.relname AS "table", i.relname AS name, x.indisprimary AS "primary",
    array(SELECT a.attname::text FROM unnest(x.indkey) WITH ORDINALITY AS k(number, place)
      JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number ORDER BY k.place) AS columns
  FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
  WHERE x.indisunique AND t.relnamespace = 'public'::regnamespace ORDER BY 1, 2`);
const keys = unique.rows;
afterAll(async () => {
  await client.end();
  await database.drop();
});

const ofAnEvent = (): string[] => tables.filter((table) => NOT_OF_ONE_EVENT[table] === undefined);

describe('the database, as its own catalogue describes it', () => {
  test('has no table that is neither an event’s nor listed with a reason', async () => {
    const { rows } = await client.query<{ name: string }>(
      "SELECT table_name AS name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'voting_event_id' AND is_nullable = 'NO'",
    );
    const withEvent = new Set(rows.map(({ name }) => name));
    expect(ofAnEvent().length).toBeGreaterThan(15);
    expect(ofAnEvent().filter((table) => !withEvent.has(table))).toEqual([]);
    expect(Object.keys(NOT_OF_ONE_EVENT).filter((table) => !tables.includes(table))).toEqual([]);
  });

  test('has the event first in the primary key of every table of an event, so that its rows lie together on any shard', () => {
    const wrong = ofAnEvent().filter((table) => {
      const primary = keys.find((key) => key.table === table && key.primary);
      return primary?.columns[0] !== 'voting_event_id';
    });
    expect(wrong).toEqual([]);
  });

  test('has the event in every unique key of such a table, so that one shard can hold it alone', () => {
    const wrong = keys.filter(
      ({ table, columns }) => ofAnEvent().includes(table) && !columns.includes('voting_event_id'),
    );
    expect(wrong).toEqual([]);
  });

  test('lets a foreign key of such a table point to its own event or to a table that every shard has', async () => {
    const { rows } = await client.query<{ table: string; target: string; columns: string[]; targets: string[] }>(`
      SELECT t.relname AS "table", f.relname AS target,
        array(SELECT a.attname::text FROM unnest(c.conkey) WITH ORDINALITY AS k(number, place)
          JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number ORDER BY k.place) AS columns,
        array(SELECT a.attname::text FROM unnest(c.confkey) WITH ORDINALITY AS k(number, place)
          JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.number ORDER BY k.place) AS targets
      FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_class f ON f.oid = c.confrelid
      WHERE c.contype = 'f' AND t.relnamespace = 'public'::regnamespace`);
    expect(rows.length).toBeGreaterThan(10);
    const shared = ['accounts', 'payment_businesses'];
    const wrong = rows.filter(({ table, target, columns, targets }) => {
      if (!ofAnEvent().includes(table) || shared.includes(target)) return false;
      const at = columns.indexOf('voting_event_id');
      return at < 0 || targets[at] !== (target === 'voting_events' ? 'id' : 'voting_event_id');
    });
    expect(wrong).toEqual([]);
  });

  test('joins tables of events by the event, in its functions and in the service’s statements', async () => {
    const { rows } = await client.query<{ name: string; body: string }>(
      "SELECT proname AS name, prosrc AS body FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
    );
    const statements = [
      ...rows.map(({ name, body }) => ({ name, text: body })),
      ...sourceFiles(SOURCE).map((file) => ({ name: path.relative(SOURCE, file), text: readFileSync(file, 'utf8') })),
    ];
    const joins = statements.flatMap(({ name, text }) =>
      [...text.matchAll(JOIN)].map((match) => ({ name, table: match[1] ?? '', condition: match[2] ?? '' })),
    );
    const ofEvents = joins.filter(({ table }) => ofAnEvent().includes(table));
    expect(ofEvents.length).toBeGreaterThan(4);
    expect(ofEvents.filter(({ condition }) => !condition.includes('voting_event_id'))).toEqual([]);
  });
});
