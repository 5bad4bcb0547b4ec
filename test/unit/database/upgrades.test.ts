import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { checkServer } from '#src/database/check-server.ts';
import { listPending, migrate } from '#src/database/migrate.ts';
import { listMigrations, readCarryOver, readMigration } from '#src/database/migrations.ts';
import type { Scope } from '#src/http/caller.ts';
import { demand, finishEvent, visitor } from '#test/harness/elections.ts';
import { createEmptyDatabase, withClient } from '#test/harness/empty-database.ts';
import { readFunctions, readTables } from '#test/harness/read-schema.ts';
import type { TestDatabase } from '#test/harness/test-database.ts';
import { startTestService } from '#test/harness/test-service.ts';

/** Databases of earlier builds, as they were dumped then. */

const read = (file: string): string => readFileSync(path.resolve(import.meta.dirname, '../..', file), 'utf8');
const SECRET_KEY = Buffer.from('an-older-build-of-the-service-01').toString('base64');
const VOTER_KEY = '0123-4567-89AB-CDEF';

interface Build {
  readonly dump: string;
  readonly accountId: string;
  /** Codes of ballots that were cast and not confirmed. */
  readonly waitingBallot: string;
  readonly waitingPollBallot: string;
}
const VERSION_1_0_0: Build = {
  dump: 'upgrades/1.0.0.sql',
  accountId: 'acc_1m814trwy21kvq9p47h358',
  waitingBallot: '4KK9RWD82SZPMSCZ9HKYTY3VAM',
  waitingPollBallot: 'SEFW20X8KTF43GR3B8RYX92QJ0',
};
const LAST_WITHOUT_SOURCES: Build = {
  dump: 'upgrades/last-with-35-migrations.sql',
  accountId: 'acc_1m814vkkvxqd448ka4xv65',
  waitingBallot: 'AN9R7739WRDC2Y554300MWS460',
  waitingPollBallot: '7XN9AEA3F6D24Q4THM6GGDY1SR',
};

let database: TestDatabase | undefined;
afterEach(async () => {
  await database?.drop();
  database = undefined;
});

async function restore({ dump }: Build): Promise<string> {
  database = await createEmptyDatabase();
  const { url } = database;
  await withClient(url, (client) => client.query(`DROP SCHEMA public; ${read(dump)}`));
  return url;
}

/** How many rows each table has. */
async function countRows(url: string): Promise<Record<string, number>> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ name: string; rows: number }>(`
      SELECT table_name AS name, (xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM public.%I', table_name), false, true, '')))[1]::text::int AS rows
      FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`);
    return Object.fromEntries(rows.map(({ name, rows: count }) => [name, count]));
  });
}

async function expectPresentSchema(url: string): Promise<void> {
  await withClient(url, async (client) => {
    expect(await readTables(client)).toBe(read('golden/schema.sql'));
    expect(read('golden/functions.sql')).toContain(await readFunctions(client));
  });
  expect(await listPending(url)).toEqual([]);
}

describe.each([
  ['version 1.0.0', VERSION_1_0_0],
  ['the last build whose migrations held functions', LAST_WITHOUT_SOURCES],
])('a database of %s', (_name, build) => {
  test('gets the schema of a new one, and keeps its rows', async () => {
    const url = await restore(build);
    // What stood in rows of this name stays in them until a job takes it into blocks.
    const { ballots, ...others } = await countRows(url);
    expect((await listPending(url)).length).toBeGreaterThan(0);
    await migrate(url);
    await expectPresentSchema(url);
    expect(await countRows(url)).toMatchObject({ ...others, ballot_rows: ballots, ballot_blocks: 0 });
    // A second time, nothing is left to do.
    await migrate(url);
    await expectPresentSchema(url);
  });

  test('is used on: waiting ballots are confirmed, voters cast with their keys, and all is counted', async () => {
    const url = await restore(build);
    await migrate(url);
    const service = await startTestService({ databaseUrl: url, secretKey: SECRET_KEY, worker: false });
    try {
      const { db } = service.deps;
      // They were cast long ago by now.
      await db.$client.query('UPDATE pending_ballots SET cast_at = now_ms()');
      const makeKey = async (scopes: readonly Scope[]): Promise<string> => {
        const wanted = { accountId: build.accountId, name: 'A key', scopes, votingEventId: null, expiresInDays: null };
        return (await createApiKey(db, service.deps, wanted)).key;
      };
      const [write, vote] = [await makeKey(['read', 'write']), await makeKey(['vote'])];
      const { rows: events } = await db.$client.query<{
        id: string;
        type: string;
        position: string;
        candidate: string;
      }>(
        `SELECT e.id, e.type, p.id AS position, c.id AS candidate FROM voting_events e
         JOIN positions p ON p.voting_event_id = e.id JOIN candidates c ON c.voting_event_id = e.id AND c.name = 'Bea' ORDER BY e.type`,
      );
      const [election, poll] = events;
      if (election === undefined || poll === undefined) throw new Error('the dump holds an election and a poll');
      const call = async (event: { id: string }, step: string, body: unknown) =>
        service.call('POST', `/public/voting-events/${event.id}/ballot/${step}`, body, { key: vote });
      const confirm = async (event: { id: string }, confirmationCode: string) =>
        demand(await call(event, 'confirm', { confirmationCode }), 200);
      const cast = async (event: (typeof events)[number], body: object, entry: object = {}) => {
        const votes = [{ positionId: event.position, candidateId: event.candidate, ...entry }];
        return demand(await call(event, 'cast', { ...body, votes }), 201).confirmationCode;
      };
      await confirm(election, build.waitingBallot);
      await confirm(election, await cast(election, { email: 'cy@example.org', voterKey: VOTER_KEY }));
      const votes = [{ positionId: election.position, candidateId: election.candidate }];
      const again = await call(election, 'cast', { email: 'ada@example.org', voterKey: VOTER_KEY, votes });
      expect([again.status, again.body.error.details.reason]).toEqual([409, 'already_voted']);
      await confirm(poll, build.waitingPollBallot);
      await confirm(poll, await cast(poll, { visitorId: visitor() }, { value: 1 }));
      const resultsOf = async ({ id }: { id: string }) =>
        demand(await service.call('GET', `/voting-events/${id}/results`, undefined, { key: write }), 200);
      // Each weight has one holder: until the result is final, the count would move with the disclosure.
      await finishEvent(service, election.id);
      const counted = await resultsOf(election);
      expect(counted.stats.ballots).toBe(3);
      // One, two and three votes: Ada and Bea's voters chose the first candidate.
      const weights = Object.fromEntries(
        counted.positions[0].candidates.map((one: { name: string; weightWon: string }) => [one.name, one.weightWon]),
      );
      expect(weights).toEqual({ Ada: '3', Bea: '3' });
      expect((await resultsOf(poll)).stats.ballots).toBe(3);
    } finally {
      await service.stop();
    }
  });
});

test('a database between version 1.0.0 and now gets the steps that it lacks', async () => {
  const url = await restore(VERSION_1_0_0);
  const [first, second] = readCarryOver().steps;
  if (first === undefined || second === undefined) throw new Error('there are steps');
  await withClient(url, async (client) => {
    await client.query('SET search_path TO public');
    await client.query(readMigration(first).text);
    await client.query('INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ($1, $2)', ['', first.when]);
  });
  expect((await listPending(url))[0]).toBe(second.tag);
  await migrate(url);
  await expectPresentSchema(url);
});

test('a migration that fails leaves the database as it was', async () => {
  const url = await restore(VERSION_1_0_0);
  await withClient(url, (client) => client.query('CREATE TABLE ballot_announcements (of_another_program integer)'));
  const before = await withClient(url, async (client) => [await readTables(client), await readFunctions(client)]);
  await expect(migrate(url)).rejects.toThrow('ballot_announcements');
  expect(await withClient(url, async (client) => [await readTables(client), await readFunctions(client)])).toEqual(
    before,
  );
});

test('a database of a build before version 1.0.0 is refused in one line', async () => {
  const url = await restore(VERSION_1_0_0);
  await withClient(url, (client) =>
    client.query('DELETE FROM drizzle.__drizzle_migrations WHERE created_at = $1', [readCarryOver().oldest]),
  );
  await expect(migrate(url)).rejects.toThrow(/^the database is of a build before version 1\.0\.0[^\n]*$/);
  const findings = await checkServer(url, Date.now);
  expect(findings.at(-1)).toMatchObject({ name: 'database', status: 'failed' });
});

test('a database that a later version has migrated is left as it is', async () => {
  database = await createEmptyDatabase();
  const { url } = database;
  await migrate(url);
  const later = (listMigrations().at(-1)?.when ?? 0) + 1;
  await withClient(url, async (client) => {
    await client.query('INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ($1, $2)', ['', later]);
    await client.query('DROP FUNCTION has_voted');
  });
  await migrate(url);
  expect(await listPending(url)).toEqual([]);
  const { rows } = await withClient(url, (client) => client.query("SELECT FROM pg_proc WHERE proname = 'has_voted'"));
  expect(rows).toEqual([]);
  expect((await checkServer(url, Date.now)).at(-1)).toMatchObject({ name: 'schema', status: 'warning' });
});
