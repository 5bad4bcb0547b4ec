import { randomBytes } from 'node:crypto';
import { appendFileSync, chmodSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkServer } from '#src/database/check-server.ts';
import { migrate } from '#src/database/migrate.ts';
import { createTestEvent, PLURALITY, visitor, votesFor } from '#test/harness/elections.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { hasPostgresTools, type OwnServer, startOwnServer } from '#test/harness/own-server.ts';
import { ask } from '#test/harness/real-processes.ts';
import { addressOf, addStandby, loseServer, promote, signalServer, waitForStandbys } from '#test/harness/standby.ts';
import {
  freePort,
  requireRefused,
  requireStarted,
  type StartedService,
  startProcess,
} from '#test/harness/started-service.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { markPlaces, startTestService, untilTrue } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

// A primary and its synchronous standby, both named in DATABASE_URL. The primary is lost with its disk while people vote, the standby is
// promoted: no acknowledged confirm is lost or counted twice, and a client that repeats its request with the same Idempotency-Key gets the answer.

const ROUNDS = Number(process.env['FAILOVERS'] ?? 1);
const MOST_AWAY_MS = 15_000;
const VOTERS_AT_ONCE = 8;
/** After so long without an answer of the queue, jobs are said to be stalled, and a little more. */
const STALLED_MS = 18_000;
/** A little more than from one look at the standby to the next. */
const LOOK_MS = 12_000;

const folder = useFolder('voting-fail-over-');
// The server runs as another user.
chmodSync(folder, 0o755);
const secretKey = randomBytes(32).toString('base64');

const settings = (url: string, changes: Readonly<Record<string, string>> = {}) => ({
  ...{ DATABASE_URL: url, SECRET_KEY: secretKey, DATA_DIR: folder, HOST: '127.0.0.1', LOG_LEVEL: 'warn' },
  ...{ BASE_URL: 'https://vote.example.org', EMAIL_DOMAIN_CHECK: 'off', ...changes },
});
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(!hasPostgresTools)('a service on a primary and its standby', () => {
  test('starts on no standby, and without one where it is required', async () => {
    const primary = await startOwnServer(path.join(folder, 'alone'));
    await migrate(primary.url);
    const required = { DATABASE_REQUIRE_STANDBY: 'on' };
    expect(await requireRefused(await startProcess(settings(primary.url, required)))).toContain(
      'Cannot start: DATABASE_REQUIRE_STANDBY is on, and no synchronous standby is connected. Start it, or switch the setting off.',
    );
    const standby = await addStandby(primary, path.join(folder, 'its-standby'));
    expect(await requireRefused(await startProcess(settings(standby.url)))).toContain(
      'Cannot start: DATABASE_URL leads to a standby, which takes no votes. Name the primary, or all servers: postgres://',
    );
    // Whichever is named first.
    const url = addressOf(standby, primary);
    const service = requireStarted(await startProcess(settings(url, { ...required, PORT: String(await freePort()) })));
    expect((await ask(service.port, 'GET', '/health')).status).toBe(200);
    expect(await service.stop()).toBe(0);
    await runStatements(primary.url, ['ALTER ROLE CURRENT_USER SET synchronous_commit = Local']);
    const words = 'synchronous_commit is local, so that commits wait for no standby';
    expect(await requireRefused(await startProcess(settings(url, required)))).toContain(`Cannot start: ${words}`);
    expect(await checkServer(primary.url, Date.now)).toContainEqual(
      expect.objectContaining({ name: 'standby', status: 'warning', detail: words }),
    );
    standby.stop();
    primary.stop();
    expect(await requireRefused(await startProcess(settings(url)))).toMatch(
      /no host of DATABASE_URL takes writes: 127\.0\.0\.1:\d+ cannot be used \(ECONNREFUSED\), 127\.0\.0\.1:\d+ cannot/,
    );
  });

  test('raises no_standby while the standby is gone, in its log and its metrics', async () => {
    const primary = await startOwnServer(path.join(folder, 'watched'));
    await migrate(primary.url);
    const standby = await addStandby(primary, path.join(folder, 'watched-standby'));
    const metricsPort = await freePort();
    const changes = { DATABASE_REQUIRE_STANDBY: 'on', METRICS_PORT: String(metricsPort) };
    const service = requireStarted(await startProcess(settings(primary.url, changes)));
    const lines = () => service.output().split('"alarm":"no_standby"').length - 1;
    const figure = async (name: string) => {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')[1],
      );
    };
    const read = async () => [
      lines(),
      await figure('voting_alarms_total{alarm="no_standby"}'),
      await figure('voting_synchronous_standbys'),
    ];
    await pause(LOOK_MS);
    expect(await read()).toEqual([0, 0, 1]);
    standby.stop();
    await waitForStandbys(primary, '');
    await untilTrue(async () => (await figure('voting_synchronous_standbys')) === 0);
    await untilTrue(() => lines() > 0, LOOK_MS);
    // Again and again: a rule that looks at the growth of the counter sees it for as long as it lasts.
    await untilTrue(() => lines() > 1, LOOK_MS);
    standby.start();
    await waitForStandbys(primary, '*');
    await untilTrue(async () => (await figure('voting_synchronous_standbys')) === 1, 15_000);
    await pause(200);
    const [raised] = await read();
    await pause(LOOK_MS);
    expect(await read()).toEqual([raised, raised, 1]);
    // It is connected, and commits do not wait for it.
    await runStatements(primary.url, ['ALTER ROLE CURRENT_USER SET synchronous_commit = local']);
    await untilTrue(() => lines() > (raised ?? 0), LOOK_MS);
    expect(await service.stop()).toBe(0);
    standby.stop();
    primary.stop();
  });

  // A machine that recovers, then a standby that waits to be promoted: of a fail-over, that takes long, the clients see both.
  test('raises no alarm about its jobs in a fail-over that takes long, and one where the queue is held', async () => {
    const server = await startOwnServer(path.join(folder, 'slow'));
    await migrate(server.url);
    const setHotStandby = (value: string) =>
      appendFileSync(path.join(server.data, 'postgresql.conf'), `hot_standby = ${value}\n`);
    const service = requireStarted(await startProcess(settings(server.url)));
    const faults = (code: string) => service.output().split(`"code":"${code}"`).length - 1;
    const atHealth = async () => (await ask(service.port, 'GET', '/health')).status;
    const alarms = () => service.output().split('"alarm":"jobs_stalled"').length - 1;
    expect(await atHealth()).toBe(200);
    signalServer(server, 'KILL');
    rmSync(path.join(server.data, 'postmaster.pid'));
    writeFileSync(path.join(server.data, 'standby.signal'), '');
    setHotStandby('off');
    server.start();
    await pause(STALLED_MS);
    expect(faults('57P03')).toBeGreaterThan(5);
    expect(await atHealth()).toBe(503);
    server.stop();
    setHotStandby('on');
    server.start();
    await untilTrue(() => faults('25006') > 3);
    expect(await atHealth()).toBe(503);
    expect(alarms()).toBe(0);
    promote(server);
    await untilTrue(async () => (await atHealth()) === 200, 15_000);
    await withClient(server.url, async (client) => {
      await client.query('BEGIN; LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE');
      await pause(STALLED_MS);
      expect(alarms()).toBe(1);
    });
    expect(await service.stop()).toBe(0);
    server.stop();
  });

  test(`loses and doubles no confirm when the primary is lost, ${ROUNDS} times`, async () => {
    let primary: OwnServer = await startOwnServer(path.join(folder, 'server-0'));
    await migrate(primary.url);
    const prepared = await startTestService({ databaseUrl: primary.url, secretKey, worker: false });
    const account = await prepared.account();
    const event = await createTestEvent(prepared, account, {}, PLURALITY);
    await markPlaces(primary.url, { ...prepared.deps.config, dataDir: folder });
    await prepared.stop();
    const away: number[] = [];
    let voted = 0;
    let services: StartedService[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const standby = await addStandby(primary, path.join(folder, `server-${round}`));
      const url = addressOf(primary, standby);
      services = await Promise.all(
        ['on', 'off'].map(async (worker) =>
          requireStarted(await startProcess(settings(url, { WORKER: worker, DATABASE_REQUIRE_STANDBY: 'on' }))),
        ),
      );
      let answeredAt = 0;
      let isVoting = true;
      /** As the reference says: again, with the same key, until there is an answer that is none of a fault. */
      const insist = async (port: number, target: string, body: object): Promise<unknown> => {
        const headers = { 'Idempotency-Key': visitor() };
        for (;;) {
          const answer = await ask(port, 'POST', target, { key: account.vote, body, headers });
          if (answer.status < 300) return answer.json();
          expect([409, 500, 503]).toContain(answer.status);
          await pause(50);
        }
      };
      const voteOn = async (place: number): Promise<void> => {
        const { port } = services[place % services.length] as StartedService;
        const ballot = `/public/voting-events/${event.id}/ballot`;
        while (isVoting) {
          const cast = (await insist(port, `${ballot}/cast`, { visitorId: visitor(), votes: votesFor(event) })) as {
            data: { confirmationCode: string };
          };
          await insist(port, `${ballot}/confirm`, { confirmationCode: cast.data.confirmationCode });
          voted += 1;
          answeredAt = performance.now();
        }
      };
      const voting = Array.from({ length: VOTERS_AT_ONCE }, (_, place) => voteOn(place));
      await pause(1_500);
      const lostAt = performance.now();
      loseServer(primary);
      promote(standby);
      const before = voted;
      while (voted < before + VOTERS_AT_ONCE + 1) {
        expect(performance.now() - lostAt).toBeLessThan(MOST_AWAY_MS);
        await pause(20);
      }
      away.push(Math.round(answeredAt - lostAt));
      await pause(1_000);
      isVoting = false;
      await Promise.all(voting);
      const results = await ask((services[0] as StartedService).port, 'GET', `/voting-events/${event.id}/results`, {
        key: account.read,
      });
      const { data } = (await results.json()) as { data: { stats: { ballots: number } } };
      expect(data.stats.ballots).toBe(voted);
      for (const one of services) {
        expect(one.output()).not.toContain('jobs_stalled');
        expect(await one.stop()).toBe(0);
      }
      primary = standby;
    }
    console.info(`fail-over: ${ROUNDS} times, ${voted} votes, 0 lost or doubled; away for ${away.join(', ')} ms`);
    primary.stop();
  });
});
