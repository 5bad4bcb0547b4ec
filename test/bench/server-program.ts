import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PerformanceObserver } from 'node:perf_hooks';
import type { Pool } from 'pg';
import {
  BallotWriter,
  type CastRequest,
  type CastVerdict,
  type ConfirmRow,
  type ConfirmVerdict,
  castBallots,
  confirmBallots,
} from '#src/ballots/repository.ts';
import { readConfig } from '#src/config.ts';
import type { Deps } from '#src/deps.ts';
import { createLog } from '#src/platform/log.ts';
import { createDeps, startService } from '#src/service.ts';
import type { ServerKind, ServerUsage } from './server-process.ts';

/** A statement a ballot: what gathering is compared with. */
class UngatheredWriter extends BallotWriter {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    super(pool);
    this.#pool = pool;
  }

  override async cast(request: CastRequest): Promise<CastVerdict> {
    return only(await castBallots(this.#pool, [request]));
  }

  override async confirm(row: ConfirmRow): Promise<ConfirmVerdict> {
    return only(await confirmBallots(this.#pool, [row]));
  }
}

/** Accepts every ballot and stores none: what the rest of the path costs. */
class ForgetfulWriter extends BallotWriter {
  override async cast(): Promise<CastVerdict> {
    return { verdict: 'cast', shortage: undefined, stored: undefined, weightMicro: undefined, tagged: undefined };
  }
}

function only<Verdict>([verdict]: readonly Verdict[]): Verdict {
  if (verdict === undefined) throw new Error('a statement for one ballot answers with one verdict');
  return verdict;
}

function writerOf(kind: ServerKind, deps: Deps): BallotWriter {
  if (kind === 'ungathered') return new UngatheredWriter(deps.db.$client);
  return kind === 'no-database' ? new ForgetfulWriter(deps.db.$client) : deps.ballots;
}

async function serve(kind: ServerKind): Promise<{ port: number; stop: () => Promise<void> }> {
  if (kind === 'echo') return serveEcho();
  const config = { ...readConfig(), worker: kind === 'service' };
  const url = config.databaseUrl ?? '';
  const deps = createDeps(config, url, createLog('silent'), process.env['SANDBOX_URL']);
  return startService({ ...deps, ballots: writerOf(kind, deps) }, url);
}

/** The least that a server of JSON does: reads a body, parses it, answers with JSON. */
async function serveEcho(): Promise<{ port: number; stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.stringify(JSON.parse(Buffer.concat(chunks).toString('utf8')));
      response.writeHead(201, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const pausesMs: number[] = [];
const collections = new PerformanceObserver((list) =>
  pausesMs.push(...list.getEntries().map(({ duration }) => duration)),
);
collections.observe({ entryTypes: ['gc'] });

function readUsage(): ServerUsage {
  const { user, system } = process.cpuUsage();
  const { rss } = process.memoryUsage();
  return { cpuMicros: user + system, rssBytes: rss, pausesMs: pausesMs.splice(0) };
}

const server = await serve(process.argv[2] as ServerKind);
process.on('message', () => process.send?.(readUsage()));
process.once('disconnect', () => void server.stop().then(() => process.exit(0)));
process.send?.({ port: server.port });
