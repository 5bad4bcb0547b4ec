import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { readSources } from '#test/harness/read-sources.ts';
import { useDatabase } from '#test/harness/use.ts';

/**
 * Tables that do not belong to one event, and why. They are small, or are never read together with an event's rows: on a
 * sharded database they are reference tables, or stand on one node.
 */
const NOT_OF_ONE_EVENT: Readonly<Record<string, string>> = {
  accounts: 'an account owns events',
  api_keys: 'a key belongs to an account; an observer’s key only names the event that it may read',
  arriving_rows: 'rows of an account on its way to this cell',
  audit_entries: 'the trail of an account, read by account; the event is a filter of it',
  code_claims: 'codes that cells are giving to events right now: one table for all cells',
  guest_cells: 'where events that are shared with an account may be',
  guest_keys: 'keys of accounts of other cells, for their names',
  idempotency_keys: 'the answers that were given to a key',
  jobs: 'the queue: it is asked for what is due, whatever event that is about',
  job_runners: 'which runners of jobs are alive, whatever event their jobs are about',
  service_processes: 'of the processes of this deployment: which of them are alive',
  mail_quotas: 'mails to an address that an account causes, whatever event they are about',
  moved_accounts: 'accounts that moved to another cell',
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

/** What does not keep a rule by which an event could live on a node of its own, by the rule, and why. Nothing is listed in vain. */
const NOT_YET: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  keys: { voting_events_code: 'codes stand with their events until the directory has a table for them' },
  'foreign keys': {},
  'set on delete': {},
  'row types': {},
  'not inlined': {
    begin_ballot_announcements: 'an endpoint that begins to hear goes through the events of its account',
  },
  'first argument': {
    announce_ballots: 'a process announces the events that it confirmed ballots of, until the outbox does',
    begin_ballot_announcements: 'an endpoint that begins to hear goes through the events of its account',
    record_webhook_events: 'asks in passing whether the event is rehearsed, until the outbox does',
  },
  triggers: {
    count_changed_voter: 'the figures of a roll are true whichever statement changes it',
    count_roll_of_statement: 'the same',
    tell_event_change: 'processes keep events in memory, and hear of each change, whoever made it',
    tell_sharing_change: 'the same',
    tend_ballot_log: 'a change of the definition enqueues a job, until the outbox does',
  },
};

/** A join of a table, with its condition up to what may follow one. */
const JOIN =
  /\bJOIN\s+(\w+)\s+(?:AS\s+)?(?:(?!ON\b)\w+\s+)?ON\s+(.*?)(?=\bJOIN\b|\bLEFT\b|\bWHERE\b|\bGROUP\b|\bORDER\b|\bUNION\b|\bLIMIT\b|;|`|$)/gs;

interface UniqueKey {
  readonly table: string;
  readonly name: string;
  readonly primary: boolean;
  readonly columns: readonly string[];
}

const database = await useDatabase();
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
afterAll(() => client.end());

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

  test('lets a foreign key of such a table point to its own event alone', async () => {
    const { rows } = await client.query<{ table: string; target: string; columns: string[]; targets: string[] }>(`
      SELECT t.relname AS "table", f.relname AS target,
        array(SELECT a.attname::text FROM unnest(c.conkey) WITH ORDINALITY AS k(number, place)
          JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number ORDER BY k.place) AS columns,
        array(SELECT a.attname::text FROM unnest(c.confkey) WITH ORDINALITY AS k(number, place)
          JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.number ORDER BY k.place) AS targets
      FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_class f ON f.oid = c.confrelid
      WHERE c.contype = 'f' AND t.relnamespace = 'public'::regnamespace`);
    expect(rows.length).toBeGreaterThan(10);
    const wrong = rows.filter(({ table, target, columns, targets }) => {
      if (!ofAnEvent().includes(table)) return false;
      const at = columns.indexOf('voting_event_id');
      return at < 0 || targets[at] !== (target === 'voting_events' ? 'id' : 'voting_event_id');
    });
    expect(wrong).toEqual([]);
  });

  test('joins tables of events by the event, in its functions and in the service’s statements', async () => {
    const { rows } = await client.query<{ name: string; body: string }>(
      "SELECT proname AS name, prosrc AS body FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
    );
    const statements = [...rows.map(({ name, body }) => ({ name, text: body })), ...readSources('src', /\.ts$/)];
    const joins = statements.flatMap(({ name, text }) =>
      [...text.matchAll(JOIN)].map((match) => ({ name, table: match[1] ?? '', condition: match[2] ?? '' })),
    );
    const ofEvents = joins.filter(({ table }) => ofAnEvent().includes(table));
    expect(ofEvents.length).toBeGreaterThan(4);
    expect(ofEvents.filter(({ condition }) => !condition.includes('voting_event_id'))).toEqual([]);
  });
});

interface DatabaseFunction {
  readonly name: string;
  readonly language: string;
  /** Whether it becomes part of the statement that calls it. */
  readonly inlined: boolean;
  /** The tables whose triggers run it. */
  readonly triggers: readonly string[];
  readonly body: string;
  /** Name and type of each parameter. */
  readonly parameters: readonly string[];
}

describe('an event is the unit: what does not keep the rule is listed with a reason', async () => {
  const { rows: functions } = await client.query<DatabaseFunction>(`
    SELECT p.proname AS name, l.lanname AS language, 
      array(SELECT DISTINCT g.tgrelid::regclass::text FROM pg_trigger g WHERE g.tgfoid = p.oid) AS triggers,
      p.proretset AND p.provolatile <> 'v' AND p.proconfig IS NULL AND NOT p.prosecdef AND NOT p.proisstrict AS inlined,
      coalesce(nullif(p.prosrc, ''), pg_get_functiondef(p.oid)) AS body,
      array(SELECT coalesce(p.proargnames[n.place], '') || ' ' || format_type(n.type, NULL)
        FROM unnest(p.proargtypes) WITH ORDINALITY AS n(type, place) ORDER BY n.place) AS parameters
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.pronamespace = 'public'::regnamespace ORDER BY 1`);
  const eventTables = [...ofAnEvent(), 'voting_events'];
  const named = new RegExp(`\\b(?:FROM|JOIN|INTO|UPDATE|USING)\\s+(?:ONLY\\s+)?(?:${eventTables.join('|')})\\b`);
  const overEvents = functions.filter(({ body }) => named.test(body));
  const listed = (rule: string) => Object.keys(NOT_YET[rule] ?? {}).toSorted();

  test('by keys: one without the event cannot be held by the node of an event', () => {
    const wrong = keys.filter(({ table, columns }) => table === 'voting_events' && !columns.includes('id'));
    expect(wrong.map(({ name }) => name).toSorted()).toEqual(listed('keys'));
  });

  test('by foreign keys: none leads from an event’s rows to those of an account, or back', async () => {
    const { rows } = await client.query<{ name: string; from: string; to: string }>(`
      SELECT c.conname AS name, c.conrelid::regclass::text AS "from", c.confrelid::regclass::text AS "to"
      FROM pg_constraint c WHERE c.contype = 'f' ORDER BY 1`);
    const wrong = rows.filter(({ from, to }) => eventTables.includes(from) !== eventTables.includes(to));
    expect(wrong.map(({ name }) => name)).toEqual(listed('foreign keys'));
  });

  test('by what a deletion writes elsewhere', async () => {
    const { rows } = await client.query<{ name: string }>(
      "SELECT conname AS name FROM pg_constraint WHERE contype = 'f' AND confdeltype IN ('n', 'd') ORDER BY 1",
    );
    expect(rows.map(({ name }) => name)).toEqual(listed('set on delete'));
  });

  test('by parameters: none is a row of a table', () => {
    const wrong = functions.filter(({ parameters }) =>
      parameters.some((one) => tables.includes(one.split(' ').at(-1) ?? '')),
    );
    expect(wrong.map(({ name }) => name)).toEqual(listed('row types'));
  });

  test('by language: a function in SQL is planned for itself, unless it becomes part of its statement', () => {
    const wrong = overEvents.filter(({ language, inlined }) => language === 'sql' && !inlined);
    expect(wrong.map(({ name }) => name)).toEqual(listed('not inlined'));
  });

  test('by the first parameter, which is the event', () => {
    const wrong = overEvents.filter(
      ({ parameters, triggers }) => triggers.length === 0 && parameters[0] !== 'p_event text',
    );
    expect(wrong.map(({ name }) => name)).toEqual(listed('first argument'));
  });

  test('by triggers: none writes another row, or notifies at the commit', () => {
    const wrong = functions.filter(
      ({ triggers, body }) =>
        triggers.some((table) => eventTables.includes(table)) &&
        /\b(?:INSERT INTO|UPDATE \w+|DELETE FROM|PERFORM|NOTIFY)\b/.test(body),
    );
    expect(wrong.map(({ name }) => name)).toEqual(listed('triggers'));
  });
});
