import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { applyFunctions, readFunctionSources } from '#src/database/function-sources.ts';
import { listMigrations, readMigration } from '#src/database/migrate.ts';
import { SCHEMA } from '#src/database/schema-number.ts';
import type { IdPrefix, Ids } from '#src/platform/ids.ts';
import { recurringJobs } from '#src/work.ts';
import { createEmptyDatabase, withClient } from '#test/harness/empty-database.ts';
import { interceptStatements } from '#test/harness/intercept-statements.ts';
import { usePaidService } from '#test/harness/payments.ts';
import { LEFT_OUT, listExamples, sendExample } from '#test/harness/send-examples.ts';
import type { TestDatabase } from '#test/harness/test-database.ts';
import { untilTrue } from '#test/harness/test-service.ts';

/** As many nodes as events are spread over. */
const PARTS = 8;
/** Unique without the event, and why. In parts it is an index like any other. */
const UNIQUE_ELSEWHERE = { voting_events_code: 'codes of all events, which are the directory’s' };

const TABLE = /^CREATE TABLE "?(\w+)"? \(\n(.*?)\n\);$/gms;
const OF_AN_EVENT = /^\s*"?voting_event_id"? text (?:PRIMARY KEY )?(?:NOT NULL|REFERENCES)/m;

/** The tables of the migrations, those of an event in parts by the event. */
function inParts(migration: string): string {
  const parted: string[] = [];
  const text = migration.replaceAll(TABLE, (whole, table: string, columns: string) => {
    const key = table === 'voting_events' ? 'id' : 'voting_event_id';
    if (table !== 'voting_events' && !OF_AN_EVENT.test(columns)) return whole;
    parted.push(table);
    const parts = Array.from(
      { length: PARTS },
      (_, part) =>
        `CREATE TABLE ${table}_part${part} PARTITION OF ${table} FOR VALUES WITH (MODULUS ${PARTS}, REMAINDER ${part});`,
    );
    return [`${whole.slice(0, -1)} PARTITION BY HASH (${key});`, ...parts].join('\n');
  });
  const unique = Object.keys(UNIQUE_ELSEWHERE).join('|');
  return (
    text
      .replaceAll(new RegExp(`^CREATE UNIQUE INDEX "(${unique})"`, 'gm'), 'CREATE INDEX "$1"')
      // A table in parts stores nothing by itself.
      .replaceAll(new RegExp(`^ALTER TABLE (?:${parted.join('|')}) SET \\(.*\\);$`, 'gm'), '')
  );
}

/** A database as migrations make it, but for the tables of an event: they are in parts, and all rows of an event in one of them. */
async function createPartitionedDatabase(): Promise<TestDatabase> {
  const database = await createEmptyDatabase();
  await withClient(database.url, async (client) => {
    const migrations = listMigrations();
    const apply = async (late: boolean) => {
      for (const migration of migrations)
        if (migration.afterFunctions === late) await client.query(inParts(readMigration(migration)));
    };
    await client.query('BEGIN');
    await apply(false);
    await applyFunctions(client, readFunctionSources());
    await apply(true);
    await client.query('INSERT INTO schema_number (number, digest, newest, migrating) VALUES ($1, $2, $3, false)', [
      ...[SCHEMA.number, SCHEMA.digest, migrations.at(-1)?.when],
    ]);
    await client.query('COMMIT');
  });
  return database;
}

/**
 * Makes the IDs of events so that all of them are in the last part: what touches another one did not ask for its event. A look for any row
 * goes through the parts in their order, and ends at the first it finds.
 */
async function keepInLastPart(client: Pick<pg.Client, 'query'>, ids: Ids, count: number): Promise<void> {
  const drawn = Array.from({ length: count * PARTS * 2 }, () => ids.sortable('evt'));
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM unnest($1::text[]) AS id WHERE satisfies_hash_partition('voting_events'::regclass, ${PARTS}, ${PARTS - 1}, id)`,
    [drawn],
  );
  const { sortable } = ids;
  const taken = rows.map(({ id }) => id);
  Object.assign(ids, {
    sortable(prefix: IdPrefix): string {
      if (prefix !== 'evt') return sortable.call(ids, prefix);
      const id = taken.shift();
      if (id === undefined) throw new Error('more events than IDs of the last part');
      return id;
    },
  });
}

/** Indexes that are asked before the event is known, or in its place, and why. */
const ASKED_EVERYWHERE = {
  payment_attempts_id: 'a provider’s message names the payment alone',
  payment_attempts_provider_payment: 'the same',
  voting_events_code: 'a code names an event: the directory knows which',
  ballot_blocks_heads:
    'a condition on the event beside the tag would let a plan read all blocks of the event (box.sql)',
};

/** Tables that a process looks at by itself now and then, and why. */
const LOOKED_AT = { ballot_keys: 'whether the keys that it holds are still there' };

/** How often each table was read or changed in another part than the last. The statistics of all sessions are written before. */
async function countElsewhere(client: Pick<pg.Client, 'query'>): Promise<Map<string, number>> {
  const { rows } = await client.query<{ table: string; touched: string }>(
    `SELECT regexp_replace(t.relname, '_part\\d+$', '') AS "table", sum(t.seq_scan + t.n_tup_ins + t.n_tup_upd + t.n_tup_del + (
        SELECT coalesce(sum(i.idx_scan), 0) FROM pg_stat_all_indexes i JOIN pg_inherits h ON h.inhrelid = i.indexrelid
        WHERE i.relid = t.relid AND h.inhparent::regclass::text <> ALL ($1))) AS touched
     FROM pg_stat_all_tables t WHERE t.schemaname = 'public' AND t.relname ~ '_part\\d+$' AND t.relname !~ '_part${PARTS - 1}$'
       AND t.relname !~ ('^(?:' || array_to_string($2::text[], '|') || ')_part') GROUP BY 1`,
    [Object.keys(ASKED_EVERYWHERE), Object.keys(LOOKED_AT)],
  );
  return new Map(rows.map(({ table, touched }) => [table, Number(touched)]));
}

/** Operations that name one event and look into others, by the tables, and why. */
const LOOK_ELSEWHERE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  deleteVotingEvent: { roll_copies: 'a copy that still takes the voters of the event stands with the new event' },
};
/** Jobs that go through all events, and why. */
const GO_THROUGH_ALL: Readonly<Record<string, string>> = {
  announce_left_ballots: 'a process that dies may leave ballots of an event unannounced',
  announce_timed_events: 'the clock opens and closes events by itself',
  check_all_logs: 'each log is checked once a day',
  check_changed_logs: 'each log is checked that got a checkpoint within two hours',
  disclose_voters: 'a process that dies may leave a step of an event undone',
  drop_expired_ballots: 'a ballot expires by the clock',
  drop_old_letters: 'letters expire by the clock',
  expire_registrations: 'a registration expires by the clock',
  fold_roll_figures: 'whichever event has many changes',
  fold_roll_sums: 'the same',
  forget_roll_imports: 'an import that was given up is forgotten by the clock',
  reconcile_payments: 'a payment is asked for by the clock',
  sequence_service_log: 'one log has the heads of all events',
  sweep_refunds: 'a refund is asked for by the clock',
  tend_ballot_logs: 'a process that dies may leave ballots of an event unsealed',
};

const database = await createPartitionedDatabase();
afterAll(() => database.drop());
const clients = new Set<pg.Client>();
const restore = interceptStatements((_text, send, client) => {
  if (!clients.has(client)) {
    clients.add(client);
    client.once('end', () => clients.delete(client));
  }
  return send();
});
afterAll(restore);
const { service } = await usePaidService({ databaseUrl: database.url });
const examples = await listExamples(service);
const ofOneEvent = examples.filter(({ name, route }) => !LEFT_OUT.has(name) && route.path.includes(':idOrCode'));
await withClient(database.url, (client) => keepInLastPart(client, service.deps.ids, 2 * examples.length));

const looking = new pg.Client({ connectionString: database.url });
await looking.connect();
afterAll(() => looking.end());

/** How often tables were touched in other parts, once all that sessions did is in the statistics, and no job is left that is due. */
async function countSettled(): Promise<Map<string, number>> {
  await untilTrue(async () => {
    const due = await service.query(
      'SELECT 1 FROM jobs WHERE held_by IS NOT NULL OR run_at <= now_ms() AND attempts < max_attempts',
    );
    return due.length === 0;
  });
  const known = [...clients].filter((one) => Reflect.get(one, '_ending') !== true);
  // A session that its pool ends at this moment has written its statistics.
  const ended = (fault: Error): void => {
    if (!/Connection terminated/.test(fault.message)) throw fault;
  };
  await Promise.all(known.map((one) => one.query('SELECT pg_stat_force_next_flush()').catch(ended)));
  // Sessions of threads that count write their statistics when they end.
  await looking.query(
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()
     AND backend_type = 'client backend' AND state = 'idle' AND pid <> ALL ($1)`,
    [[looking, ...known].map((one) => Reflect.get(one, 'processID'))],
  );
  return countElsewhere(looking);
}

/** The tables that something touched in other parts. */
async function touchedBy(work: () => Promise<unknown>): Promise<string[]> {
  const before = await countSettled();
  await work();
  const after = await countSettled();
  return [...after].flatMap(([table, times]) => (times === (before.get(table) ?? 0) ? [] : [table])).toSorted();
}

describe('in a database that is parted by events', () => {
  test('an operation on one event, with the jobs that it enqueues, reads and writes in the part of its event alone', async () => {
    const elsewhere: Record<string, string[]> = {};
    for (const example of ofOneEvent) {
      const { target, answer } = await sendExample(service, examples, example, async (send) => {
        let answer: Awaited<ReturnType<typeof send>> | undefined;
        const touched = await touchedBy(async () => {
          answer = await send();
        });
        if (touched.length > 0) elsewhere[example.name] = touched;
        if (answer === undefined) throw new Error('it was not sent');
        return answer;
      });
      expect(answer.status < 400 || answer.status === 402, `${example.name} ${target}`).toBe(true);
    }
    expect(ofOneEvent.length).toBeGreaterThan(70);
    const listed = Object.entries(LOOK_ELSEWHERE).map(([name, tables]) => [name, Object.keys(tables)]);
    expect(elsewhere).toEqual(Object.fromEntries(listed));
  });

  test('a job by the clock goes through all events only where a reason is stated', async () => {
    const elsewhere: string[] = [];
    for (const job of recurringJobs(service.deps)) if ((await touchedBy(job.work)).length > 0) elsewhere.push(job.name);
    expect(elsewhere.toSorted()).toEqual(Object.keys(GO_THROUGH_ALL));
  });
});
