import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg, { type PoolClient, type QueryResultRow } from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import type { PlanName } from '#src/accounts/plans.ts';
import { createAccount } from '#src/accounts/repository.ts';
import { readConfig } from '#src/config.ts';
import { withConnection } from '#src/database/check-server.ts';
import { withClient } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { Scope } from '#src/http/caller.ts';
import { createLog, type Log } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { createDeps, type Service, startService } from '#src/service.ts';
import { initPlaces, type KeySettings } from '#src/voting-events/key-places.ts';
import { type ApiContract, readContract } from './api-document.ts';
import { createTestEvent, demand, type TestEvent, votePoll } from './elections.ts';
import { Met } from './met.ts';
import { createTestDatabase } from './test-database.ts';
import { use } from './use.ts';

/** The service's own limits. */
export const SERVICE_LIMITS = { ...TIME_LIMITS };

/**
 * A machine that is busy with tests would refuse their requests by limits that are made for the clients of a service. Raised here alone,
 * in the order of the service's own: programs that a test starts have these.
 */
const raiseLimits = (): void =>
  void Object.assign(TIME_LIMITS, {
    ...{ databaseConnectMs: 10_000, databaseJobConnectMs: 10_000, databaseSilenceMs: 4_000, databaseLockMs: 4_000 },
    ...{ databaseStatementMs: 15_000, databaseQueryMs: 20_000, databaseIdleInTransactionMs: 30_000 },
  });
raiseLimits();

/** For a file of tests that holds the service to its own limits. @param others in place of some of them */
export function keepServiceLimits(others: Readonly<Partial<Record<keyof typeof TIME_LIMITS, number>>> = {}): void {
  beforeAll(() => void Object.assign(TIME_LIMITS, SERVICE_LIMITS, others));
  afterAll(() => {
    Object.assign(TIME_LIMITS, SERVICE_LIMITS);
    raiseLimits();
  });
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of every shape, and fail where the shape is not as expected
  readonly body: any;
}

/** An answer with its body as it came. */
export interface WholeAnswer extends TestAnswer {
  readonly bytes: Buffer;
}

export interface CallOptions {
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server on a database of its own, spoken to over real HTTP. `await using` stops it. */
export interface TestService extends AsyncDisposable {
  readonly deps: Deps;
  readonly port: number;
  /** Where it answers. */
  readonly url: string;
  /** What another program needs to work on the same database. */
  readonly databaseUrl: string;
  readonly secretKey: string;
  call(method: string, target: string, body?: unknown, options?: CallOptions): Promise<WholeAnswer>;
  /** The answer as it comes, held against nothing: for files, and for bodies as they are written. */
  fetch(target: string, options?: CallOptions & Omit<RequestInit, 'headers'>): Promise<Response>;
  /** Asks so many times at once, in turn on this process and on another one. */
  onTwo<T>(times: number, ask: (on: TestService, index: number) => Promise<T>): Promise<T[]>;
  /** A fresh account with a key of each kind. @param cell where it lives, if there are several */
  account(plan?: PlanName, cell?: string): Promise<TestAccount>;
  /** A connection beside those of the service, to be released: it has no time limits. */
  connect(): Promise<PoolClient>;
  /** The rows of a statement, by such a connection. */
  // biome-ignore lint/suspicious/noExplicitAny: as of the driver, a test that knows the columns may name them
  query<R extends QueryResultRow = any>(sql: string, values?: readonly unknown[]): Promise<R[]>;
  /** Changes the database as its owner can: without the guards. */
  behindTheGuards(...statements: readonly [sql: string, values?: unknown[]][]): Promise<void>;
  /** A second server process' worth of service on the same database. */
  another(): Promise<TestService>;
  /** The service with the same keys and data folder on another database: a restored copy, or the same one by another role. */
  on(databaseUrl: string): Promise<TestService>;
  /** The same service under other secret keys. */
  under(secretKey: string): Promise<TestService>;
  /** What was met of it, counted from when it was first asked for. */
  readonly met: Met;
  /** Mails written so far, newest last, but for the first `from`. */
  mails(from?: number): string[];
  stop(): Promise<void>;
}

/** Requests of an organizer, below an address. */
export interface Requests {
  /** Reads with the key that may only read. */
  get(target: string): Promise<TestAnswer>;
  /** Sends with the key that writes, as the next four do. */
  send(method: string, target: string, body?: unknown, headers?: CallOptions['headers']): Promise<TestAnswer>;
  post(target: string, body?: unknown, headers?: CallOptions['headers']): Promise<TestAnswer>;
  put(target: string, body: unknown): Promise<TestAnswer>;
  patch(target: string, body: unknown, headers?: CallOptions['headers']): Promise<TestAnswer>;
  delete(target: string): Promise<TestAnswer>;
  /** Reads, creates or changes what must be there to read, create or change; the data of the answer. */
  show(target: string): Promise<TestAnswer['body']>;
  make(target: string, body?: unknown): Promise<TestAnswer['body']>;
  change(target: string, body: unknown): Promise<TestAnswer['body']>;
  /** The rows of a list that has pages, a page after the other. */
  pages(target: string): Promise<TestAnswer['body'][]>;
  /** The address on this service of a file that a read redirects to. */
  link(target: string): Promise<string>;
  /** The file itself. An address may ask only so often without a key: what is refused for that is asked for again. */
  download(target: string): Promise<WholeAnswer>;
}

/** The keys of an account, and requests with them. */
export interface TestAccount extends Requests {
  readonly id: string;
  readonly read: string;
  readonly write: string;
  readonly vote: string;
  /** The same requests below an event, which is itself ''. */
  of(event: { readonly id: string }): Requests;
  /** What a page of voters asks with the key that votes, below the event: a GET where it sends nothing. */
  page(
    event: { readonly id: string },
    path: string,
    body?: unknown,
    headers?: CallOptions['headers'],
  ): Promise<TestAnswer>;
  /** Casts and confirms a ballot that must be taken; the confirmation. */
  ballot(event: { readonly id: string }, cast: unknown): Promise<TestAnswer['body']>;
  /** The same for visitors of a poll, another one each time unless it is said who. */
  votePoll(event: TestEvent, votes: readonly unknown[], visitorId?: string): Promise<TestAnswer['body']>;
  /** Creates an event: by default an open poll by plurality. */
  event(...plan: EventPlan): Promise<TestEvent>;
}

type EventPlan = Parameters<typeof createTestEvent> extends [unknown, unknown, ...infer Plan] ? Plan : never;

function requestsBelow(service: TestService, keys: Pick<TestAccount, 'read' | 'write'>, base: string): Requests {
  const { call } = service;
  const requests: Requests = {
    get: (target) => call('GET', base + target, undefined, { key: keys.read }),
    send: (method, target, body, headers = {}) => call(method, base + target, body, { key: keys.write, headers }),
    post: (target, body, headers) => requests.send('POST', target, body, headers),
    put: (target, body) => requests.send('PUT', target, body),
    patch: (target, body, headers) => requests.send('PATCH', target, body, headers),
    delete: (target) => requests.send('DELETE', target),
    show: async (target) => demand(await requests.get(target), 200),
    make: async (target, body) => demand(await requests.post(target, body), 201),
    change: async (target, body) => demand(await requests.patch(target, body), 200),
    async pages(target) {
      const pages = [];
      for (let next = target; ; ) {
        const answer = await requests.get(next);
        pages.push(demand(answer, 200));
        const { nextCursor } = answer.body;
        if (nextCursor === null) return pages;
        next = `${target}${target.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(nextCursor)}`;
      }
    },
    async link(target) {
      const { baseUrl } = service.deps.config;
      const { status, body, headers } = await requests.get(target);
      const location = headers.get('location') ?? '';
      if (status !== 302 || body !== '' || !location.startsWith(`${baseUrl}/downloads/`))
        throw new Error(`${target} answered ${status} and leads to '${location}'`);
      return location.slice(baseUrl.length);
    },
    async download(target) {
      const link = await requests.link(target);
      return patiently(() => call('GET', link));
    },
  };
  return requests;
}

/** Asks the database again where this process believes it silent: on a machine that is busy, its own loop may have stood still. */
async function onceAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (fault) {
      const isSilent = [fault, Reflect.get(Object(fault), 'cause')].some(
        (one) => one instanceof Error && one.message === 'the database gives no answer',
      );
      if (!isSilent || tries === 20) throw fault;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

/** A fresh account on a service, with a key of each kind. */
async function makeAccount(service: TestService, plan: PlanName, cell?: string): Promise<TestAccount> {
  const { call } = service;
  accounts += 1;
  const name = cell ?? (CELLS === 'mixed' && accounts % 2 === 0 ? 'b' : service.deps.cell);
  const deps = service.deps.cells.get(name) ?? service.deps;
  const { id } = await onceAnswered(() => createAccount(deps.db, deps, { name: 'Test account', plan }));
  const key = async (...scopes: Scope[]): Promise<string> => {
    const asked = { accountId: id, name: scopes.join(), scopes, votingEventId: null, expiresInDays: null };
    return (await onceAnswered(() => createApiKey(deps.db, deps, asked))).key;
  };
  const [read, write, vote] = [await key('read'), await key('read', 'write'), await key('vote')];
  const account: TestAccount = {
    ...{ id, read, write, vote },
    ...requestsBelow(service, { read, write }, ''),
    of: ({ id: eventId }) => requestsBelow(service, { read, write }, `/voting-events/${eventId}`),
    page(event, path, body, headers = {}) {
      const target = `/public/voting-events/${event.id}/${path}`;
      return call(body === undefined ? 'GET' : 'POST', target, body, { key: vote, headers });
    },
    async ballot(event, cast) {
      const { confirmationCode } = demand(await account.page(event, 'ballot/cast', cast), 201);
      return demand(await account.page(event, 'ballot/confirm', { confirmationCode }), 200);
    },
    votePoll: (event, votes, visitorId) => votePoll(service, account, event, votes, visitorId),
    event: (...plan) => createTestEvent(service, account, ...plan),
  };
  return account;
}

let contract: Promise<ApiContract> | undefined;

export interface TestServiceOptions {
  /** Where the providers of sandbox businesses answer. */
  readonly sandboxUrl?: string;
  /** Receivers of webhooks may run on this machine; they may unless said otherwise. */
  readonly webhookAllowPrivate?: boolean;
  /** Where its log lines go; nowhere unless said otherwise. */
  readonly log?: Log;
  /** Whether it runs jobs and sends webhooks; it does unless told otherwise. */
  readonly worker?: boolean;
  /** Whether its jobs also run by the clock; they do not unless told otherwise: a full minute would change what a test sees. */
  readonly byClock?: boolean;
  /** A database that stands already, with the newest schema; one of its own otherwise. */
  readonly databaseUrl?: string;
  /** The key under which the database's values were sealed; a fresh one otherwise. */
  readonly secretKey?: string;
  /** More settings. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The setting of that name; no witness unless said otherwise. */
  readonly witnesses?: string;
  /** Where the keys of events stand: a folder of this service unless said otherwise; '' for the database. */
  readonly ballotKeysDir?: string;
  /** The setting of that name. */
  readonly ballotKeysCopies?: string;
}

/**
 * Where the accounts of a test live, by the variable CELLS: `on` puts all of them into a second database, `mixed` every other one; without
 * it there is one database.
 */
const CELLS = process.env['CELLS'];
let accounts = 0;

/** As `ballot-keys init`, for services that do not start as a program does, and for those with folders of their own. */
export async function markPlaces(databaseUrl: string, settings: KeySettings): Promise<void> {
  if (settings.ballotKeysDir === undefined) return;
  await withConnection(databaseUrl, (client) => initPlaces(settings, client, true));
}

async function serve(
  databaseUrl: string,
  secretKey: string,
  dataDir: string,
  worker: boolean,
  options: TestServiceOptions,
  tidy: () => Promise<void>,
): Promise<TestService> {
  const config = readConfig({
    DATABASE_URL: databaseUrl,
    SECRET_KEY: secretKey,
    DATA_DIR: dataDir,
    BALLOT_KEYS_DIR: options.ballotKeysDir ?? path.join(dataDir, 'ballot-keys'),
    BALLOT_KEYS_COPIES: options.ballotKeysCopies ?? '',
    PORT: '0',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'silent',
    WITNESSES: options.witnesses ?? '',
    EMAIL_DOMAIN_CHECK: 'off',
    WORKER: worker ? 'on' : 'off',
    // Receivers of webhooks run on this machine.
    WEBHOOK_ALLOW_PRIVATE: options.webhookAllowPrivate === false ? 'off' : 'on',
    ...options.environment,
  });
  await markPlaces(databaseUrl, config);
  const main = createDeps(config, databaseUrl, options.log ?? createLog('silent'), options.sandboxUrl);
  const second = main.cells.get('b') ?? main;
  const deps = CELLS === 'on' ? second : main;
  // What a test asks beside the service has none of the time limits that are made for requests.
  const own = new pg.Pool({ connectionString: deps.databaseUrl, max: 4, idleTimeoutMillis: 2_000 });
  own.on('error', () => undefined);
  own.on('connect', (client) => client.on('error', () => undefined));
  const service: Service = await startService(main, databaseUrl, options.byClock === true ? undefined : []);
  // Before anything is asked: compiling it holds this process, and with it the service, up for a while.
  contract ??= readContract(service.port);
  const held = await contract;
  const url = `http://127.0.0.1:${service.port}`;
  let met: Met | undefined;
  const served: TestService = {
    ...{ deps, port: service.port, url, databaseUrl: deps.databaseUrl, secretKey },
    fetch: (target, { key, headers, ...init } = {}) =>
      fetch(`${url}${target}`, {
        redirect: 'manual',
        ...init,
        headers: { ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }), ...headers },
      }),
    async call(method, target, body, options = {}) {
      const json = { headers: { 'Content-Type': 'application/json', ...options.headers }, body: JSON.stringify(body) };
      const response = await served.fetch(target, { method, ...options, ...(body === undefined ? {} : json) });
      const bytes = Buffer.from(await response.arrayBuffer());
      const text = new TextDecoder().decode(bytes);
      const isJson = text !== '' && response.headers.get('content-type')?.startsWith('application/json') === true;
      const { status, headers } = response;
      const answer = { status, headers, body: isJson ? JSON.parse(text) : text, bytes };
      const fault = held.faultOf({ method, target, ...answer });
      if (fault !== undefined) throw new Error(`not as the API document says: ${fault}`);
      met?.see({ method, target, body }, answer);
      return answer;
    },
    async onTwo(times, ask) {
      await using other = await served.another();
      // Awaited here: the other one stops when this returns.
      return await Promise.all(
        Array.from({ length: times }, (_, index) => ask(index % 2 === 0 ? served : other, index)),
      );
    },
    get met() {
      met ??= new Met(held);
      return met;
    },
    another: () => serve(databaseUrl, secretKey, dataDir, false, options, async () => undefined),
    on: (otherUrl) => serve(otherUrl, secretKey, dataDir, worker, options, async () => undefined),
    under(otherKey) {
      // As a start has it: the logs keep the key that they began with.
      const logKey = config.logSigningKey ?? deps.secrets.derive('log-signing');
      const environment = { ...options.environment, LOG_SIGNING_KEY: logKey.toString('base64') };
      return serve(databaseUrl, otherKey, dataDir, false, { ...options, environment }, async () => undefined);
    },
    mails(from = 0) {
      const folder = path.join(dataDir, 'mail');
      try {
        return (
          readdirSync(folder)
            // A name with a dot in front is of a mail that is being written.
            .filter((name) => name.endsWith('.eml') && !name.startsWith('.'))
            .sort()
            .slice(from)
            .map((name) => readFileSync(path.join(folder, name), 'utf8'))
        );
      } catch {
        return [];
      }
    },
    async stop() {
      await service.stop();
      // Not awaited: it would wait for a connection that a failed test did not release.
      own.end();
      await tidy();
    },
    [Symbol.asyncDispose]: () => served.stop(),
    account: (plan = 'enterprise', cell) => makeAccount(served, plan, cell),
    connect: () => own.connect(),
    query: async (sql, values) => (await own.query(sql, values === undefined ? undefined : [...values])).rows,
    async behindTheGuards(...statements) {
      // Not of the pool: its time limits are made for requests.
      await withClient({ connectionString: databaseUrl }, async (client) => {
        await client.query("SET session_replication_role = 'replica'");
        for (const [sql, values] of statements) await client.query(sql, values);
      });
    },
  };
  return served;
}

export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const { databaseUrl } = options;
  const database =
    databaseUrl === undefined ? await createTestDatabase() : { url: databaseUrl, drop: async () => undefined };
  const dataDir = mkdtempSync(path.join(tmpdir(), 'voting-service-test-'));
  const isSpread = CELLS !== undefined && options.environment?.['DATABASE_CELLS'] === undefined;
  const cell = isSpread ? await createTestDatabase() : undefined;
  const spread = cell === undefined ? {} : { DATABASE_CELLS: `b=${cell.url}` };
  return serve(
    database.url,
    options.secretKey ?? randomBytes(32).toString('base64'),
    dataDir,
    options.worker !== false,
    { ...options, environment: { ...spread, ...options.environment } },
    async () => {
      rmSync(dataDir, { recursive: true, force: true });
      await database.drop();
      await cell?.drop();
    },
  );
}

/** A service for the tests of this file, stopped after the last of them. */
export const useService = (options: TestServiceOptions = {}): Promise<TestService> => use(startTestService(options));

/** A service for all tests of a file, and an account on it. */
export async function useAccount(options?: TestServiceOptions) {
  const service = await useService(options);
  return { service, account: await service.account() };
}

/**
 * Asks again where the service has too much to do, as clients are asked to: 429, 500 or 409 with `Retry-After`. For bursts of
 * requests whose outcome counts, on a machine that may be slow. @param ask one that may be repeated
 */
export async function patiently<T extends { readonly status: number; readonly headers: Headers }>(
  ask: () => Promise<T>,
): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    const answer = await ask();
    const isBusy = [409, 429, 500].includes(answer.status);
    const seconds = Number(answer.headers.get('Retry-After') ?? 0);
    if (!isBusy || seconds === 0 || tries === 20) return answer;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  }
}

/** Waits until something is there, for work that a job does. */
export async function eventually<T>(
  what: () => T | undefined | Promise<T | undefined>,
  timeoutMs = 75_000,
): Promise<T> {
  const until = Date.now() + timeoutMs;
  for (;;) {
    const value = await what();
    if (value !== undefined) return value;
    if (Date.now() > until) throw new Error('it did not happen in time');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Waits until something is true, for work that a job does. */
export const untilTrue = async (isTrue: () => boolean | Promise<boolean>, timeoutMs?: number): Promise<void> =>
  void (await eventually(async () => ((await isTrue()) ? true : undefined), timeoutMs));
