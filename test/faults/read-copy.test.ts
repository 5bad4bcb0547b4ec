import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { migrate } from '#src/database/migrate.ts';
import { askCopy, askWriter } from '#src/database/read-pool.ts';
import { createLogKey } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { hasPostgresTools, startOwnServer } from '#test/harness/own-server.ts';
import { addressOf, addStandby, signalServer, waitForStandbys } from '#test/harness/standby.ts';
import { freePort, requireRefused, requireStarted, runCommand, startProcess } from '#test/harness/started-service.ts';
import { eventually, startTestService, untilTrue } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

// A primary and a streaming standby that DATABASE_READ_URL names. The standby's own log says which statements it was asked.

const MOST_MS = 6_000;
const folder = useFolder('voting-read-copy-');
// The servers run as another user.
chmodSync(folder, 0o755);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(!hasPostgresTools)('a service with a copy of its database', async () => {
  if (!hasPostgresTools) return;
  const primary = await startOwnServer(path.join(folder, 'primary'));
  await migrate(primary.url);
  const standby = await addStandby(primary, path.join(folder, 'standby'), [
    "log_statement = 'all'",
    "log_line_prefix = '@ '",
  ]);
  // The standby goes in these tests, and nothing is to wait for it.
  await waitForStandbys(primary, '');
  const service = await startTestService({
    databaseUrl: primary.url,
    // Both, as where either may be promoted: the one that is a standby is taken.
    environment: { DATABASE_READ_URL: addressOf(primary, standby) },
  });
  afterAll(async () => {
    signalServer(standby, 'CONT');
    await service.stop();
    standby.stop();
    primary.stop();
  });
  const account = await service.account('enterprise');
  const running = await account.event();
  const event = await account.event();
  for (let ballots = 0; ballots < 3; ballots += 1) await account.votePoll(event, votesFor(event));
  await finishEvent(service, event.id);
  const logKey = await createLogKey(service, account, event.id);
  const at = `/voting-events/${event.id}`;

  const logOfStandby = () => readFileSync(path.join(standby.data, 'server.log'), 'utf8');
  /** What the standby was asked for while something was done, but for where it is. */
  async function askedOfStandby(work: () => Promise<unknown>): Promise<string> {
    const before = logOfStandby().length;
    await work();
    await pause(50);
    return logOfStandby()
      .slice(before)
      .split(/^@ /m)
      .filter((entry) => /^LOG: {2}(?:execute|statement)/.test(entry))
      .filter((entry) => !/ask_copy|schema_number|set_config|pg_is_in_recovery/.test(entry))
      .join('\n');
  }
  const download = async (target: string) => {
    const { status, headers } = await account.get(target);
    expect(status).toBe(302);
    const { pathname } = new URL(String(headers.get('location')));
    return demand(await service.call('GET', pathname), 200);
  };
  const logged = async (target: string) => demand(await service.call('GET', target, undefined, { key: logKey }), 200);
  /** What the standby is asked for once it follows: the writer answers what comes too soon behind a change, for a moment. */
  const askedInTheEnd = (work: () => Promise<unknown>): Promise<string> =>
    eventually(async () => (await askedOfStandby(work)) || undefined, 15_000);
  /** Until the copy is asked again, after it could not answer. */
  const untilUsed = () => askedInTheEnd(() => account.show(`${at}/audit`));

  test('reads of it what stands for good, lists and reports, and of the writer what runs', async () => {
    await untilUsed();
    const log = `/public${at}/log`;
    for (const [read, statement] of [
      [() => account.show(`${at}/audit`), /FROM "?event_changes|audit/],
      [() => account.show(`${at}/votes`), /ballot/],
      [() => account.show(`${at}/payments`), /payment/],
      [() => account.show(`${at}/results`), /execute read_moment/],
      [() => download(`${at}/results/csv`), /execute read_moment/],
      [() => download(`${at}/results/cvr`), /ballot/],
      [() => download(`${at}/results/pdf`), /execute read_moment/],
      [() => logged(`${log}/tile/0/000.p/1`), /leaves|leaf/],
      [() => logged(`${log}/tile/entries/000.p/1`), /leaves|leaf/],
    ] as const)
      expect(await askedInTheEnd(read)).toMatch(statement);
    expect(await askedOfStandby(() => account.show(`/voting-events/${running.id}/results`))).toBe('');
    expect(
      await askedOfStandby(() => account.ballot(running, { visitorId: visitor(), votes: votesFor(running) })),
    ).toBe('');
    // Nothing was tried there that it refuses.
    expect(logOfStandby()).not.toMatch(/^@ ERROR/m);
  });

  test('shows no less than the writer, whether the copy follows or not', async () => {
    const title = async (word: string) => {
      await account.change(at, { description: word });
      const { data } = (await account.get(`${at}/audit`)).body;
      expect(JSON.stringify(data.at(-1))).toContain(word);
    };
    // On a busy machine the copy follows too late for some reads, which the writer answers.
    await untilTrue(async () => {
      const followed = await askedOfStandby(async () => {
        for (let times = 0; times < 20; times += 1) await title(`following ${times}`);
      });
      return (followed.match(/execute/g)?.length ?? 0) > 10;
    });
    await withClient(standby.url, (client) => client.query('SELECT pg_wal_replay_pause()'));
    try {
      const began = performance.now();
      const paused = await askedOfStandby(async () => {
        for (let times = 0; times < 20; times += 1) await title(`paused ${times}`);
      });
      expect(paused).toBe('');
      expect(performance.now() - began).toBeLessThan(20 * 500);
    } finally {
      await withClient(standby.url, (client) => client.query('SELECT pg_wal_replay_resume()'));
    }
    await untilUsed();
  });

  test('takes a place in the log for one of its own cluster, database and timeline alone', async () => {
    const writer = await withClient(primary.url, askWriter);
    const isThere = (changes: Partial<typeof writer>) =>
      withClient(standby.url, async (client) => (await askCopy(client, { ...writer, ...changes })).isThere);
    await untilTrue(() => isThere({}));
    // As of an asynchronous standby that was ahead of the one that is the writer now.
    expect(await isThere({ timeline: '00000002' })).toBe(false);
    expect(await isThere({ place: `${writer.place}_other` })).toBe(false);
    expect(await isThere({ lsn: 'FFFF/0' })).toBe(false);
    // A server that never was a standby has replayed nothing.
    expect((await withClient(primary.url, (client) => askCopy(client, writer))).isThere).toBe(false);
  });

  test('answers from the writer where its role may not ask how far that is', async () => {
    await withClient(primary.url, (client) =>
      client.query(`CREATE ROLE app LOGIN PASSWORD 'app'; REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC;
        GRANT ALL ON ALL TABLES IN SCHEMA public TO app; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO app`),
    );
    const other = await service.on(primary.url.replace(/\/\/[^@]*@/, '//app:app@'));
    expect(await askedOfStandby(() => other.call('GET', `${at}/audit`, undefined, { key: account.read }))).toBe('');
    demand(await other.call('GET', `${at}/audit`, undefined, { key: account.read }), 200);
    await other.stop();
  });

  test.each([
    ['killed', 'KILL', () => standby.start()],
    ['silent', 'STOP', () => signalServer(standby, 'CONT')],
  ] as const)('answers from the writer while the copy is %s, and of the copy again', async (_, signal, bringBack) => {
    await untilUsed();
    let isReading = true;
    let slowest = 0;
    let reads = 0;
    const read = async () => {
      while (isReading) {
        const began = performance.now();
        await account.show(`${at}/audit`);
        await account.show(`${at}/results`);
        slowest = Math.max(slowest, performance.now() - began);
        reads += 1;
      }
    };
    const readers = [read(), read()];
    await pause(300);
    signalServer(standby, signal);
    await pause(3_000);
    const [during, longest] = [reads, slowest];
    bringBack();
    await untilUsed();
    isReading = false;
    await Promise.all(readers);
    expect(during).toBeGreaterThan(3);
    // One that was in its hands when it fell silent waits for the limit of a statement, and none for more.
    expect(longest).toBeLessThan(MOST_MS);
    console.info(`copy ${signal}: ${during} reads, the slowest pair ${Math.round(longest)} ms`);
  });

  test('names the setting where it is no copy, and starts without one that is away', async () => {
    const settings = (readUrl: string) => ({
      ...{ DATABASE_URL: primary.url, DATABASE_READ_URL: readUrl, SECRET_KEY: service.secretKey, DATA_DIR: folder },
      ...{ BASE_URL: 'https://vote.example.org', HOST: '127.0.0.1', EMAIL_DOMAIN_CHECK: 'off' },
    });
    const refused = async (readUrl: string) => requireRefused(await startProcess(settings(readUrl)));
    expect(await refused('mysql://one/voting')).toMatch(
      /^Cannot start: DATABASE_READ_URL must be an address such as [^\n]*\n$/,
    );
    expect(await requireRefused(await startProcess({ DATABASE_READ_URL: standby.url, DATA_DIR: folder }))).toBe(
      'Cannot start: DATABASE_READ_URL needs DATABASE_URL: the database that it leads to a copy of\n',
    );
    const other = await startOwnServer(path.join(folder, 'other'));
    await migrate(other.url);
    expect(await refused(other.url)).toBe(
      'Cannot start: DATABASE_READ_URL leads to another database, not to a copy of the one of DATABASE_URL. Name a streaming standby of it, or leave the setting out.\n',
    );
    other.stop();
    const secret = randomBytes(8).toString('hex');
    const nowhere = `postgres://somebody:${secret}@127.0.0.1:${await freePort()}/voting`;
    const doctor = await runCommand(['doctor', '--json'], settings(nowhere));
    expect(doctor.stdout).toContain('DATABASE_READ_URL cannot be used: nothing listens at its address (ECONNREFUSED)');
    const started = requireStarted(await startProcess({ ...settings(nowhere), LOG_LEVEL: 'trace' }));
    const audit = await fetch(`http://127.0.0.1:${started.port}${at}/audit`, {
      headers: { Authorization: `Bearer ${account.read}` },
    });
    expect(audit.status).toBe(200);
    expect(await started.stop()).toBe(0);
    expect(started.output()).toContain('Note: DATABASE_READ_URL cannot be used: ');
    expect(started.output()).toContain('the copy of the database answers no reads');
    expect(started.output() + doctor.stdout + doctor.stderr).not.toContain(secret);
    const good = await runCommand(['doctor', '--json'], settings(standby.url));
    expect(good.stdout).toContain('a copy answers long reads');
  });
});
