import cluster from 'node:cluster';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { AggregatorRegistry, type Registry } from 'prom-client';
import { Authenticator } from '#src/accounts/authenticate.ts';
import { readPlans } from '#src/accounts/plans.ts';
import { createApp } from '#src/app.ts';
import { createLogKey } from '#src/ballot-log/log-key.ts';
import { Witness } from '#src/ballot-log/witness.ts';
import { PaperShelf } from '#src/ballot-paper/paper.ts';
import { BallotWriter } from '#src/ballots/ballot-writer.ts';
import { type Config, readVersion } from '#src/config.ts';
import { connectDatabase } from '#src/database/client.ts';
import { listenForNotifications } from '#src/database/notifications.ts';
import type { Deps } from '#src/deps.ts';
import { createMetrics, serveMetrics } from '#src/http/metrics.ts';
import { RateLimiter } from '#src/http/rate-limit.ts';
import { type Listener, listen } from '#src/http/serve.ts';
import type { Check, Health } from '#src/http/service-routes.ts';
import { shareRateLimits } from '#src/http/share-rate-limits.ts';
import { JOB_PLACES, type JobRunner, runJobs } from '#src/jobs/run-jobs.ts';
import { createFileMailer, createSmtpMailer } from '#src/mail/mailer.ts';
import { createPricing } from '#src/payments/check-price.ts';
import { createPaymentProviders, type ProviderAddresses } from '#src/payments/payment-providers.ts';
import { MINUTE_MS, systemClock } from '#src/platform/clock.ts';
import { createIds } from '#src/platform/ids.ts';
import { type Log, onAlarm, summariseFault } from '#src/platform/log.ts';
import { createSecrets } from '#src/platform/secrets.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { readFigures } from '#src/read-figures.ts';
import { Counting } from '#src/results/counting.ts';
import { acceptEveryDomain, canReceiveMail } from '#src/voters/email-domain.ts';
import { EventCache } from '#src/voting-events/event-cache.ts';
import { WebhookSender } from '#src/webhooks/deliver.ts';
import { createPoster } from '#src/webhooks/guarded-post.ts';
import { allJobs, recurringJobs } from '#src/work.ts';

const POOL_SIZE = 12;
const READS_POOL_SIZE = 4;
/** Beside one for each job of the group: one that listens for new jobs, and one that looks for them. */
const JOB_CONNECTIONS = 2;
/** What webhooks under way get to end; cut off ones are taken up by the next process. */
const SENDER_GRACE_MS = 3_000;

/** Makes everything that requests and jobs use. Nothing is started yet but the pool, which connects when asked. */
export function createDeps(config: Config, databaseUrl: string, log: Log, sandbox?: ProviderAddresses): Deps {
  const clock = systemClock;
  const db = connectDatabase({ url: databaseUrl, log, maxConnections: POOL_SIZE });
  const reads = connectDatabase({ url: databaseUrl, log, maxConnections: READS_POOL_SIZE });
  const jobPool = (group: 'mails' | 'deletions') =>
    connectDatabase({ url: databaseUrl, log, maxConnections: JOB_PLACES[group] + JOB_CONNECTIONS });
  const plans = readPlans(config.plansFile);
  const secrets = createSecrets(config.secretKeys, ({ table, column }) =>
    log.error({ alarm: 'secret_unreadable', table, column }, 'a stored secret cannot be opened under the listed keys'),
  );
  const papers = new PaperShelf(db);
  const logKey = createLogKey(config, secrets);
  const addresses = { providerA: config.providerAUrl, providerB: config.providerBUrl };
  const payments = createPaymentProviders(() => clock.now(), addresses, sandbox);
  return {
    config,
    version: readVersion(),
    db,
    reads,
    jobDatabases: { mails: jobPool('mails'), deletions: jobPool('deletions') },
    clock,
    ids: createIds(clock),
    log,
    mailer:
      config.smtpUrl === undefined
        ? createFileMailer(path.join(config.dataDir, 'mail'), config.mailFrom, () => clock.now())
        : createSmtpMailer({
            url: config.smtpUrl,
            from: config.mailFrom,
            bounces: config.mailBounces,
            connections: JOB_PLACES.mails,
            log,
          }),
    secrets,
    logKey,
    witness: new Witness(config.dataDir, logKey),
    plans,
    authenticator: new Authenticator(db, clock, plans),
    events: new EventCache(db),
    papers,
    counting: new Counting({ db, secrets, papers, databaseUrl, secretKeys: config.secretKeys }),
    ballots: new BallotWriter(db.$client),
    payments,
    pricing: createPricing(payments),
    domainCheck: config.emailDomainCheck ? canReceiveMail : acceptEveryDomain,
  };
}

/**
 * Whether several processes listen on a port themselves, and the kernel deals the connections out. Elsewhere the first
 * process takes them all and hands them on; one that it hands to a process that is being killed is never answered.
 */
export function sharesPortInKernel(port: number): boolean {
  return process.platform === 'linux' && port !== 0;
}

/** Answers the first process when it asks for figures: the library listens once it has an aggregator. */
function shareMetrics(registry: Registry): void {
  AggregatorRegistry.setRegistries(registry);
  new AggregatorRegistry();
}

export interface Service {
  readonly port: number;
  /** Stops accepting, lets what runs finish, hands jobs back, closes the pool (completions 9.6). */
  stop(): Promise<void>;
}

/** Lets go of everything that `createDeps` made. */
export async function closeDeps(deps: Deps): Promise<void> {
  await deps.counting.close();
  deps.mailer.close();
  await deps.payments.close();
  const { mails, deletions } = deps.jobDatabases;
  await Promise.all([deps.db, deps.reads, mails, deletions].map((db) => db.$client.end()));
}

/** Waits no longer than a while for what may hang when the process ends. What fails then is of no more use to anybody. */
async function within(work: Promise<unknown> | undefined, ms: number): Promise<void> {
  const waited = new AbortController();
  await Promise.race([
    Promise.allSettled([work]),
    delay(ms, undefined, { signal: waited.signal }).catch(() => undefined),
  ]);
  waited.abort();
}

async function checkDatabase(deps: Deps): Promise<Check> {
  try {
    await deps.db.$client.query('SELECT 1');
    return 'ok';
  } catch (fault) {
    deps.log.warn({ fault: summariseFault(fault) }, 'the database does not answer');
    return 'failed';
  }
}

/** Serves requests, and runs jobs where this process is told to. The database is migrated already. */
export async function startService(deps: Deps, databaseUrl: string): Promise<Service> {
  const startedAt = performance.now();
  let worker: JobRunner | undefined;
  let stopping = false;
  const readHealth = async (): Promise<Health> => {
    const database = stopping ? 'failed' : await checkDatabase(deps);
    return {
      uptimeMs: Math.round(performance.now() - startedAt),
      checks: {
        database,
        worker: deps.config.worker ? (worker?.isWell() === true ? 'ok' : 'failed') : 'off',
        migrations: 'ok',
      },
    };
  };
  const rateLimiter = new RateLimiter();
  const sharing = shareRateLimits(deps.db.$client, rateLimiter, deps.log);
  const jobs = [...allJobs(deps), ...recurringJobs(deps)];
  const metrics = createMetrics(() => readFigures(deps.db, jobs), deps.version);
  onAlarm(deps.log, (name) => metrics.alarm(name));
  const app = createApp(deps, rateLimiter, readHealth, metrics);
  const listener: Listener = await listen({
    fetch: (request, env) => app.fetch(request, env),
    port: deps.config.port,
    host: deps.config.host,
    log: deps.log,
    observe: (request) => metrics.observe(request),
    reusePort: cluster.isWorker && sharesPortInKernel(deps.config.port),
  });
  const notifications = listenForNotifications(
    databaseUrl,
    deps.log,
    {
      api_key_changed: (hash) => deps.authenticator.forget(hash),
      // Events keep the plan of their owner.
      account_changed: (id) => {
        deps.authenticator.forgetAccount(id);
        deps.events.forgetAll();
      },
      voting_event_changed: (id) => deps.events.forget(id),
    },
    () => {
      deps.authenticator.forgetAll();
      deps.events.forgetAll();
    },
  );
  const sender = deps.config.worker
    ? new WebhookSender(deps, createPoster(deps.config.webhookAllowPrivate))
    : undefined;
  sender?.start();
  if (deps.config.worker) {
    const databases = { ...deps.jobDatabases, other: deps.db };
    worker = await runJobs(databases, deps.log, allJobs(deps), recurringJobs(deps));
  }
  // Among several processes the first one serves the figures of all of them.
  if (cluster.isWorker) shareMetrics(metrics.registry);
  const { metricsPort } = deps.config;
  const metricsServer =
    metricsPort === undefined || cluster.isWorker
      ? undefined
      : await serveMetrics(metricsPort, deps.config.host, async () => ({
          text: await metrics.registry.metrics(),
          type: metrics.registry.contentType,
        }));
  const lastUsed = setInterval(() => {
    deps.authenticator
      .flushLastUsed()
      .catch((fault: unknown) => deps.log.warn({ fault: summariseFault(fault) }, 'last use of keys not written'));
  }, MINUTE_MS);
  return {
    port: listener.port,
    async stop() {
      stopping = true;
      clearInterval(lastUsed);
      sharing.stop();
      await metricsServer?.stop();
      await Promise.all([
        listener.close(TIME_LIMITS.shutdownGraceMs),
        within(worker?.stop(), TIME_LIMITS.jobGraceMs + TIME_LIMITS.closeMs),
        within(sender?.stop(SENDER_GRACE_MS), TIME_LIMITS.shutdownGraceMs),
      ]);
      await within(deps.authenticator.flushLastUsed(), TIME_LIMITS.closeMs);
      await within(Promise.all([notifications.stop(), closeDeps(deps)]), TIME_LIMITS.closeMs);
    },
  };
}
