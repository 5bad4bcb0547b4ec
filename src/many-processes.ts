import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { AggregatorRegistry } from 'prom-client';
import { type Config, readConfig } from '#src/config.ts';
import { ConsoleFeed, type FeedEntry, type Start } from '#src/console/console-feed.ts';
import { offersConsole } from '#src/console/guard-console.ts';
import { findSchemaRefusal, SchemaRefused } from '#src/database/schema-number.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createLog } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { joinRunning, withSecretKey } from '#src/prepare-start.ts';
import { requireFreePort } from '#src/server/listen.ts';
import { serveMetrics } from '#src/server/metrics.ts';
import { createDeps, type Service, sharesPortInKernel, startService } from '#src/service.ts';

/** Values that the first process sends to the others, because the environment does not contain them. */
interface Prepared {
  readonly databaseUrl: string;
  /** URL of the sandbox that simulates the payment providers. */
  readonly sandboxUrl: string | undefined;
}

interface Order extends Prepared {
  /** Whether this process may run jobs. Only one process may. */
  readonly worker: boolean;
  /** The initial state of the console; undefined if there is no console. */
  readonly console: Start | undefined;
}

/** A message between processes. */
interface Said {
  /** A new entry of the console. Every process shows the entries of all processes. */
  readonly consoleEntry?: FeedEntry;
  /** The port on which the process serves. */
  readonly port?: number;
  /** Why another build takes over the database. All processes of this build then stop. */
  readonly replaced?: string;
}

/** Ignores the error of a message to a process that has just ended: without a handler, it would end this process. */
const letGo = (): void => undefined;

const RESTART_PAUSE_MS = 1_000;
/** Time until a stopping process is killed. Normally its own time limit ends it earlier. */
const STOP_MS = TIME_LIMITS.stopMs - 1_000;

/** Sends a message to the first process. */
const report = (said: Said): void => {
  process.send?.(said, undefined, undefined, letGo);
};

/** Serves as one of several processes on one port, until the first process asks it to stop. */
export async function serveAsOneOfMany(): Promise<void> {
  await serve().catch((fault: unknown) => {
    const refusal = findSchemaRefusal(fault);
    if (refusal === undefined) throw fault;
    report({ replaced: refusal.message });
  });
}

async function serve(): Promise<void> {
  const [order] = (await once(process, 'message')) as [Order];
  const given = await joinRunning(withSecretKey(readConfig()), order.databaseUrl);
  const config: Config = { ...given, worker: given.worker && order.worker };
  const deps = createDeps(config, order.databaseUrl, createLog(config.logLevel), order.sandboxUrl);
  if (order.console !== undefined) joinConsole(deps.consoleFeed, order.console);
  const service = await startService(deps, order.databaseUrl);
  // Keep listening after the first signal: a supervisor may signal every process, and the first process then signals each once more.
  const asked = Promise.withResolvers<void>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => asked.resolve());
  asked.promise.then(async () => {
    endInTime(STOP_MS - 1_000);
    await service.stop(TIME_LIMITS.drainMs);
    process.exit(0);
  });
  report({ port: service.port });
  service.replaced.then((replaced) => report({ replaced }));
}

function joinConsole(feed: ConsoleFeed | undefined, start: Start): void {
  feed?.join(start, (consoleEntry) => report({ consoleEntry }));
  process.on('message', ({ consoleEntry }: Said) => {
    if (consoleEntry !== undefined) feed?.take(consoleEntry);
  });
}

/** Ends the process after a time limit even if something hangs, before the process that asked it to stop would kill it. */
export function endInTime(ms: number): void {
  const end = (): void => {
    process.stderr.write('Something did not stop in time; what it held is taken up by the next process.\n');
    process.exit(1);
  };
  setTimeout(end, ms).unref();
}

async function stopWorker(worker: Worker): Promise<void> {
  if (worker.isDead()) return;
  const exited = once(worker, 'exit');
  worker.process.kill('SIGTERM');
  const late = setTimeout(() => worker.process.kill('SIGKILL'), STOP_MS);
  await exited;
  clearTimeout(late);
}

/** Serves with forked processes on one port, the first of which runs the jobs. Replaces a process that dies. */
export async function serveWithMany(config: Config, prepared: Prepared, say: (line: string) => void): Promise<Service> {
  if (sharesPortInKernel(config.port)) await requireFreePort(config);
  const workers = new Map<number, Worker>();
  // Collects console entries, so that the replacement of a process also shows earlier entries.
  const feed = offersConsole(config) ? new ConsoleFeed(systemClock.now()) : undefined;
  const relay = (from: Worker, consoleEntry: FeedEntry): void => {
    feed?.take(consoleEntry);
    for (const worker of workers.values())
      if (worker !== from && worker.isConnected()) worker.send({ consoleEntry } satisfies Said, letGo);
  };
  const replaced = Promise.withResolvers<string>();
  let stopping = false;
  let port = config.port;
  const start = async (place: number): Promise<void> => {
    const worker = cluster.fork();
    workers.set(place, worker);
    worker.send({ ...prepared, worker: place === 0, console: feed?.start } satisfies Order);
    worker.once('exit', (code) => {
      if (stopping) return;
      say(`Process ${place + 1} ended with status ${code} and is replaced`);
      setTimeout(() => {
        if (!stopping) start(place).catch(() => undefined);
      }, RESTART_PAUSE_MS);
    });
    await new Promise<void>((resolve, reject) => {
      worker.on('message', (said: Said) => {
        if (said.consoleEntry !== undefined) relay(worker, said.consoleEntry);
        if (said.replaced !== undefined) {
          stopping = true;
          replaced.resolve(said.replaced);
          reject(new SchemaRefused(said.replaced));
        }
        if (said.port === undefined) return;
        for (const consoleEntry of feed?.entries() ?? []) worker.send({ consoleEntry } satisfies Said, letGo);
        port = said.port;
        resolve();
      });
      worker.once('exit', () => reject(new Error('a process ended before it served')));
    });
  };
  await Promise.all(Array.from({ length: config.webConcurrency }, (_, place) => start(place)));
  const all = new AggregatorRegistry();
  const metrics = await serveMetrics(config, all.contentType, () => all.clusterMetrics());
  return {
    port,
    replaced: replaced.promise,
    async stop() {
      stopping = true;
      await Promise.all([...workers.values()].map(stopWorker));
      await metrics?.stop();
    },
  };
}
