import type { Hono } from 'hono';
import { lookAtDurability } from '#src/database/check-server.ts';
import { setSilent } from '#src/database/client.ts';
import { Heartbeat } from '#src/database/heartbeat.ts';
import { MAIN_CELL } from '#src/database/other-cells.ts';
import { IN_RECOVERY } from '#src/database/writer.ts';
import type { Authentication } from '#src/http/authenticate.ts';
import type { Env, Service } from '#src/http/env.ts';
import type { ObservedRequest } from '#src/http/errors.ts';
import { EXCHANGE_MS, exchangeRateLimits, type RateLimiter } from '#src/http/rate-limit.ts';
import { RequestTraces, readTraces } from '#src/http/trace-requests.ts';
import type { RecurringJob } from '#src/jobs/queue.ts';
import { ClockDrift, MINUTE_MS, monotonicMs, SECOND_MS, systemClock } from '#src/platform/clock.ts';
import { summariseFault } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { repeat, within } from '#src/platform/within.ts';
import type { Check, Health } from '#src/server/routes.ts';
import { createApp } from './app.ts';
import { BackgroundWork } from './background-work.ts';
import { KEPT } from './console/console-feed.ts';
import { isOfConsole } from './console/routes.ts';
import type { Deps } from './deps.ts';

/** What the cells of a process share. A cell is one of the service's databases. */
export interface AroundCells {
  readonly rateLimiter: RateLimiter;
  /** Aborted when the service must stop. */
  readonly stopping: AbortSignal;
  readonly observe: (request: ObservedRequest) => void;
  /** The health of the service as a whole. */
  readonly readHealth: () => Promise<Health>;
  /** Finds callers in all cells; undefined if there is only one cell. */
  readonly authenticator: Authentication | undefined;
  readonly hasLeft: Service['hasLeft'] | undefined;
  /** By channel: what else to do when a cell's database sends a notification. */
  readonly onNotification: Readonly<Record<string, (cell: Deps, payload: string) => void>>;
  readonly onReplaced: (reason: string) => void;
}

/** A cell that this process serves. */
export interface RunningCell {
  readonly deps: Deps;
  readonly app: Hono<Env>;
  checks(): Promise<Pick<Health['checks'], 'database' | 'worker'>>;
  /** Begins jobs and recurring tasks. Call once requests are accepted. */
  begin(): Promise<void>;
  stopWork(): Promise<void>;
  /** Stores what this process has not stored yet, then closes everything of the cell except its pools. */
  close(): Promise<void>;
}

type Checks = Awaited<ReturnType<RunningCell['checks']>>;

/** The checks of the whole service. `database` fails only if the database of every cell fails. */
export function joinChecks(cells: readonly Checks[]): Health['checks'] {
  const answering = cells.filter(({ database }) => database === 'ok');
  const workers = (answering.length === 0 ? cells : answering).map(({ worker }) => worker);
  return {
    database: answering.length > 0 ? 'ok' : 'failed',
    worker: workers.find((one) => one === 'failed') ?? workers[0] ?? 'off',
    migrations: 'ok',
  };
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
 * Follows the database's clock, ends queries to a database that does not answer, and pauses jobs while this machine's clock is wrong.
 * Drops cached data that other processes have changed.
 */
function watchDatabase(deps: Deps, url: string, work: BackgroundWork, around: AroundCells): Heartbeat {
  const drift = new ClockDrift();
  const others = Object.entries(around.onNotification).map(
    ([channel, act]) => [channel, (payload: string) => act(deps, payload)] as const,
  );
  const heartbeat = new Heartbeat({
    url,
    log: deps.log,
    processId: deps.processId,
    onReplaced: around.onReplaced,
    onAnswer() {
      for (const db of [deps.db, deps.reads]) setSilent(db, false);
      deps.standing.answeredAt = monotonicMs();
    },
    onBeat({ databaseMs, askedAt, answeredAt }) {
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
      // Cached events contain the plan of their owner, which may have changed.
      account_changed: (id) => {
        deps.authenticator.forgetAccount(id);
        deps.events.forgetAll();
      },
      voting_event_changed: (id) => deps.events.forget(id),
      schema_number_changed: () => heartbeat.beatNow(),
      job_added: () => work.wake(),
      ...Object.fromEntries(others),
    },
    onGap() {
      deps.authenticator.forgetAll();
      deps.events.forgetAll();
    },
  });
  return heartbeat;
}

/** Begins a cell: its heartbeat and its app. `begin` then begins jobs and tasks. Call after the migration. */
export async function startCell(
  deps: Deps,
  url: string,
  recurring: readonly RecurringJob[],
  around: AroundCells,
): Promise<RunningCell> {
  const { rateLimiter, stopping } = around;
  const work = new BackgroundWork(deps, recurring);
  const heartbeat = watchDatabase(deps, url, work, around);
  await heartbeat.start();
  deps.load.start(stopping);
  const checkDatabase = shareCheck(deps);
  const traces = new RequestTraces(deps.db.$client);
  const app = createApp(
    deps,
    rateLimiter,
    around.readHealth,
    (request) => {
      around.observe(request);
      traces.note(request);
      if (deps.consoleFeed !== undefined && !isOfConsole(request))
        deps.consoleFeed.addRequest(request, deps.clock.now());
    },
    around.authenticator,
    around.hasLeft,
  );
  deps.consoleFeed?.recall(await readTraces(deps.db, { limit: KEPT.requests }));
  const tasks: readonly [number, string, () => Promise<unknown>][] = [
    [SECOND_MS, 'refused requests were not kept', () => traces.flush()],
    [SECOND_MS, 'confirmed ballots were not announced yet', () => deps.ballotPublisher.publish()],
    [SECOND_MS, 'claims of requests that are over were not looked for', () => deps.idempotency.freeOver()],
    [
      10 * SECOND_MS,
      'the settings of the database could not be read',
      () => lookAtDurability(deps.db.$client, deps.log, deps.config.requireStandby),
    ],
    [MINUTE_MS, 'last use of keys not written', () => deps.authenticator.flushLastUsed()],
    [MINUTE_MS, 'confirmed ballots were not looked for', () => deps.acknowledged.look(deps)],
    [MINUTE_MS, 'keys of events not looked through', () => deps.ballotKeys.tidy()],
  ];
  const ofMain: typeof tasks = [
    // All cells share one rate limiter, whose state the main cell's database exchanges.
    [EXCHANGE_MS, 'rate limits were not shared', () => exchangeRateLimits(deps.db.$client, rateLimiter)],
  ];
  return {
    ...{ deps, app },
    async checks() {
      const worker = deps.config.worker ? (work.isWell() ? 'ok' : 'failed') : 'off';
      return { database: stopping.aborted || heartbeat.isAway ? 'failed' : await checkDatabase(), worker };
    },
    async begin() {
      if (deps.config.worker) await work.start();
      for (const [ms, failed, task] of deps.cell === MAIN_CELL ? [...tasks, ...ofMain] : tasks)
        repeat(ms, stopping, deps.log, failed, task);
    },
    stopWork: () => work.stop(),
    async close() {
      await within(Promise.all([deps.authenticator.flushLastUsed(), traces.flush()]), TIME_LIMITS.closeMs);
      await within(heartbeat.stop(), TIME_LIMITS.closeMs);
    },
  };
}
