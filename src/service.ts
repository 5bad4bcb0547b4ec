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
import { ConsoleFeed, KEPT, keepMails } from '#src/console/console-feed.ts';
import { offersConsole } from '#src/console/guard-console.ts';
import { isOfConsole } from '#src/console/routes.ts';
import { lookAtDurability } from '#src/database/check-server.ts';
import { connectDatabase, setSilent } from '#src/database/client.ts';
import { DatabaseClock } from '#src/database/database-clock.ts';
import { Heartbeat } from '#src/database/heartbeat.ts';
import { connectReads } from '#src/database/read-pool.ts';
import { IN_RECOVERY } from '#src/database/writer.ts';
import { IdempotencyStore } from '#src/http/idempotency.ts';
import { Load } from '#src/http/load.ts';
import { LoopWatch } from '#src/http/loop-watch.ts';
import { EXCHANGE_MS, exchangeRateLimits, RateLimiter } from '#src/http/rate-limit.ts';
import { createLeases } from '#src/http/request-life.ts';
import { RequestTraces, readTraces } from '#src/http/trace-requests.ts';
import type { RecurringJob } from '#src/jobs/queue.ts';
import { JOB_PLACES } from '#src/jobs/run-jobs.ts';
import { createFileMailer, createSmtpMailer, type Mailer } from '#src/mail/mailer.ts';
import { pricing } from '#src/payments/link-business.ts';
import { createPaymentProviders } from '#src/payments/payment-deps.ts';
import { ClockDrift, MINUTE_MS, SECOND_MS, systemClock } from '#src/platform/clock.ts';
import { createIds } from '#src/platform/ids.ts';
import { type Log, onAlarm, summariseFault } from '#src/platform/log.ts';
import { Presence } from '#src/platform/presence.ts';
import { createSecrets, type SealedPlace } from '#src/platform/secrets.ts';
import { ThreadPool } from '#src/platform/thread-pool.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { readVersion } from '#src/platform/version.ts';
import { repeat, within } from '#src/platform/within.ts';
import { readAssets } from '#src/reference/built-assets.ts';
import type { CountThreadData } from '#src/results/count-thread.ts';
import { Counting } from '#src/results/counting.ts';
import { type Listener, listen, requireFreePort } from '#src/server/listen.ts';
import { createMetrics, serveMetrics } from '#src/server/metrics.ts';
import type { Check, Health } from '#src/server/routes.ts';
import { createServiceLogKey } from '#src/service-log/sequence-service-log.ts';
import { acceptEveryDomain, canReceiveMail } from '#src/voters/register-voter.ts';
import { takeApprovalsBack } from '#src/voters/voter-key.ts';
import { EventCache } from '#src/voting-events/access.ts';
import { BallotKeys } from '#src/voting-events/ballot-keys.ts';
import { isGenuineEvent } from '#src/voting-events/event-tag.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { OwnInbox } from '#src/webhooks/own-inbox.ts';
import { BallotPublisher } from '#src/webhooks/publish-ballots.ts';
import { createApp } from './app.ts';
import { BackgroundWork } from './background-work.ts';
import type { Config } from './config.ts';
import type { Deps } from './deps.ts';
import { readFigures } from './read-figures.ts';
import { allJobs, recurringJobs } from './work.ts';

const POOL_SIZE = 12;
/** An account's share while others ask, too: the statements that run at the same time share the database's cores. */
const MOST_BESIDE = 4;
const READS_POOL_SIZE = 4;
/** Connections of the deletion jobs' pool that poll and maintain the job queue; each running deletion job has another one. */
const QUEUE_CONNECTIONS = 2;
/** A pool of its own, so that writes about webhook deliveries never take connections from requests. */
const WEBHOOK_POOL_SIZE = 4;
/** Limits of each of the two thread pools, for requests and for closes. `idleMs`: how long an idle thread keeps its cached counts. */
const THREADS = { threads: 2, maxHeapMb: 1_024, idleMs: 300_000 };
const PROCESS_ID_BYTES = 16;

/** Creates everything that requests and jobs use, without starting anything. The database pools connect on first use. */
export function createDeps(config: Config, databaseUrl: string, log: Log, sandboxUrl?: string): Deps {
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
  const plans = readPlans(config.plansFile);
  const onUnreadable = ({ table, column }: SealedPlace) =>
    log.error({ alarm: 'secret_unreadable', table, column }, 'a stored secret cannot be opened under the listed keys');
  const secrets = createSecrets(config.secretKeys, onUnreadable);
  const logKey = createLogKey(config, secrets);
  const isOver = async (eventId: string): Promise<boolean> => {
    const event = await findEventById(db, eventId);
    // The log of a rehearsal says nothing of the event, whose own key stays (completions 10.5), whatever SQL says of a rehearsal.
    return event !== undefined && isClosed({ db, logKey }, { ...event, rehearsalSince: null });
  };
  const ballotKeys = new BallotKeys({ db, log, secrets, settings: config, onUnreadable, isOver });
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
    config,
    version: readVersion(),
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
    loopWatch: new LoopWatch(),
    leases,
    presence,
    threads,
    ids,
    log,
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
    plans,
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
    ballots: new BallotWriter(db.$client),
    payments,
    pricing,
    domainCheck: config.emailDomainCheck ? canReceiveMail : acceptEveryDomain,
    consoleFeed,
    sandboxUrl,
    ownInbox: new OwnInbox(),
    webhookReach: config.webhookAllowPrivate ? 'private' : reach,
  };
}

/** Sends by SMTP if configured. Otherwise writes mails to files, for a developer, and shows them in the console if there is one. */
function createMailer({ smtpUrl, ...config }: Config, log: Log, now: () => number, feed?: ConsoleFeed): Mailer {
  const { mailFrom: from, mailBounces: bounces } = config;
  if (smtpUrl !== undefined)
    return createSmtpMailer({ url: smtpUrl, from, bounces, connections: JOB_PLACES.mails, log });
  const files = createFileMailer(path.join(config.dataDir, 'mail'), from, now);
  return feed === undefined ? files : keepMails(files, feed, now);
}

/** Whether each process has its own socket. If the first passes connections on, those to a dying process are lost. */
export function sharesPortInKernel(port: number): boolean {
  return process.platform === 'linux' && port !== 0;
}

export interface Service {
  readonly port: number;
  /** Fails `/health`, then stops as completions 9.6 says. @param drainMs for proxies to notice the failure; none: 0 */
  stop(drainMs?: number): Promise<void>;
  /** Resolves with a reason, in one line, once another build is to serve the database and this one must stop. */
  readonly replaced: Promise<string>;
}

/** Closes everything that `createDeps` created. */
export async function closeDeps(deps: Deps): Promise<void> {
  await Promise.all([deps.threads.close(), deps.closeThreads.close()]);
  deps.mailer.close();
  await deps.payments.close();
  const databases = [deps.db, deps.reads, ...Object.values(deps.jobDatabases)];
  await Promise.all(databases.map((db) => db.$client.end()));
}

/** Concurrent health checks share one query, so that frequent requests from strangers take only one connection. */
function shareCheck(deps: Deps): () => Promise<Check> {
  let underWay: Promise<Check> | undefined;
  const ask = async (): Promise<Check> => {
    try {
      const { rows } = await deps.db.$client.query<{ standby: boolean }>(IN_RECOVERY);
      if (rows[0]?.standby === false) return 'ok';
      deps.log.warn('the database is a standby now, and takes no writes');
    } catch (fault) {
      deps.log.warn({ fault: summariseFault(fault) }, 'the database does not answer');
    } finally {
      underWay = undefined;
    }
    return 'failed';
  };
  return () => (underWay ??= ask());
}

/**
 * Follows the database's clock, aborts queries to an unresponsive database, and pauses jobs while this machine's clock is wrong.
 * Forgets what other processes have changed.
 */
function watchDatabase(deps: Deps, url: string, work: BackgroundWork, onReplaced: (reason: string) => void): Heartbeat {
  const drift = new ClockDrift();
  const heartbeat = new Heartbeat({
    url,
    log: deps.log,
    processId: deps.processId,
    onReplaced,
    onBeat({ databaseMs, askedAt, answeredAt }) {
      for (const db of [deps.db, deps.reads]) setSilent(db, false);
      deps.clock.follow(databaseMs, askedAt, answeredAt);
      const differenceMs = Math.round(systemClock.now() - databaseMs - (answeredAt - askedAt) / 2);
      if (!drift.look(differenceMs)) return;
      if (drift.isRight) deps.log.warn({ differenceMs }, 'the clock of this machine is right again');
      else deps.log.error({ alarm: 'clock_drift', differenceMs }, 'the clock of this machine is wrong: its jobs rest');
      if (deps.config.worker) work.want(drift.isRight);
    },
    onSilence() {
      for (const db of [deps.db, deps.reads]) setSilent(db, true);
      deps.leases.changes.refuseWaiting();
      deps.leases.changeTurns.refuseWaiting();
    },
    onNotification: {
      api_key_changed: (hash) => deps.authenticator.forget(hash),
      // Cached events contain their owner's plan, which may have changed.
      account_changed: (id) => {
        deps.authenticator.forgetAccount(id);
        deps.events.forgetAll();
      },
      voting_event_changed: (id) => deps.events.forget(id),
      schema_number_changed: () => heartbeat.beatNow(),
      job_added: () => work.wake(),
    },
    onGap() {
      deps.authenticator.forgetAll();
      deps.events.forgetAll();
    },
  });
  return heartbeat;
}

/** Serves requests, and runs jobs if configured to. Call after the migration. @param recurring the scheduled jobs */
export async function startService(
  deps: Deps,
  databaseUrl: string,
  recurring: readonly RecurringJob[] = recurringJobs(deps),
): Promise<Service> {
  const startedAt = performance.now();
  // Read the built files now: a build during the run of this process must not change what it serves.
  await readAssets();
  const work = new BackgroundWork(deps, recurring);
  const replaced = Promise.withResolvers<string>();
  const heartbeat = watchDatabase(deps, databaseUrl, work, replaced.resolve);
  await heartbeat.start();
  const stopping = new AbortController();
  deps.load.start(stopping.signal);
  const checkDatabase = shareCheck(deps);
  const readHealth = async (): Promise<Health> => {
    const database = stopping.signal.aborted || heartbeat.isSilent ? 'failed' : await checkDatabase();
    return {
      uptimeMs: Math.round(performance.now() - startedAt),
      checks: {
        database,
        worker: deps.config.worker ? (work.isWell() ? 'ok' : 'failed') : 'off',
        migrations: 'ok',
      },
    };
  };
  const rateLimiter = new RateLimiter();
  const jobs = [...allJobs(deps), ...recurring];
  const metrics = createMetrics(() => readFigures(deps.db, jobs, deps.config.witnesses), deps.version);
  onAlarm(deps.log, (name) => metrics.alarm(name));
  const traces = new RequestTraces(deps.db.$client);
  const app = createApp(deps, rateLimiter, readHealth, (request) => {
    metrics.observe(request);
    traces.note(request);
    if (deps.consoleFeed !== undefined && !isOfConsole(request)) deps.consoleFeed.addRequest(request, deps.clock.now());
  });
  deps.consoleFeed?.recall(await readTraces(deps.db, { limit: KEPT.requests }));
  const giveUp = async (fault: unknown) => {
    // Close all sessions first: the caller then stops the embedded database, which would cut open sessions and log an error for each.
    await Promise.all([heartbeat.stop(), closeDeps(deps)]);
    throw fault;
  };
  const { registry } = metrics;
  const metricsServer = cluster.isWorker
    ? undefined
    : await serveMetrics(deps.config, registry.contentType, () => registry.metrics()).catch(giveUp);
  const reusePort = sharesPortInKernel(deps.config.port);
  // With several processes, the first process checks the port before it forks the others.
  if (reusePort && !cluster.isWorker) await requireFreePort(deps.config).catch(giveUp);
  const listener: Listener = await listen({
    referenceUrl: deps.config.apiDocUrl,
    secure: deps.config.baseUrl.startsWith('https://'),
    behindProxy: deps.config.trustProxy > 0,
    fetch: (request, env) => app.fetch(request, env),
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
  if (deps.config.worker) await work.start();
  if (cluster.isWorker) {
    // With several processes, the first serves the metrics of all: prom-client listens for its requests once an aggregator exists.
    AggregatorRegistry.setRegistries(registry);
    new AggregatorRegistry();
  }
  const tasks: readonly [number, string, () => Promise<unknown>][] = [
    [SECOND_MS, 'refused requests were not kept', () => traces.flush()],
    [SECOND_MS, 'confirmed ballots were not announced yet', () => deps.ballotPublisher.publish()],
    [SECOND_MS, 'claims of requests that are over were not looked for', () => deps.idempotency.freeOver()],
    [EXCHANGE_MS, 'rate limits were not shared', () => exchangeRateLimits(deps.db.$client, rateLimiter)],
    [
      10 * SECOND_MS,
      'the settings of the database could not be read',
      () => lookAtDurability(deps.db.$client, deps.log, deps.config.requireStandby),
    ],
    [MINUTE_MS, 'last use of keys not written', () => deps.authenticator.flushLastUsed()],
    [MINUTE_MS, 'confirmed ballots were not looked for', () => deps.acknowledged.look(deps)],
    [MINUTE_MS, 'keys of events not looked through', () => deps.ballotKeys.tidy()],
  ];
  for (const [ms, failed, task] of tasks) repeat(ms, stopping.signal, deps.log, failed, task);
  return {
    port: listener.port,
    replaced: replaced.promise,
    async stop(drainMs = 0) {
      stopping.abort();
      deps.consoleFeed?.close();
      await metricsServer?.stop();
      await Promise.all([listener.drain(drainMs).then(() => listener.close(TIME_LIMITS.shutdownGraceMs)), work.stop()]);
      await within(Promise.all([deps.authenticator.flushLastUsed(), traces.flush()]), TIME_LIMITS.closeMs);
      await within(Promise.all([heartbeat.stop(), closeDeps(deps)]), TIME_LIMITS.closeMs);
    },
  };
}
