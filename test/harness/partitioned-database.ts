import type pg from 'pg';
import { applyFunctions, readFunctionSources } from '#src/database/function-sources.ts';
import { listMigrations, readMigration } from '#src/database/migrate.ts';
import { SCHEMA } from '#src/database/schema-number.ts';
import type { IdPrefix, Ids } from '#src/platform/ids.ts';
import { createEmptyDatabase, withClient } from './empty-database.ts';
import type { TestDatabase } from './test-database.ts';

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
export async function createPartitionedDatabase(): Promise<TestDatabase> {
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
export async function keepInLastPart(client: Pick<pg.Client, 'query'>, ids: Ids, count: number): Promise<void> {
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
export async function countElsewhere(client: Pick<pg.Client, 'query'>): Promise<Map<string, number>> {
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
