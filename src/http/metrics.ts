import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What a request was, for counting: the route's pattern, never an address that somebody sent. */
export interface ObservedRequest {
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly ms: number;
}

/** Figures that are asked for when somebody reads the metrics. */
export interface Readings {
  readonly poolWaiting: number;
  readonly oldestJobSeconds: number;
  /** Jobs that are not tried again, by task. */
  readonly failedJobs: ReadonlyMap<string, number>;
  readonly pendingWebhooks: number;
  readonly unsealedBallots: number;
  readonly logAlarms: number;
}

export interface Metrics {
  readonly registry: Registry;
  observe(request: ObservedRequest): void;
  /** Counts something that a person has to look at. */
  alarm(name: string): void;
}

const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** The figures of this process (completions 9.5). @param read what is asked for at each scrape */
export function createMetrics(read: () => Promise<Readings>): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the first byte of a request to its answer, by route',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const alarms = new Counter({
    name: 'alarms_total',
    help: 'Things that a person has to look at, by name: the runbook has a page for each',
    labelNames: ['alarm'],
    registers,
  });
  // All gauges of one scrape are collected at the same time, and share what was read for it.
  let reading: Promise<Readings> | undefined;
  const readOnce = (): Promise<Readings> => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const gauge = (name: string, help: string, figure: (readings: Readings) => number): Gauge =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(figure(await readOnce()));
      },
    });
  gauge('database_pool_waiting', 'Requests that wait for a database connection', (readings) => readings.poolWaiting);
  gauge('jobs_oldest_seconds', 'How long the oldest due job has been waiting', (readings) => readings.oldestJobSeconds);
  gauge('webhooks_pending', 'Deliveries that are due and not delivered', (readings) => readings.pendingWebhooks);
  gauge('ballot_log_alarms', 'Events whose ballot log is not what was signed', (readings) => readings.logAlarms);
  gauge('ballots_unsealed', 'Confirmed ballots on their way into the log', (readings) => readings.unsealedBallots);
  new Gauge({
    name: 'jobs_failed',
    help: 'Jobs that have failed for good and wait for somebody to look at them, by task',
    labelNames: ['task'],
    registers,
    async collect() {
      const { failedJobs } = await readOnce();
      this.reset();
      for (const [task, count] of failedJobs) this.set({ task }, count);
    },
  });
  // Routes and statuses are few, and finding a series by its labels takes longer than counting.
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
    observe: (request) => seriesOf(request).observe(request.ms / 1_000),
    alarm: (alarm) => alarms.inc({ alarm }),
  };
}

export interface MetricsServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Serves metrics as Prometheus text, on a port of their own that the public never sees. */
export async function serveMetrics(
  port: number,
  host: string,
  render: () => Promise<{ text: string; type: string }>,
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end('metrics are at /metrics\n');
      return;
    }
    render().then(
      ({ text, type }) => response.writeHead(200, { 'content-type': type }).end(text),
      () => response.writeHead(503).end('the figures cannot be read now\n'),
    );
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
