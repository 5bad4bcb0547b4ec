import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrate } from '#src/database/migrate.ts';
import { chooseServerUser } from '#src/embedded-postgres/user.ts';
import { createTestEvent } from '#test/harness/elections.ts';
import { ask } from '#test/harness/real-processes.ts';
import { voteAllTheTime } from '#test/harness/repeating-voters.ts';
import { requireStarted, runCommand, type StartedService, startProcess } from '#test/harness/started-service.ts';
import { markPlaces, startTestService } from '#test/harness/test-service.ts';
import { lackingPrograms, startPatroniCluster } from './patroni.ts';

/**
 * `npm run failover -- NUMBER`: the writer of a cluster that Patroni keeps is killed so often, while eight clients vote through two
 * processes and repeat as the API reference says. By turns its processes alone, and with its Patroni, as where the machine is gone. Ends
 * with 1 where an acknowledged vote is lost, doubled or counted for another candidate, or votes pause for longer than 15 s.
 * Without a number: a primary and its standby without Patroni, promoted at once, as `npm test` does it.
 */
const MOST_AWAY_MS = 15_000;
const CANDIDATES = ['Ada', 'Bea', 'Cem', 'Dina', 'Ede', 'Fay', 'Gil', 'Hal'];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const [given] = process.argv.slice(2);
if (given === undefined) {
  const words = ['run', '--project', 'all', '--disableConsoleIntercept=true', 'test/faults/fail-over.test.ts'];
  const env = { FAILOVERS: '20', ...process.env };
  process.exit(spawnSync('vitest', words, { stdio: 'inherit', env }).status ?? 1);
}
const rounds = Number(given);
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('how many times? a whole number from 1 on');
const lacking = lackingPrograms();
if (lacking.length > 0)
  throw new Error(`install patroni, etcd-server, haproxy and postgresql-15: ${lacking} is lacking`);

const folder = mkdtempSync(path.join(tmpdir(), 'voting-patroni-'));
chmodSync(folder, 0o755);
const servers = path.join(folder, 'servers');
mkdirSync(servers);
const user = chooseServerUser();
if (user !== undefined) chownSync(servers, user.uid, user.gid);
const secretKey = randomBytes(32).toString('base64');
const cluster = await startPatroniCluster(servers);
const services: StartedService[] = [];
process.once('exit', () => {
  for (const one of services) one.child.kill('SIGKILL');
});
process.once('SIGINT', () => process.exit(1));
let isRight = false;
try {
  await migrate(cluster.hostsUrl);
  const prepared = await startTestService({ databaseUrl: cluster.hostsUrl, secretKey, worker: false });
  const account = await prepared.account();
  const event = await createTestEvent(prepared, account, {}, [{ votingMethod: 'plurality', candidates: CANDIDATES }]);
  await markPlaces(cluster.hostsUrl, { ...prepared.deps.config, dataDir: folder });
  await prepared.stop();
  const settings = { SECRET_KEY: secretKey, DATA_DIR: folder, HOST: '127.0.0.1', LOG_LEVEL: 'warn' };
  const more = { BASE_URL: 'https://vote.example.org', EMAIL_DOMAIN_CHECK: 'off', DATABASE_REQUIRE_STANDBY: 'on' };
  // One process finds the writer itself, the other one is led to it by HAProxy.
  for (const [url, worker] of [
    [cluster.hostsUrl, 'on'],
    [cluster.proxyUrl, 'off'],
  ] as const)
    services.push(requireStarted(await startProcess({ ...settings, ...more, DATABASE_URL: url, WORKER: worker })));
  const voters = voteAllTheTime(
    services.map(({ port }) => port),
    account.vote,
    event,
  );
  const away: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    await cluster.whenSafe();
    await pause(2_000);
    const withKeeper = round % 2 === 0;
    const bringBack = await cluster.killWriter(withKeeper);
    const killedAt = performance.now();
    const before = voters.count();
    // Answers that had left the database already are fewer than there are voters.
    while (voters.count() < before + CANDIDATES.length + 1 && performance.now() - killedAt < 2 * MOST_AWAY_MS)
      await pause(20);
    away.push(Math.round(performance.now() - killedAt));
    say(`${round}: ${withKeeper ? 'machine' : 'server'} killed, ${before} votes before, away for ${away.at(-1)} ms`);
    bringBack();
  }
  await cluster.whenSafe();
  const { confirmed, mostTries } = await voters.stop();
  const port = services[0]?.port ?? 0;
  const answer = await ask(port, 'GET', `/voting-events/${event.id}/results`, { key: account.read });
  const { data } = (await answer.json()) as {
    data: { stats: { ballots: number }; positions: { candidates: { id: string; votesWon: number }[] }[] };
  };
  const counted = new Map(data.positions[0]?.candidates.map(({ id, votesWon }) => [id, votesWon]));
  const wrong = (event.positions[0]?.candidates ?? []).filter((id) => counted.get(id) !== (confirmed.get(id) ?? 0));
  const votes = [...confirmed.values()].reduce((sum, count) => sum + count, 0);
  const recount = await runCommand(['recount', '--event', event.id], { ...settings, DATABASE_URL: cluster.hostsUrl });
  const output = services.map((one) => one.output()).join('');
  const alarms = [...new Set(output.match(/"alarm":"\w+"/g))].join(', ');
  say(
    `${rounds} fail-overs, ${votes} votes acknowledged, ${data.stats.ballots} counted, ${wrong.length} candidates differ`,
  );
  say(
    `away for ${Math.min(...away)} to ${Math.max(...away)} ms; at most ${mostTries} tries of one request, all answered`,
  );
  say(`recount ends with ${recount.code}; alarms: ${alarms === '' ? 'none' : alarms}`);
  isRight =
    wrong.length === 0 &&
    data.stats.ballots === votes &&
    recount.code === 0 &&
    Math.max(...away) <= MOST_AWAY_MS &&
    !output.includes('jobs_stalled');
} finally {
  await Promise.all(services.map((one) => one.stop()));
  cluster.stop();
  if (isRight) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  else say(`what the servers said stands in ${servers}`);
}
process.exit(isRight ? 0 : 1);
