import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { checkServer } from '#src/database/check-server.ts';
import { withClient } from '#src/database/client.ts';
import { migrate } from '#src/database/migrate.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { people, visitor, votesFor } from '#test/harness/elections.ts';
import { createEmptyDatabase } from '#test/harness/empty-database.ts';
import { runStatements, withDatabase } from '#test/harness/test-database.ts';
import { startTestService, untilTrue } from '#test/harness/test-service.ts';
import { useDatabase } from '#test/harness/use.ts';

/** The time limits of a connection that answers requests, in milliseconds. */
const OPENED_WITH = {
  statement_timeout: TIME_LIMITS.databaseStatementMs,
  lock_timeout: TIME_LIMITS.databaseLockMs,
  idle_in_transaction_session_timeout: TIME_LIMITS.databaseIdleInTransactionMs,
  ...{ transaction_timeout: 0, idle_session_timeout: 0 },
};

const icu = (locale: string) =>
  `ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER icu ICU_LOCALE '${locale}'`;

test.each([
  "bytea_output = 'escape'",
  "default_transaction_isolation = 'repeatable read'",
  "default_transaction_isolation = 'serializable'",
])('elections hold on a database whose operator has set %s', async (setting) => {
  const database = await useDatabase();
  await runStatements(database.url, [`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET ${setting}`]);
  await using service = await startTestService({ databaseUrl: database.url, worker: false });
  for (const { $client } of [service.deps.db, service.deps.reads, service.deps.jobDatabases.deletions])
    expect((await $client.query('SHOW transaction_isolation')).rows).toEqual([
      { transaction_isolation: 'read committed' },
    ]);
  const account = await service.account('free');
  const event = await account.event({ type: 'election' }, undefined, false);
  const voters = `/voting-events/${event.id}/voters`;
  await account.make(`${voters}/batch`, { voters: people(97) });
  // At most a hundred (completions 2.4), however many arrive at once.
  const taken = await service.onTwo(6, (on, index) =>
    on.call('POST', voters, { name: 'Vera', email: `late-${index}@club.example` }, { key: account.write }),
  );
  expect(taken.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 422, 422, 422]);
  const own = await service.account();
  const poll = await own.event();
  const casts = await service.onTwo(6, (on) =>
    on.call(
      'POST',
      `/public/voting-events/${poll.id}/ballot/cast`,
      { visitorId: visitor(), votes: votesFor(poll) },
      { key: own.vote },
    ),
  );
  expect(new Set(casts.map(({ status }) => status))).toEqual(new Set([201]));
  expect(await own.of(poll).show('')).toMatchObject({ disputed: false, status: 'open' });
});

test.each([
  ['of the role’s own name', 'CREATE SCHEMA AUTHORIZATION CURRENT_USER'],
  ['that comes first', 'CREATE SCHEMA app; ALTER DATABASE "$" SET search_path = app, public'],
  ['that comes alone', 'CREATE SCHEMA app; ALTER DATABASE "$" SET search_path = app'],
])('a database with a schema %s is migrated and served as any other', async (_which, statement) => {
  const database = await createEmptyDatabase();
  onTestFinished(database.drop);
  await runStatements(database.url, statement.replace('$', new URL(database.url).pathname.slice(1)).split('; '));
  await migrate(database.url);
  await migrate(database.url);
  await using service = await startTestService({ databaseUrl: database.url, worker: false });
  const account = await service.account();
  const poll = await account.event();
  await account.votePoll(poll, votesFor(poll));
  expect(await service.query('SELECT id FROM public.service_processes')).toEqual([{ id: service.deps.processId }]);
  const elsewhere =
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace::regnamespace::text NOT LIKE ALL ('{public,pg_%,information_schema,drizzle}')";
  expect(await service.query(elsewhere)).toEqual([]);
  await untilTrue(async () => (await service.query('SELECT FROM public.service_processes')).length === 1);
});

// Completions 9.3: a move of an account works for minutes, and rests while it asks the other database.
test('time limits that an operator has set hold for no connection: it has those that it was opened with', async () => {
  const database = await useDatabase();
  const [name, names] = [new URL(database.url).pathname.slice(1), Object.keys(OPENED_WITH)];
  await runStatements(
    database.url,
    names.map((limit) => `ALTER DATABASE ${name} SET ${limit} = '7s'`),
  );
  const read = 'SELECT name, setting FROM pg_settings WHERE name = ANY ($1)';
  const limitsOf = async (client: Pick<pg.Client, 'query'>) => {
    const { rows } = await client.query<{ name: string; setting: string }>(read, [names]);
    return Object.fromEntries(rows.map((row) => [row.name, Number(row.setting)]));
  };
  const none = Object.fromEntries(names.map((limit) => [limit, 0]));
  expect(await withClient({ connectionString: database.url }, limitsOf)).toEqual(none);
  await using service = await startTestService({ databaseUrl: database.url, worker: false });
  const { $client } = service.deps.db;
  expect(await limitsOf({ query: $client.query.bind($client) as pg.Client['query'] })).toEqual(OPENED_WITH);
});

test.each(['Voting', 'app.votes', 'my role', 'a"b'])('a start takes a role of the name %s', async (words) => {
  const database = await useDatabase();
  const role = `${words}${randomBytes(3).toString('hex')}`;
  const quoted = pg.escapeIdentifier(role);
  await runStatements(database.url, [`CREATE ROLE ${quoted} SUPERUSER LOGIN PASSWORD 'secret'`]);
  onTestFinished(() => runStatements(inject('databaseUrl'), [`DROP ROLE ${quoted}`]));
  const url = Object.assign(new URL(database.url), { username: encodeURIComponent(role), password: 'secret' });
  const [found, usual] = await Promise.all([url.href, database.url].map((href) => checkServer(href, () => Date.now())));
  expect(found?.map((finding) => [finding.name, finding.status])).toEqual(
    usual?.map((finding) => [finding.name, finding.status]),
  );
});

test.each([
  ['failed', "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc"],
  ['failed', "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc"],
  ...['lt-LT', 'et-EE', 'hu-HU', 'tr-TR'].map((locale) => ['failed', icu(locale)]),
  ['warning', "ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc"],
  ...['en-US', 'de-DE', 'sv-SE', 'ar', 'ja-JP'].map((locale) => ['ok', icu(locale)]),
])('a start says %s of a database made with %s', async (status, options = '') => {
  const adminUrl = inject('databaseUrl');
  const name = `voting_locale_${randomBytes(6).toString('hex')}`;
  await runStatements(adminUrl, [`CREATE DATABASE ${name} TEMPLATE template0 ${options}`]);
  onTestFinished(() => runStatements(adminUrl, [`DROP DATABASE ${name} WITH (FORCE)`]));
  const findings = await checkServer(withDatabase(adminUrl, name), () => Date.now());
  expect(findings.find((finding) => finding.name === 'locale')?.status).toBe(status);
});
