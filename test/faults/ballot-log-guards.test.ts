import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { checkLogs } from '#src/ballot-log/check-log.ts';
import { LogSetBack } from '#src/ballot-log/require-undisputed.ts';
import { migrate } from '#src/database/migrate.ts';
import { createLog } from '#src/platform/log.ts';
import { readFigures } from '#src/read-figures.ts';
import { sealDeps } from '#src/work.ts';
import { LogReader } from '#test/harness/ballot-log.ts';
import {
  createTestEvent,
  demand,
  finishEvent,
  sealBallots,
  type TestEvent,
  tendLog,
  votePolls,
} from '#test/harness/elections.ts';
import { changeItem } from '#test/harness/sealed-box.ts';
import { runStatements, withDatabase } from '#test/harness/test-database.ts';
import { type TestService, useAccount } from '#test/harness/test-service.ts';

const ROLE = `app_${randomBytes(6).toString('hex')}`;
const COPY = `voting_copy_${randomBytes(6).toString('hex')}`;

const lines: Record<string, unknown>[] = [];

const { service, account } = await useAccount({
  log: createLog('error', { write: (line) => void lines.push(JSON.parse(line)) }),
});

async function pollWith(running: TestService, ballots: number): Promise<TestEvent> {
  const event = await createTestEvent(running, account);
  await voteTimes(running, event, ballots);
  return event;
}

const voteTimes = (running: TestService, event: TestEvent, times: number) => votePolls(running, account, event, times);

const DEADLOCK = '40P01';
const TRIES = 5;

/** Runs the file as its head says: again where it met a deadlock with the service, which leaves nothing behind. */
async function runOnLiveService(statements: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await runStatements(service.databaseUrl, [statements]);
    } catch (fault) {
      if (attempt === TRIES || !(fault instanceof pg.DatabaseError) || fault.code !== DEADLOCK) throw fault;
    }
  }
}

describe('the role of the service, as deploy/roles.sql makes it', () => {
  const file = readFileSync(path.join(import.meta.dirname, '../../deploy/roles.sql'), 'utf8');
  // Roles belong to the whole server, which other tests share.
  const statements = file.replace(/voting_(app|owner|backup)/g, `${ROLE}_$1`);
  let url: string;
  let asRole: TestService;
  let role: pg.Client;

  beforeAll(async () => {
    const password = randomBytes(12).toString('hex');
    // As psql runs the file: without the service's time limits, it waits for whoever holds a table.
    await runOnLiveService(statements);
    await runStatements(service.databaseUrl, [`ALTER ROLE ${ROLE}_app PASSWORD '${password}'`]);
    const address = new URL(service.databaseUrl);
    [address.username, address.password] = [`${ROLE}_app`, password];
    url = address.href;
    asRole = await service.on(url);
    role = new pg.Client({ connectionString: url });
    await role.connect();
  });
  afterAll(async () => {
    await role?.end();
    await asRole?.stop();
    const roles = ['app', 'owner', 'backup'].map((name) => `${ROLE}_${name}`).join(', ');
    await runStatements(service.databaseUrl, [
      `REASSIGN OWNED BY ${ROLE}_owner TO CURRENT_USER; DROP OWNED BY ${roles}; DROP ROLE ${roles}`,
    ]);
  });

  test('starts on a migrated database, and serves an event from its opening to its deletion', async () => {
    await migrate(url);
    const event = await pollWith(asRole, 5);
    await finishEvent(asRole, event.id);
    const results = demand(
      await asRole.call('GET', `/voting-events/${event.id}/results`, undefined, { key: account.read }),
      200,
    );
    expect([results.stats.ballots, results.log.size]).toEqual([5, 8]);
    const path = `/voting-events/${event.id}?force=true`;
    expect((await asRole.call('DELETE', path, undefined, { key: account.write })).status).toBe(204);
  });

  test('cannot change or remove leaves, tiles, checkpoints or sealed ballots, nor switch the guards off', async () => {
    await pollWith(asRole, 3);
    for (const statement of [
      ...TABLES.flatMap((table) => [
        `DELETE FROM ${table}`,
        `TRUNCATE ${table}`,
        `ALTER TABLE ${table} DISABLE TRIGGER ALL`,
        `DROP TABLE ${table}`,
      ]),
      "UPDATE log_leaves SET data = ''",
      "UPDATE log_tiles SET root = ''",
      "UPDATE log_checkpoints SET note = ''",
      "UPDATE ballot_blocks SET entries = ''",
      'UPDATE ballot_blocks SET voter_ids = NULL',
      'DROP FUNCTION guard_ballot_log CASCADE',
      "SET session_replication_role = 'replica'",
    ])
      await expect(role.query(statement), statement).rejects.toMatchObject({ code: '42501' });
    // What it may change, the triggers watch.
    await expect(role.query('UPDATE ballot_logs SET size = size - 1')).rejects.toMatchObject({ code: '23001' });
  });
});

/** What the guards watch. */
const TABLES = [
  'log_leaves',
  'log_configurations',
  'log_tiles',
  'log_checkpoints',
  'ballot_blocks',
  'ballot_logs',
  'voided_ballots',
];

/** Changes the database as its owner can who takes the triggers away. */
async function behindTheGuards(statement: string, values: unknown[]): Promise<void> {
  const client = await service.deps.db.$client.connect();
  try {
    await client.query("SET session_replication_role = 'replica'");
    await client.query(statement, values);
    await client.query("SET session_replication_role = 'origin'");
  } finally {
    client.release();
  }
}

const alarmsOf = (eventId: string) => lines.filter(({ event, alarm }) => event === eventId && alarm !== undefined);

const standing = async ({ id }: TestEvent): Promise<unknown> => {
  const path = `/voting-events/${id}/results`;
  const { final, disputed } = await account.show(path);
  return { final, disputed };
};

describe('the close of an election', () => {
  test('waits while more took part than ballots are there, and its result is disputed until that is mended', async () => {
    const event = await account.event({ type: 'election' });
    await behindTheGuards("INSERT INTO participation (voting_event_id, participant) VALUES ($1, 'nobody')", [event.id]);
    await expect(finishEvent(service, event.id)).rejects.toThrow(LogSetBack);
    expect(await standing(event)).toEqual({ final: false, disputed: true });
    await behindTheGuards('DELETE FROM participation WHERE voting_event_id = $1', [event.id]);
    await checkLogs(service.deps, 0);
    await tendLog(sealDeps(service.deps), event.id, 1);
    expect(await standing(event)).toEqual({ final: true, disputed: false });
  });
});

test('a close signs for the ballots as the log has them: names that changed hands in the database make no result', async () => {
  const event = await pollWith(service, 5);
  const [ada, bea] = event.positions[0]?.candidates ?? [];
  const { $client } = service.deps.db;
  const renumber = (id: string | undefined, number: string) =>
    $client.query(`UPDATE candidates SET number = ${number} WHERE voting_event_id = $1 AND id = $2`, [event.id, id]);
  const { rows } = await $client.query('SELECT id, number FROM candidates WHERE voting_event_id = $1', [event.id]);
  const numberOf = (id: string | undefined) => String(rows.find((row) => row.id === id)?.number);
  await renumber(ada, '9999');
  await renumber(bea, numberOf(ada));
  await renumber(ada, numberOf(bea));
  const path = `/voting-events/${event.id}`;
  const ended = await account.patch(path, { status: 'closed' });
  expect([ended.status, ended.body.error.details.reason]).toEqual([409, 'log_disputed']);
  await $client.query('UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1', [event.id]);
  await expect(tendLog(sealDeps(service.deps), event.id, 1)).rejects.toThrow(LogSetBack);
  // The job that looks after the log may raise it as well.
  expect(alarmsOf(event.id)).toContainEqual(
    expect.objectContaining({
      alarm: 'ballot_log_changed',
      reason: expect.stringContaining('was changed'),
    }),
  );
  const results = await account.get(`${path}/results`);
  expect(demand(results, 200)).toMatchObject({ final: false, disputed: true });
});

describe('the recurring check of all logs', () => {
  test('raises an alarm for what does not agree with what was signed, and takes it back when it does again', async () => {
    const event = await pollWith(service, 3);
    const before = (await readFigures(service.deps.db, [])).logAlarms;
    await checkLogs(service.deps, 0);
    expect([alarmsOf(event.id), (await readFigures(service.deps.db, [])).logAlarms]).toEqual([[], before]);
    const flip = changeItem('entries', 'set_byte(i.item, 3, get_byte(i.item, 3) # 3)');
    await behindTheGuards(flip, [event.id, 2]);
    await checkLogs(service.deps, 0);
    expect(alarmsOf(event.id)).toMatchObject([
      { level: 50, alarm: 'ballot_log_changed', reason: 'the ballot at 2 is not the one in the log' },
    ]);
    expect((await readFigures(service.deps.db, [])).logAlarms).toBe(before + 1);
    expect(await standing(event)).toEqual({ final: false, disputed: true });
    await behindTheGuards(flip, [event.id, 2]);
    await checkLogs(service.deps, 0);
    expect((await readFigures(service.deps.db, [])).logAlarms).toBe(before);
    expect(await standing(event)).toEqual({ final: false, disputed: false });
  });

  test.each([
    ['a leaf beyond the head', "INSERT INTO log_leaves VALUES ($1, 99, '{}')", 'a leaf stands behind'],
    ['a tile that is not full', "INSERT INTO log_tiles VALUES ($1, 0, 0, '', '')", 'a tile stands behind'],
    [
      'a checkpoint of a longer log',
      "INSERT INTO log_checkpoints VALUES ($1, 99, '', '', 1)",
      'a checkpoint stands behind',
    ],
    [
      'another root in a checkpoint',
      "UPDATE log_checkpoints SET root_hash = sha256('') WHERE voting_event_id = $1 AND size > 1",
      'has another root',
    ],
    [
      'a leaf that is missing',
      'DELETE FROM log_leaves WHERE voting_event_id = $1 AND leaf_index = 1',
      'leaves are missing',
    ],
    ['a ballot that is missing', 'DELETE FROM ballot_blocks WHERE voting_event_id = $1', 'is missing in the box'],
    [
      'a block of more ballots than it holds',
      'UPDATE ballot_blocks SET ballots = ballots + 1 WHERE voting_event_id = $1',
      'cannot be read',
    ],
    [
      'a ballot that its code does not find',
      'UPDATE ballot_blocks SET tag_heads[2] = tag_heads[2] + 1 WHERE voting_event_id = $1',
      'is not found by its code',
    ],
    [
      'a block that ends within a ballot',
      'UPDATE ballot_blocks SET entries = substring(entries FROM 1 FOR length(entries) - 1) WHERE voting_event_id = $1',
      'cannot be read',
    ],
    [
      'a ballot that stands in two blocks',
      `INSERT INTO ballot_blocks SELECT voting_event_id, first_leaf + 1, ballots, entries, weights, tags, tag_heads, salts, sealed_times, ids,
         voter_ids, country_codes, submitted_at FROM ballot_blocks WHERE voting_event_id = $1`,
      'is not the one in the log',
    ],
  ])('finds %s', async (_, statement, reason) => {
    const event = await pollWith(service, 3);
    await behindTheGuards(statement, [event.id]);
    await checkLogs(service.deps, 0);
    // The job that signs the log next may raise the alarm as well.
    expect(alarmsOf(event.id)).toContainEqual(
      expect.objectContaining({ alarm: 'ballot_log_changed', reason: expect.stringContaining(reason) }),
    );
  });

  test('finds a full tile that was changed, on either level, without holding more than a chunk of the log', async () => {
    const event = await pollWith(service, 300);
    await checkLogs(service.deps, 0);
    expect(alarmsOf(event.id)).toEqual([]);
    const change = 'UPDATE log_tiles SET root = sha256(root) WHERE voting_event_id = $1';
    await behindTheGuards(change, [event.id]);
    await checkLogs(service.deps, 0);
    expect(alarmsOf(event.id)).toMatchObject([{ reason: 'tile 0/0 is another one' }]);
  });

  test('finds a ballot of an election that nobody took part for', async () => {
    const event = await account.event({ type: 'election' });
    await sealBallots(service, event.id);
    await behindTheGuards(
      "INSERT INTO ballot_queue (voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, due_at) VALUES ($1, 'bal_x', 'x', 'x', 1, 'x', 'x', 1)",
      [event.id],
    );
    await checkLogs(service.deps, 0);
    // The job that seals the log next may raise the alarm as well.
    const reason = 'there are more ballots than participants';
    expect(alarmsOf(event.id)).toContainEqual(expect.objectContaining({ alarm: 'ballot_log_changed', reason }));
    await behindTheGuards('DELETE FROM ballot_queue WHERE voting_event_id = $1', [event.id]);
  });
});

/** Copies the database as it is now, as a backup does. A template must have no connections. */
async function copyDatabase(): Promise<string> {
  const source = new URL(service.databaseUrl).pathname.slice(1);
  const admin = inject('databaseUrl');
  await runStatements(admin, [`ALTER DATABASE ${source} ALLOW_CONNECTIONS false`]);
  try {
    await runStatements(admin, [
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${source}'`,
      `CREATE DATABASE ${COPY} TEMPLATE ${source}`,
      `ALTER DATABASE ${COPY} ALLOW_CONNECTIONS true`,
    ]);
  } finally {
    await runStatements(admin, [`ALTER DATABASE ${source} ALLOW_CONNECTIONS true`]);
  }
  return withDatabase(admin, COPY);
}

describe('an older backup that was restored', () => {
  test('is noticed by the service that starts on it: it raises the alarm, signs nothing, and loses no ballot that comes', async () => {
    const event = await pollWith(service, 4);
    const copyUrl = await copyDatabase();
    await voteTimes(service, event, 3);
    const { size } = await new LogReader(service, event.id, account.vote).checkpoint();
    const restored = await service.on(copyUrl);
    try {
      const log = new LogReader(restored, event.id, account.vote);
      const older = await log.checkpoint();
      expect([older.size, size]).toEqual([5, 8]);
      await expect(voteTimes(restored, event, 3)).rejects.toThrow(LogSetBack);
      await expect(tendLog(sealDeps(restored.deps), event.id, 1)).rejects.toThrow(LogSetBack);
      expect(alarmsOf(event.id)[0]).toMatchObject({ alarm: 'ballot_log_set_back', size: 5, signed: 8 });
      expect((await readFigures(restored.deps.db, [])).logAlarms).toBeGreaterThan(0);
      expect(await log.checkpoint()).toEqual(older);
      await checkLogs(restored.deps, 0);
      expect(alarmsOf(event.id).at(-1)).toMatchObject({
        reason: expect.stringContaining('an older state was restored'),
      });
      const results = await restored.call('GET', `/voting-events/${event.id}/results`, undefined, {
        key: account.read,
      });
      expect(demand(results, 200).stats.ballots).toBe(7);
    } finally {
      await restored.stop();
      await runStatements(inject('databaseUrl'), [`DROP DATABASE IF EXISTS ${COPY} WITH (FORCE)`]);
    }
  });
});
