import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readSandboxKey } from '#sandbox/sandbox-keys.ts';
import { startSandbox } from '#sandbox/start-sandbox.ts';
import { migrate } from '#src/database/migrate.ts';
import { startEmbeddedDatabase } from '#src/embedded-postgres/embedded-database.ts';
import { type DatabaseProxy, startDatabaseProxy } from '#test/harness/database-proxy.ts';
import { createTestEvent, demand, type TestEvent } from '#test/harness/elections.ts';
import { type MailServer, startMailServer } from '#test/harness/mail-server.ts';
import { createPaidEvent, type PaidTestService, PROVIDERS } from '#test/harness/payments.ts';
import { type Receiver, startReceiver } from '#test/harness/receiver.ts';
import { freePort } from '#test/harness/started-service.ts';
import { runStatements, withDatabase } from '#test/harness/test-database.ts';
import { startTestService, type TestAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';
import { startWorkerProcess, type WorkerProcess } from '#test/harness/worker-process.ts';
import { openShop, type Shop } from '#test/money/buyers.ts';
import { Merchant } from '#test/money/merchant.ts';
import type { Asked } from './clients.ts';

export interface Member {
  readonly email: string;
  readonly voterKey: string;
}

/** Two processes of the service on a server of their own, all of whom may be killed, and what they speak to. */
export interface Chaos {
  readonly ports: readonly number[];
  readonly processes: (WorkerProcess | undefined)[];
  /** The way of each process to the database. */
  readonly proxies: readonly DatabaseProxy[];
  /** The folder of the database's server, and that of the keys of ballots. */
  readonly serverFolder: string;
  readonly ballotKeysDir: string;
  readonly baseUrl: string;
  /** The service within this process, straight at the database, without jobs: it prepares things and looks at them. */
  readonly paid: PaidTestService;
  readonly merchant: Merchant;
  readonly account: TestAccount;
  readonly mails: MailServer;
  readonly receiver: Receiver;
  /** Status that the receiver answers instead of 200; undefined for none. */
  refusal: { status: number | undefined };
  readonly poll: TestEvent;
  readonly election: TestEvent & { readonly members: Member[] };
  /** An election to which voters are added all the time. */
  readonly roll: TestEvent;
  readonly shops: readonly Shop[];
  readonly asked: Asked[];
  readonly amiss: string[];
  /** Begins a process where it is not running, and waits until it answers. */
  start(place: number): Promise<void>;
  /** The output of all processes, ended ones included. */
  output(): string;
  stop(): Promise<void>;
}

const CANDIDATES = ['Ada', 'Bea', 'Cem', 'Dina', 'Ede', 'Fay'];
const PLAN = [{ votingMethod: 'plurality', candidates: CANDIDATES }];
const BATCH = 100;

/**
 * @param members how many may vote in the election
 * @param isLossy whether the database acknowledges what is not on its disk yet: the control, in which a kill must lose votes
 */
export async function startChaos(members: number, isLossy: boolean): Promise<Chaos> {
  const folder = mkdtempSync(path.join(tmpdir(), 'voting-chaos-'));
  chmodSync(folder, 0o755);
  const server = await startEmbeddedDatabase({ dataDir: folder, log: () => undefined });
  await runStatements(server.url, ['CREATE DATABASE voting']);
  if (isLossy) await runStatements(server.url, ['ALTER DATABASE voting SET synchronous_commit = off']);
  const databaseUrl = withDatabase(server.url, 'voting');
  await migrate(databaseUrl);
  const ports = [await freePort(), await freePort()];
  let message = 0;
  const sandbox = await startSandbox({
    production: false,
    now: () => Date.now(),
    // To the processes by turns, as a balancer does.
    webhookTarget({ secretKey, provider }) {
      message += 1;
      return `http://127.0.0.1:${ports[message % 2]}/provider-webhooks/${provider}/${readSandboxKey(secretKey)?.businessId}`;
    },
  });
  const mails = await startMailServer();
  const refusal: Chaos['refusal'] = { status: undefined };
  const receiver = await startReceiver((response) => response.writeHead(refusal.status ?? 200).end());
  const ballotKeysDir = path.join(folder, 'ballot-keys');
  const baseUrl = 'https://vote.example.org';
  const environment = { BASE_URL: baseUrl };
  const secretKey = randomBytes(32).toString('base64');
  const options = { databaseUrl, secretKey, worker: false, ballotKeysDir, environment, sandboxUrl: sandbox.url };
  const service = await startTestService(options);
  const paid: PaidTestService = {
    ...{ service, sandbox, poll: (...plan) => createPaidEvent(service, ...plan), stop: async () => undefined },
  };
  const account = await service.account();
  const poll = await createTestEvent(service, account, {}, PLAN);
  const election = await createTestEvent(service, account, { type: 'election' }, PLAN, false);
  const roll = await createTestEvent(service, account, { type: 'election' }, PLAN, false);
  const able: Member[] = [];
  while (able.length < members) {
    const voters = Array.from({ length: Math.min(BATCH, members - able.length) }, (_, at) => ({
      ...{ name: `Voter ${able.length + at}`, email: `v${able.length + at}@club.example` },
    }));
    const rows = await account.post(`/voting-events/${election.id}/voters/batch`, { voters });
    for (const { id, email } of demand(rows, 201))
      able.push({ email, voterKey: await giveVoterKey(service, election.id, id) });
  }
  for (const { id } of [election, roll]) await account.change(`/voting-events/${id}`, { status: 'open' });
  const endpoint = { url: receiver.url, eventTypes: ['ballot.confirmed', 'voter.created'] };
  await account.make('/webhook-endpoints', endpoint);
  const shops = await Promise.all(PROVIDERS.map((provider) => openShop(paid, 'vote', provider)));
  const proxies = await Promise.all(ports.map(() => startDatabaseProxy(databaseUrl)));
  const processes: (WorkerProcess | undefined)[] = [];
  const said: string[] = [];
  const isAnswered = () =>
    service.query('SELECT 1').then(
      () => true,
      () => false,
    );
  const chaos: Chaos = {
    ...{
      ports,
      processes,
      proxies,
      serverFolder: folder,
      baseUrl,
      ballotKeysDir,
      paid,
      merchant: new Merchant(paid),
      account,
      mails,
    },
    ...{ receiver, refusal, poll, election: { ...election, members: able }, roll, shops, asked: [], amiss: [] },
    async start(place) {
      if (processes[place] !== undefined) return;
      // Its place for keys is marked in the database.
      while (!(await isAnswered())) await delay(100);
      processes[place] = await startWorkerProcess(service, {
        ...{ DATABASE_URL: proxies[place]?.url ?? '', SANDBOX_URL: sandbox.url, PORT: String(ports[place]) },
        ...{ SMTP_URL: mails.url, MAIL_FROM: 'votes@vote.example', WEBHOOK_ALLOW_PRIVATE: 'on', LOG_LEVEL: 'warn' },
        ...environment,
      });
      const { child, log } = processes[place];
      child.once('exit', () => said.push(log()));
    },
    output: () => [...said, ...processes.map((one) => (one?.child.exitCode === null ? one.log() : ''))].join(''),
    async stop() {
      for (const one of processes) await one?.kill();
      await service.stop();
      await Promise.all([sandbox.stop(), mails.stop(), receiver.stop(), ...proxies.map((proxy) => proxy.stop())]);
      await server.stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
  await Promise.all([chaos.start(0), chaos.start(1)]);
  return chaos;
}
