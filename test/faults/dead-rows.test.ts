import { randomBytes } from 'node:crypto';
import type { PoolClient } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { JOINING_TABLES } from '#src/ballot-log/rewrite-roll.ts';
import { connectDatabase } from '#src/database/client.ts';
import { vacuumTables } from '#src/database/vacuum.ts';
import { createLog } from '#src/platform/log.ts';
import { finishEvent, type TestEvent } from '#test/harness/elections.ts';
import { createKeyedElection, voteWith } from '#test/harness/keyed-elections.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { untilTrue, useAccount } from '#test/harness/test-service.ts';

const ROLE = `lesser_${randomBytes(6).toString('hex')}`;
const { service, account } = await useAccount();

interface Vacuumed {
  readonly name: string;
  readonly times: number;
}

async function vacuumed(): Promise<Vacuumed[]> {
  const rows = await service.query<Vacuumed>(
    `SELECT relname AS name, vacuum_count::int AS times FROM pg_stat_user_tables
     WHERE schemaname = 'public' AND relname = ANY ($1) ORDER BY 1`,
    [JOINING_TABLES],
  );
  return rows;
}

test('tables that join voters and ballots are vacuumed as soon as one row in fifty is dead', async () => {
  const rows = await service.query<{ name: string; options: string[] }>(
    `SELECT relname AS name, reloptions AS options FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND reloptions::text LIKE '%autovacuum%' ORDER BY 1`,
  );
  const eager = ['autovacuum_vacuum_threshold=0', 'autovacuum_vacuum_scale_factor=0.02'];
  expect(rows).toEqual(
    [
      'ballot_queue',
      'idempotency_keys',
      'participation',
      'pending_ballots',
      'undisclosed_voters',
      'waiting_participants',
    ].map((name) => ({ name, options: eager })),
  );
});

test('when a result is final, their dead rows go by a job', async () => {
  const election = await createKeyedElection(service, account, [1, 1, 1]);
  await voteWith(service, election, [0, 1, 2]);
  expect((await vacuumed()).map(({ times }) => times)).toEqual(JOINING_TABLES.map(() => 0));
  await finishEvent(service, election.id);
  await untilTrue(async () => (await vacuumed()).every(({ times }) => times > 0));
});

const ROWS = 8_000;
/** By table, what stands behind `INSERT INTO`. */
const FILLED: Readonly<Record<string, string>> = {
  pending_ballots: `(voting_event_id, participant, participants, code_tag, entries, weight_micro, cast_at)
    SELECT $1, 'vis_' || n, ARRAY['vis_' || n], sha256(n::text::bytea), '\\x00', 1000000, 1 FROM generate_series(1, ${ROWS}) AS n`,
  voters: `(voting_event_id, id, name, email, email_key, voter_id, voter_id_key, weight_micro, status, source, key_status, created_at, updated_at)
    SELECT $1, 'vtr_' || md5(n::text), 'Ada', e.address, e.address, 'v-' || n, 'v-' || n, 1000000, 'approved', 'import', 'sent', 1, 1
    FROM generate_series(1, ${ROWS}) AS n, LATERAL (SELECT 'voter-' || md5(n::text) || '@mail.example' AS address) AS e`,
  ballot_blocks: `(voting_event_id, first_leaf, ballots, entries, weights, tags, tag_heads, salts, sealed_times)
    SELECT $1, n, 1, '\\x00', '{1000000}', t.tag, ARRAY[tag_head(t.tag)], '\\x00', '\\x00'
    FROM generate_series(1, ${ROWS}) AS n, LATERAL (SELECT sha256(n::text::bytea) AS tag) AS t`,
};

describe('who looks for one ballot among thousands reads a few pages', () => {
  let event: TestEvent;
  let client: PoolClient;
  beforeEach(async () => {
    event = await account.event();
    client = await service.deps.db.$client.connect();
    // What may go in no other way.
    await client.query("SET session_replication_role = 'replica'");
  });
  afterEach(() => client.release(true));

  async function fill(): Promise<void> {
    for (const [table, rows] of Object.entries(FILLED)) await client.query(`INSERT INTO ${table} ${rows}`, [event.id]);
  }
  async function empty(): Promise<void> {
    for (const table of Object.keys(FILLED))
      await client.query(`DELETE FROM ${table} WHERE voting_event_id = $1`, [event.id]);
  }
  async function expectFewPages(): Promise<void> {
    for (const search of [
      `SELECT drop_pending_ballot($1, '\\x00')`,
      `SELECT * FROM waiting_voters($1, ARRAY['\\x00'::bytea])`,
      `SELECT * FROM confirm_ballots_together($1, ARRAY['\\x00'::bytea], ARRAY['bal_x'], ARRAY['\\x00'::bytea], ARRAY['\\x00'::bytea],
        ARRAY[1::bigint], ARRAY['vtr_x'], ARRAY['\\x00'::bytea], ARRAY['0 0'], ARRAY[NULL], ARRAY[NULL::bytea])`,
      `SELECT * FROM find_sealed($1, '\\x00')`,
      `SELECT * FROM hold_credits($1, 'vis_', 'vis_', '\\x00', '[]')`,
    ]) {
      // Once for the plan, whose making reads the catalogue.
      await client.query(search, [event.id]);
      const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${search}`, [event.id]);
      expect(rows[0]['QUERY PLAN'][0].Plan['Shared Hit Blocks'], search).toBeLessThan(60);
    }
  }

  test('that have left, although an old snapshot keeps their entries', async () => {
    await fill();
    const old = await service.deps.db.$client.connect();
    try {
      await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await old.query('SELECT 1 FROM ballot_blocks LIMIT 1');
      await empty();
      await expectFewPages();
    } finally {
      old.release(true);
    }
  });

  test('that came after the planner saw empty tables with tall indexes', async () => {
    await fill();
    await empty();
    for (const table of Object.keys(FILLED)) await client.query(`ANALYZE ${table}`);
    await fill();
    await expectFewPages();
  });
});

test('a role that may not vacuum leaves it, and says so once', async () => {
  const password = randomBytes(12).toString('hex');
  await runStatements(service.databaseUrl, [
    `CREATE ROLE ${ROLE} LOGIN PASSWORD '${password}'`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${ROLE}`,
  ]);
  const url = new URL(service.databaseUrl);
  [url.username, url.password] = [ROLE, password];
  const lines: { msg: string }[] = [];
  const log = createLog('warn', { write: (line) => void lines.push(JSON.parse(line)) });
  const db = connectDatabase({ url: url.href, log, maxConnections: 2 });
  try {
    const before = await vacuumed();
    await vacuumTables(db, log, JOINING_TABLES);
    await vacuumTables(db, log, JOINING_TABLES);
    expect(lines.map(({ msg }) => msg)).toEqual([expect.stringContaining('may not vacuum')]);
    expect(await vacuumed()).toEqual(before);
  } finally {
    await db.$client.end();
    await runStatements(service.databaseUrl, [`DROP OWNED BY ${ROLE}; DROP ROLE ${ROLE}`]);
  }
});
