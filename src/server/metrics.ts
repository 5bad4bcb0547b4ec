import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Config } from '#src/config.ts';
import { StartRefused } from '#src/database/check-server.ts';
import type { ObservedRequest } from '#src/http/errors.ts';
import type { Hold } from '#src/http/loop-watch.ts';

/** All alarms: logged at `error` as `alarm`, counted in `voting_alarms_total`, explained in docs/operations.md. */
export const ALARMS = [
  'account_lost',
  'account_twice',
  'ballot_key_kept',
  'ballot_key_missing',
  'ballot_log_changed',
  'ballot_log_set_back',
  'ballot_log_untended',
  'business_not_ready',
  'cell_silent',
  'clock_drift',
  'comparison_failing',
  'database_full',
  'database_not_durable',
  'jobs_stalled',
  'loop_held',
  'no_standby',
  'payment_mismatch',
  'payment_refused',
  'payment_unmatched',
  'payment_unread',
  'refund_failed',
  'refund_needs_attention',
  'refund_refused',
  'rows_disagree',
  'secret_unreadable',
  'witness_ahead',
] as const;

/** Figures that are read at each scrape. */
export interface Readings {
  readonly poolWaiting: number;
  /** How long the oldest due job of each task has been waiting, in seconds. */
  readonly oldestJobSeconds: ReadonlyMap<string, number>;
  /** By task: jobs that have failed for good, and are not tried again. */
  readonly failedJobs: ReadonlyMap<string, number>;
  /** How long the oldest unsent mail has been queued, in seconds. */
  readonly oldestMailSeconds: number;
  readonly pendingWebhooks: number;
  /** How long the oldest delivery to an active endpoint has been due, in seconds. */
  readonly oldestWebhookSeconds: number;
  /** Confirmed ballots that are not in the log yet. */
  readonly unsealedBallots: number;
  /** How long the log of an event has been due to be closed, in seconds: the longest such time of all events. */
  readonly closeDueSeconds: number;
  readonly logAlarms: number;
  readonly standbys: number;
  /** How long each witness has not signed the head of the service's own log, in seconds, by the witness's name. */
  readonly witnessLagSeconds: ReadonlyMap<string, number>;
  /** By the name of a cell: 1 while it does not answer. Empty with one database. */
  readonly silentCells: ReadonlyMap<string, number>;
}

const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** Prefix of every metric's name, so that a query finds only this service's metrics. */
const PREFIX = 'voting_';

type Names<Figure> = { [Name in keyof Readings]: Readings[Name] extends Figure ? Name : never }[keyof Readings];

/** Name, help, aggregation and reading of each gauge. All processes read the same figures from the database (max); others are added up. */
const GAUGES: readonly (readonly [name: string, help: string, together: 'max' | 'sum', figure: Names<number>])[] = [
  ['database_pool_waiting', 'Requests that wait for a connection', 'sum', 'poolWaiting'],
  ['mails_oldest_seconds', 'Since when a mail is asked for and not sent', 'max', 'oldestMailSeconds'],
  ['webhooks_pending', 'Deliveries that are due', 'max', 'pendingWebhooks'],
  ['webhooks_oldest_seconds', 'How long the oldest due delivery waits', 'max', 'oldestWebhookSeconds'],
  ['ballots_unsealed', 'Confirmed ballots on their way into the log', 'max', 'unsealedBallots'],
  ['log_close_due_seconds', 'How long a log has been due to be closed', 'max', 'closeDueSeconds'],
  ['synchronous_standbys', 'Standbys that are connected and that commits wait for', 'max', 'standbys'],
  ['ballot_log_alarms', 'Events whose ballot log is not what was signed', 'max', 'logAlarms'],
];
/** Name, help text, the label of the series, and the reading, which maps values of the label to figures. */
const LABELLED: readonly (readonly [name: string, help: string, label: string, Names<ReadonlyMap<string, number>>])[] =
  [
    ['jobs_oldest_seconds', 'How long the oldest due job waits, by task', 'task', 'oldestJobSeconds'],
    ['jobs_failed', 'Jobs that are not tried again, by task', 'task', 'failedJobs'],
    [
      'witness_lag_seconds',
      'For how long a witness has not signed the log of the service',
      'witness',
      'witnessLagSeconds',
    ],
    ['cell_silent', 'Whether a cell does not answer, by its name', 'cell', 'silentCells'],
  ];

/** The metrics of this process (completions 9.5). @param read reads the figures for a scrape */
export function createMetrics(read: () => Promise<Readings>, version: string) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
  const registers = [registry];
  const duration = new Histogram({
    name: `${PREFIX}http_request_duration_seconds`,
    help: 'Time from the first byte of a request to its answer, by route; refusals too',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const refusals = new Counter({
    name: `${PREFIX}refusals_total`,
    help: 'Refused requests, by code and reason',
    labelNames: ['code', 'reason'],
    registers,
  });
  // Starts these series at 0: an alert on the increase of a counter misses the increase with which a series begins.
  for (const code of ['unauthorized', 'insufficient_scope', 'rate_limited']) refusals.inc({ code, reason: '' }, 0);
  refusals.inc({ code: 'forbidden', reason: 'voter_key_invalid' }, 0);
  const alarms = new Counter({
    name: `${PREFIX}alarms_total`,
    help: 'Things that a person has to look at, by name: the runbook has a line for each',
    labelNames: ['alarm'],
    registers,
  });
  for (const alarm of ALARMS) alarms.inc({ alarm }, 0);
  const holds = new Histogram({
    name: `${PREFIX}loop_held_seconds`,
    help: 'How long code held the event loop without a pause, from 0.2 s on, by the route that it ran for',
    labelNames: ['route'],
    buckets: [0.5, 1, 2.5, 10],
    registers,
  });
  new Gauge({
    name: `${PREFIX}build_info`,
    help: 'Always 1: the version that runs',
    labelNames: ['version', 'node'],
    registers,
    aggregator: 'max',
  }).set({ version, node: process.versions.node }, 1);
  // All gauges of a scrape are collected at the same time, and share one read.
  let reading: Promise<Readings> | undefined;
  const readOnce = (): Promise<Readings> => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  for (const [name, help, aggregator, figure] of GAUGES)
    new Gauge({
      ...{ name: PREFIX + name, help, registers, aggregator },
      async collect() {
        this.set((await readOnce())[figure]);
      },
    });
  for (const [name, help, label, figures] of LABELLED)
    new Gauge({
      ...{ name: PREFIX + name, help, labelNames: [label], registers, aggregator: 'max' },
      async collect() {
        const now = (await readOnce())[figures];
        this.reset();
        for (const [one, figure] of now) this.set({ [label]: one }, figure);
      },
    });
  // A cache, because finding a series by its labels takes longer than counting. It is small: routes and statuses are few.
  const series = new Map<string, Histogram.Internal<'method' | 'route' | 'status'>>();
  const seriesOf = ({ method, route, status }: ObservedRequest) => {
    const name = `${method} ${status} ${route}`;
    const kept = series.get(name);
    if (kept !== undefined) return kept;
    const fresh = duration.labels({ method, route, status: String(status) });
    series.set(name, fresh);
    return fresh;
  };
  return {
    registry,
    observe(request: ObservedRequest): void {
      seriesOf(request).observe(request.ms / 1_000);
      const { code, reason } = request;
      if (code !== undefined) refusals.inc({ code, reason: typeof reason === 'string' ? reason : '' });
    },
    held: ({ route, ms }: Pick<Hold, 'ms' | 'route'>): void => holds.observe({ route }, ms / 1_000),
    alarm: (alarm: string): void => alarms.inc({ alarm }),
  };
}

/** Serves metrics as Prometheus text, on a port of their own that the public never sees. @returns undefined without one @throws StartRefused */
export async function serveMetrics(
  { metricsPort: port, host }: Pick<Config, 'metricsPort' | 'host'>,
  type: string,
  render: () => Promise<string>,
) {
  if (port === undefined) return undefined;
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end('metrics are at /metrics\n');
      return;
    }
    render().then(
      (text) => response.writeHead(200, { 'content-type': type }).end(text),
      () => response.writeHead(503).end('the figures cannot be read now\n'),
    );
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve)).catch(
    (fault) => {
      const code = String(Reflect.get(Object(fault), 'code'));
      throw new StartRefused(`METRICS_PORT: ${port} cannot be listened on (${code}). Set METRICS_PORT to another port`);
    },
  );
  return {
    port: (server.address() as AddressInfo).port,
    async stop(): Promise<void> {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
