import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { AggregatorRegistry } from 'prom-client';
import { Authenticator } from '#src/accounts/authenticate.ts';
import { readPlans } from '#src/accounts/plans.ts';
import { BallotDefinitionCache } from '#src/ballot-definition/ballot-definition.ts';
import { giveOptions } from '#src/ballot-definition/change-candidate.ts';
import { Acknowledged } from '#src/ballot-log/acknowledged.ts';
import { createLogKey, openCheckpoint } from '#src/ballot-log/checkpoint.ts';
import { CheckpointMemory } from '#src/ballot-log/checkpoint-memory.ts';
import { isClosed } from '#src/ballot-log/find-close.ts';
import { differsFromLog } from '#src/ballot-log/frozen.ts';
import { createLogRecorder } from '#src/ballot-log/record-configuration.ts';
import { BallotWriter } from '#src/ballots/repository.ts';
import { openCells } from '#src/cells/open-cells.ts';
import { ConsoleFeed, keepMails } from '#src/console/console-feed.ts';
import { offersConsole } from '#src/console/guard-console.ts';
import { connectDatabase } from '#src/database/client.ts';
import { DatabaseClock } from '#src/database/database-clock.ts';
import { MAIN_CELL, otherCells } from '#src/database/other-cells.ts';
import { connectReads } from '#src/database/read-pool.ts';
import { IdempotencyStore } from '#src/http/idempotency.ts';
import { Load } from '#src/http/load.ts';
import { LoopWatch } from '#src/http/loop-watch.ts';
import { RateLimiter } from '#src/http/rate-limit.ts';
import { createLeases } from '#src/http/request-life.ts';
import type { RecurringJob } from '#src/jobs/queue.ts';
import { JOB_PLACES } from '#src/jobs/run-jobs.ts';
import { createFileMailer, createSmtpMailer, type Mailer } from '#src/mail/mailer.ts';
import { pricing } from '#src/payments/link-business.ts';
import { createPaymentProviders } from '#src/payments/payment-deps.ts';
import { createIds } from '#src/platform/ids.ts';
import { type Log, onAlarm } from '#src/platform/log.ts';
import { Presence } from '#src/platform/presence.ts';
import { createSecrets, type SealedPlace } from '#src/platform/secrets.ts';
import { ThreadPool } from '#src/platform/thread-pool.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { readVersion } from '#src/platform/version.ts';
import { within } from '#src/platform/within.ts';
import { readAssets } from '#src/reference/built-assets.ts';
import type { CountThreadData } from '#src/results/count-thread.ts';
import { Counting } from '#src/results/counting.ts';
import { type Listener, listen, requireFreePort } from '#src/server/listen.ts';
import { createMetrics, serveMetrics } from '#src/server/metrics.ts';
import { createServiceLogKey } from '#src/service-log/sequence-service-log.ts';
import { acceptEveryDomain, canReceiveMail } from '#src/voters/register-voter.ts';
import { takeApprovalsBack } from '#src/voters/voter-key.ts';
import { EventCache } from '#src/voting-events/access.ts';
import { BallotKeys } from '#src/voting-events/ballot-keys.ts';
import { isGenuineEvent } from '#src/voting-events/event-tag.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { OwnInbox } from '#src/webhooks/own-inbox.ts';
import { BallotPublisher } from '#src/webhooks/publish-ballots.ts';
import type { CellPlace, Config } from './config.ts';
import type { Deps } from './deps.ts';
import { readFiguresOfCells } from './read-figures.ts';
import { serveOthers } from './serve-other-cells.ts';
import { type AroundCells, joinChecks, type RunningCell, startCell } from './start-cell.ts';
import { allJobs, recurringJobs } from './work.ts';

const POOL_SIZE = 12;
/** Connections that an account may have while other accounts also send requests: concurrent statements share the database's cores. */
const MOST_BESIDE = 4;
const READS_POOL_SIZE = 4;
/** Connections of the deletion jobs' pool that poll and maintain the queue of jobs. Each running deletion job has another connection. */
const QUEUE_CONNECTIONS = 2;
/** A separate pool, so that writes about webhook deliveries never take connections away from requests. */
const WEBHOOK_POOL_SIZE = 4;
/** Limits of each of the two thread pools, for requests and for closes. `idleMs`: how long an idle thread keeps its cached counts. */
const THREADS = { threads: 2, maxHeapMb: 1_024, idleMs: 300_000 };
const LETTER_THREADS = { ...THREADS, threads: 1 };
const PROCESS_ID_BYTES = 16;

/** What all cells of a process share. A cell is one of the service's databases. */
type Shared = Pick<Deps, 'log' | 'loopWatch' | 'plans' | 'version' | 'ownInbox' | 'cells' | 'sandboxUrl'>;

/**
 * Creates, for each cell, everything that requests and jobs use. Starts nothing. The database pools connect when first used.
 * @returns the dependencies of the main cell, whose URL is `databaseUrl`
 */
export function createDeps(config: Config, databaseUrl: string, log: Log, sandboxUrl?: string): Deps {
  const cells = new Map<string, Deps>();
  const shared: Shared = {
    ...{ log, cells, sandboxUrl },
    loopWatch: new LoopWatch(),
    plans: readPlans(config.plansFile),
    version: readVersion(),
    ownInbox: new OwnInbox(),
  };
  const main = createCell(config, { name: MAIN_CELL, url: databaseUrl }, shared);
  cells.set(MAIN_CELL, main);
  // The replica is of the main cell, and has no rows of other cells.
  for (const place of config.databaseCells)
    cells.set(place.name, createCell({ ...config, databaseReadUrl: undefined }, place, shared));
  return main;
}

function createCell(config: Config, { name, url: databaseUrl }: CellPlace, shared: Shared): Deps {
  const { log, plans, cells, sandboxUrl } = shared;
  const clock = new DatabaseClock();
  const presence = new Presence();
  const db = connectDatabase({
    url: databaseUrl,
    log,
    maxConnections: POOL_SIZE,
    beside: { perAccount: MOST_BESIDE, presence },
  });
  const { databaseReadUrl: readUrl } = config;
  const reads = connectReads({ url: databaseUrl, log, maxConnections: READS_POOL_SIZE }, readUrl);
  const copy = readUrl === undefined ? db : reads;
  const jobPool = (maxConnections: number) =>
    connectDatabase({ url: databaseUrl, log, maxConnections, connectMs: TIME_LIMITS.databaseJobConnectMs });
  const onUnreadable = ({ table, column }: SealedPlace) =>
    log.error({ alarm: 'secret_unreadable', table, column }, 'a stored secret cannot be opened under the listed keys');
  const secrets = createSecrets(config.secretKeys, onUnreadable);
  const logKey = createLogKey(config, secrets);
  const isOver = async (eventId: string): Promise<boolean> => {
    const event = await findEventById(db, eventId);
    // A rehearsal's log says nothing about the event's own key, which stays (completions 10.5). Ignore it, even if SQL claims a rehearsal.
    return event !== undefined && isClosed({ db, logKey }, { ...event, rehearsalSince: null });
  };
  const others = () => otherCells({ cell: name, cells }).map((other) => other.db);
  const ballotKeys = new BallotKeys({ db, others, log, secrets, settings: config, onUnreadable, isOver });
  const definitions = new BallotDefinitionCache(
    db,
    async (executor, definition) =>
      !isGenuineEvent(secrets, definition.event) || (await differsFromLog({ db: executor, logKey }, definition)),
  );
  const ids = createIds(clock);
  const processId = randomBytes(PROCESS_ID_BYTES);
  const checkpoints = new CheckpointMemory(config.dataDir, (note) => openCheckpoint(note, logKey));
  const logRecorder = createLogRecorder({ ids, clock, secrets, definitions, logKey, checkpoints });
  const payments = createPaymentProviders(() => clock.now(), config.providerUrls, sandboxUrl);
  const leases = createLeases(presence);
  const { secretKeys, ballotKeysDir, ballotKeysCopies, dataDir } = config;
  const forThreads: CountThreadData = {
    databaseUrl,
    readUrl,
    secretKeys,
    keySettings: { ballotKeysDir, ballotKeysCopies, dataDir },
    verifierKey: logKey.verifierKey,
  };
  const threads = new ThreadPool(THREADS, forThreads, leases.threads);
  const closeThreads = new ThreadPool(THREADS, forThreads);
  const hasConsole = offersConsole(config);
  const consoleFeed = hasConsole ? new ConsoleFeed(clock.now()) : undefined;
  const reach = hasConsole ? 'loopback' : 'public';
  return {
    ...shared,
    config,
    cell: name,
    databaseUrl,
    standing: { isServed: name === MAIN_CELL, answeredAt: Number.POSITIVE_INFINITY },
    db,
    reads,
    copy,
    jobDatabases: {
      mails: jobPool(JOB_PLACES.mails),
      deletions: jobPool(JOB_PLACES.deletions + QUEUE_CONNECTIONS),
      webhooks: jobPool(WEBHOOK_POOL_SIZE),
    },
    clock,
    processId,
    idempotency: new IdempotencyStore(db, secrets, processId),
    load: new Load(() => db.$client.waiting + reads.$client.waiting),
    leases,
    presence,
    threads,
    ids,
    mailer: createMailer(config, log, () => clock.now(), consoleFeed),
    secrets,
    ballotKeys,
    logKey,
    checkpoints,
    acknowledged: new Acknowledged(),
    ballotPublisher: new BallotPublisher(db),
    giveOptions: (tx, organizer) => giveOptions(tx, { ids, clock, logRecorder }, organizer),
    takeApprovalsBack: (tx, event) => takeApprovalsBack(tx, secrets, event),
    logRecorder,
    serviceLog: createServiceLogKey(logKey, config.dataDir),
    authenticator: new Authenticator({ db, clock, plans, secrets, log }),
    events: new EventCache({ db, secrets }),
    definitions,
    counting: new Counting({
      db,
      copy,
      secrets,
      ballotKeys,
      definitions,
      logKey,
      log,
      threads,
      closeThreads,
    }),
    closeThreads,
    letterThreads: new ThreadPool(LETTER_THREADS, undefined),
    ballots: new BallotWriter(db.$client),
    payments,
    pricing,
    domainCheck: config.emailDomainCheck ? canReceiveMail : acceptEveryDomain,
    consoleFeed,
    webhookReach: config.webhookAllowPrivate ? 'private' : reach,
  };
}

/** Sends by SMTP if that is configured. Otherwise writes mails to files, for developers, and shows them in the console if there is one. */
function createMailer({ smtpUrl, ...config }: Config, log: Log, now: () => number, feed?: ConsoleFeed): Mailer {
  const { mailFrom: from, mailBounces: bounces } = config;
  if (smtpUrl !== undefined)
    return createSmtpMailer({ url: smtpUrl, from, bounces, connections: JOB_PLACES.mails, log });
  const files = createFileMailer(path.join(config.dataDir, 'mail'), from, now);
  return feed === undefined ? files : keepMails(files, feed, now);
}

/** Whether each process has its own listening socket. If the first passed connections on, a dying process would lose its own. */
export function sharesPortInKernel(port: number): boolean {
  return process.platform === 'linux' && port !== 0;
}

export interface Service {
  readonly port: number;
  /** Makes `/health` fail, then stops as completions 9.6 says. @param drainMs time for proxies to notice this; 0 without proxies */
  stop(drainMs?: number): Promise<void>;
  /** Resolves with a reason, in one line, when another build takes over the database and this process must stop. */
  readonly replaced: Promise<string>;
}

/** Closes everything that `createDeps` created. */
export async function closeDeps(deps: Deps): Promise<void> {
  await Promise.all([deps, ...otherCells(deps)].map(closeCell));
}

async function closeCell(deps: Deps): Promise<void> {
  await Promise.all([deps.threads, deps.closeThreads, deps.letterThreads].map((pool) => pool.close()));
  deps.mailer.close();
  await deps.payments.close();
  const databases = [deps.db, deps.reads, ...Object.values(deps.jobDatabases)];
  await Promise.all(databases.map((db) => db.$client.end()));
}

/** Serves requests, and runs jobs if so configured. Call after the migration. @param recurring the scheduled jobs of each cell */
export async function startService(
  deps: Deps,
  databaseUrl: string,
  recurring?: readonly RecurringJob[],
): Promise<Service> {
  const startedAt = performance.now();
  // Read the built files now, so that a build during the run of this process does not change what it serves.
  await readAssets();
  const replaced = Promise.withResolvers<string>();
  const stopping = new AbortController();
  const rateLimiter = new RateLimiter();
  const cells = [deps, ...otherCells(deps)];
  const several = cells.length === 1 ? undefined : openCells(deps);
  const running: RunningCell[] = [];
  const jobs = [...allJobs(deps), ...(recurring ?? recurringJobs(deps))];
  const metrics = createMetrics(() => readFiguresOfCells(cells, jobs), deps.version);
  onAlarm(deps.log, (name) => metrics.alarm(name));
  const around: AroundCells = {
    rateLimiter,
    stopping: stopping.signal,
    observe: (request) => metrics.observe(request),
    async readHealth() {
      const served = running.filter((cell) => cell.deps.standing.isServed);
      const checks = await Promise.all(served.map((cell) => cell.checks()));
      return { uptimeMs: Math.round(performance.now() - startedAt), checks: joinChecks(checks) };
    },
    onReplaced: replaced.resolve,
    authenticator: several?.callers,
    hasLeft: several?.hasLeft,
    onNotification: several?.onNotification ?? {},
  };
  const start = async (cell: Deps, url: string): Promise<RunningCell> => {
    const one = await startCell(cell, url, recurring ?? recurringJobs(cell), around);
    running.push(one);
    return one;
  };
  const main = await start(deps, databaseUrl);
  const giveUp = async (fault: unknown) => {
    // First close all sessions: the caller then stops the embedded database, which would cut open sessions and log an error for each.
    await Promise.all([main.close(), closeDeps(deps)]);
    throw fault;
  };
  const { registry } = metrics;
  const metricsServer = cluster.isWorker
    ? undefined
    : await serveMetrics(deps.config, registry.contentType, () => registry.metrics()).catch(giveUp);
  const reusePort = sharesPortInKernel(deps.config.port);
  // With several processes, the first checks the port before it forks the others.
  if (reusePort && !cluster.isWorker) await requireFreePort(deps.config).catch(giveUp);
  const gate = several?.openGate(main, rateLimiter);
  if (gate !== undefined) {
    const add = (cell: RunningCell) => void gate.add(cell);
    await serveOthers({ deps, databaseUrl, start, add, stopping: stopping.signal });
  }
  const listener: Listener = await listen({
    referenceUrl: deps.config.apiDocUrl,
    secure: deps.config.baseUrl.startsWith('https://'),
    behindProxy: deps.config.trustProxy > 0,
    fetch: (request, env) => (gate ?? main.app).fetch(request, env),
    port: deps.config.port,
    host: deps.config.host,
    log: deps.log,
    observe: (request) => metrics.observe(request),
    reusePort,
  }).catch(giveUp);
  if (deps.consoleFeed !== undefined) deps.ownInbox.open(listener.port);
  deps.loopWatch.start(stopping.signal, ({ isRepeated, ...hold }) => {
    metrics.held(hold);
    if (isRepeated) deps.log.error({ alarm: 'loop_held', ...hold }, 'the event loop is held again and again');
    else deps.log.warn(hold, 'the event loop was held');
  });
  await main.begin();
  if (cluster.isWorker) {
    // With several processes, the first serves all metrics: prom-client listens for its requests once an aggregator exists.
    AggregatorRegistry.setRegistries(registry);
    new AggregatorRegistry();
  }
  return {
    port: listener.port,
    replaced: replaced.promise,
    async stop(drainMs = 0) {
      stopping.abort();
      deps.consoleFeed?.close();
      await metricsServer?.stop();
      await Promise.all([
        listener.drain(drainMs).then(() => listener.close(TIME_LIMITS.shutdownGraceMs)),
        ...running.map((cell) => cell.stopWork()),
      ]);
      await Promise.all(running.map((cell) => cell.close()));
      await within(closeDeps(deps), TIME_LIMITS.closeMs);
    },
  };
}
