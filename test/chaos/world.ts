import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readSandboxKey } from '#sandbox/sandbox-keys.ts';
import { startSandbox } from '#sandbox/start-sandbox.ts';
import { SCHEMA } from '#src/database/schema-number.ts';
import { type DatabaseProxy, startDatabaseProxy } from '#test/harness/database-proxy.ts';
import { createTestEvent, demand, type TestEvent } from '#test/harness/elections.ts';
import { createFakeClock, type FakeClock, hasFaketime } from '#test/harness/faketime.ts';
import { type MailServer, startMailServer } from '#test/harness/mail-server.ts';
import { copyRelease, NEXT_DIGEST } from '#test/harness/next-release.ts';
import { createPaidEvent, type PaidTestService, PROVIDERS } from '#test/harness/payments.ts';
import { type Receiver, startReceiver } from '#test/harness/receiver.ts';
import { freePort, runCommand } from '#test/harness/started-service.ts';
import { markPlaces, startTestService, type TestAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';
import { startWorkerProcess, type WorkerProcess } from '#test/harness/worker-process.ts';
import { openShop, type Shop } from '#test/money/buyers.ts';
import { Merchant } from '#test/money/merchant.ts';
import type { Asked } from './clients.ts';
import { type ChaosDatabase, startDatabase } from './database.ts';

export interface Member {
  readonly email: string;
  readonly voterKey: string;
}

/** Where a process of the service runs: its ways to database and providers, its clock and its folder outlive it. */
export interface Place {
  readonly port: number;
  readonly database: DatabaseProxy;
  readonly provider: DatabaseProxy;
  /** A clock that can be set costs its process 50 µs for each look at it: one of them has it. */
  readonly clock: FakeClock | undefined;
  /** Undefined while it is ended on purpose. */
  running: WorkerProcess | undefined;
  starting: Promise<void> | undefined;
}

/** Two processes of the service on a server of their own, all of whom may be killed, and what they speak to. */
export interface Chaos {
  readonly places: readonly Place[];
  readonly database: ChaosDatabase;
  /** The folders of the keys of ballots. */
  readonly keyFolders: readonly string[];
  /** What commands need, at the checkout whose release serves. */
  readonly settings: Readonly<Record<string, string>>;
  root: string | undefined;
  /** The service within this process, without jobs: it prepares things and looks at them. */
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
  /** Of a hundred tries of a client, how many end at a byte that the dice choose. */
  hangUps: number;
  readonly dice: (below: number) => number;
  readonly asked: Asked[];
  readonly amiss: string[];
  /** How often something was drawn, by its name. */
  readonly drawn: Map<string, number>;
  /** Begins a process where none is running, and waits until it answers. */
  start(place: Place): Promise<void>;
  /** Migrates to the next release, of which processes are from now on. */
  upgrade(): Promise<void>;
  /** Leads all to where the database takes writes now, and ends the connections that lead elsewhere. */
  leadToWriter(): void;
  /** The output of all processes, ended ones included. */
  output(): string;
  stop(): Promise<void>;
}

/** Counts what was drawn. */
export const note = ({ drawn }: Chaos, what: string): void => void drawn.set(what, (drawn.get(what) ?? 0) + 1);

const CANDIDATES = ['Ada', 'Bea', 'Cem', 'Dina', 'Ede', 'Fay'];
const PLAN = [{ votingMethod: 'plurality', candidates: CANDIDATES }];
/** No more than there are connections: each voter gets a key over one of them. */
const BATCH = 10;
const FIRST_RELEASE = SCHEMA.number;
/** A migration that waits for a process that hangs takes half a minute. */
const MOST_STARTS = 60;
const START_PAUSE_MS = 500;
const DATABASE_AWAY = /the database c(?:anno|ould no)t be used|the database was not migrated/;

/** The way of a process to database and providers, its clock, and its own folder with marked places. */
async function makePlace(folder: string, databaseUrl: string, sandboxUrl: string, hasClock: boolean): Promise<Place> {
  mkdirSync(folder);
  return {
    port: await freePort(),
    database: await startDatabaseProxy(databaseUrl),
    provider: await startDatabaseProxy(sandboxUrl),
    clock: hasClock ? createFakeClock(path.join(folder, 'clock')) : undefined,
    ...{ running: undefined, starting: undefined },
  };
}

/**
 * @param members how many may vote in the election
 * @param isLossy whether the database acknowledges what is not on its disk yet: the control, in which a kill must lose votes
 */
export async function startChaos(members: number, isLossy: boolean, dice: Chaos['dice']): Promise<Chaos> {
  const folder = mkdtempSync(path.join(tmpdir(), 'voting-chaos-'));
  chmodSync(folder, 0o755);
  const database = await startDatabase(folder, isLossy);
  const databaseUrl = database.url;
  const places: Place[] = [];
  let message = 0;
  const sandbox = await startSandbox({
    production: false,
    now: () => Date.now(),
    // To the processes by turns, as a balancer does.
    webhookTarget({ secretKey, provider }) {
      message += 1;
      return `http://127.0.0.1:${places[message % 2]?.port}/provider-webhooks/${provider}/${readSandboxKey(secretKey)?.businessId}`;
    },
  });
  const folderOf = (place: number): string => path.join(folder, `place-${place}`);
  for (const at of [0, 1])
    places.push(await makePlace(folderOf(at), databaseUrl, sandbox.url, at === 1 && hasFaketime));
  const mails = await startMailServer();
  const refusal: Chaos['refusal'] = { status: undefined };
  const receiver = await startReceiver((response) => response.writeHead(refusal.status ?? 200).end());
  const keyFolders = [path.join(folder, 'ballot-keys'), path.join(folder, 'copies')] as const;
  for (const one of keyFolders) mkdirSync(one);
  const environment = { BASE_URL: 'https://vote.example.org' };
  const secretKey = randomBytes(32).toString('base64');
  const [ballotKeysDir, ballotKeysCopies] = keyFolders;
  // Its own way: a migration waits for the end of its sessions, too. Commands have another one, which no fault meets.
  const [own, ofCommands] = await Promise.all([startDatabaseProxy(databaseUrl), startDatabaseProxy(databaseUrl)]);
  const service = await startTestService({
    ...{ databaseUrl: own.url, secretKey, worker: false, ballotKeysDir, ballotKeysCopies, environment },
    sandboxUrl: sandbox.url,
  });
  for (const at of [0, 1]) await markPlaces(databaseUrl, { ...service.deps.config, dataDir: folderOf(at) });
  const settings = {
    ...{ DATABASE_URL: ofCommands.url, SECRET_KEY: secretKey, DATA_DIR: folder, ...environment },
    ...{ BALLOT_KEYS_DIR: ballotKeysDir, BALLOT_KEYS_COPIES: ballotKeysCopies },
  };
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
    const give = async ({ id, email }: { id: string; email: string }): Promise<void> =>
      void able.push({ email, voterKey: await giveVoterKey(service, election.id, id) });
    await Promise.all(demand(rows, 201).map(give));
  }
  for (const { id } of [election, roll]) await account.change(`/voting-events/${id}`, { status: 'open' });
  const endpoint = { url: receiver.url, eventTypes: ['ballot.confirmed', 'voter.created'] };
  await account.make('/webhook-endpoints', endpoint);
  const shops = await Promise.all(PROVIDERS.map((provider) => openShop(paid, 'vote', provider)));
  const said: string[] = [];
  let releases = 0;

  async function begin(place: Place): Promise<void> {
    const at = places.indexOf(place);
    for (let tries = 1; place.running === undefined; tries += 1) {
      const one = await startWorkerProcess(
        service,
        {
          ...settings,
          ...{ DATABASE_URL: place.database.url, SANDBOX_URL: place.provider.url, PORT: String(place.port) },
          ...{ SMTP_URL: mails.url, MAIL_FROM: 'votes@vote.example', WEBHOOK_ALLOW_PRIVATE: 'on', LOG_LEVEL: 'warn' },
          ...{ DATA_DIR: folderOf(at), ...place.clock?.environment },
        },
        chaos.root,
      );
      void one.exited.then((code) => {
        said.push(one.log());
        if (place.running !== one) return;
        place.running = undefined;
        chaos.amiss.push(`a process ended by itself with ${code}: ${one.log().slice(-500)}`);
      });
      // Where another build migrates, or the database is away, one does not begin: then it is begun again, as by a supervisor.
      if (one.child.exitCode === null) place.running = one;
      else if (tries === MOST_STARTS) throw new Error(`a process does not begin: ${one.log()}`);
      else await delay(START_PAUSE_MS);
    }
  }

  const chaos: Chaos = {
    ...{
      places,
      database,
      keyFolders,
      settings,
      root: undefined,
      paid,
      merchant: new Merchant(paid),
      account,
    },
    ...{ mails, receiver, refusal, poll, election: { ...election, members: able }, roll, shops, hangUps: 0, dice },
    ...{ asked: [], amiss: [], drawn: new Map() },
    async start(place) {
      place.starting ??= begin(place).finally(() => {
        place.starting = undefined;
      });
      await place.starting;
    },
    async upgrade() {
      releases += 1;
      const number = FIRST_RELEASE + releases;
      const statements = `ALTER TABLE voting_events ADD COLUMN of_release_${number} text;`;
      chaos.root = copyRelease(path.join(folder, `release-${number}`), { number, statements });
      own.away = true;
      own.cut();
      // Where another fault takes the database away, it says so, and is run again, as by an operator. It may fail for nothing else.
      for (let tries = 1; ; tries += 1) {
        const ended = await runCommand(['migrate'], settings, chaos.root);
        if (ended.code === 0) break;
        const said = `the migration to ${number} ended with ${ended.code}: ${ended.stdout}${ended.stderr}`;
        if (!DATABASE_AWAY.test(said)) chaos.amiss.push(said);
        if (tries === MOST_STARTS) throw new Error(said);
        await delay(START_PAUSE_MS);
      }
      // From now on this process looks with the eyes of that release, which differs in nothing that it looks at.
      Object.assign(SCHEMA, { number, digest: NEXT_DIGEST });
      own.away = false;
    },
    leadToWriter() {
      for (const proxy of [own, ofCommands, ...places.map((place) => place.database)]) {
        proxy.port = Number(new URL(database.url).port);
        proxy.cut();
      }
    },
    output: () => [...said, ...places.map(({ running }) => running?.log() ?? '')].join(''),
    async stop() {
      for (const place of places) {
        const one = place.running;
        // From here on its end is no surprise.
        place.running = undefined;
        await one?.kill();
      }
      await service.stop();
      const proxies = [own, ofCommands, ...places.flatMap(({ database, provider }) => [database, provider])];
      await Promise.all([sandbox.stop(), mails.stop(), receiver.stop(), ...proxies.map((proxy) => proxy.stop())]);
      await database.stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
  await Promise.all(places.map((place) => chaos.start(place)));
  return chaos;
}
