import type { Bench } from './bench-service.ts';
import {
  type Casting,
  castOverHttp,
  ownCastScript,
  prepareTwelve,
  prepareTwoHundred,
  usualCastScript,
} from './casting.ts';
import { type BenchLine, type Figure, figureOf, type Line } from './line.ts';
import { findPgbench, PGBENCH_MISSING, runPgbench } from './pgbench.ts';
import { ProcessorMeter } from './processor-meter.ts';
import { alternate } from './windows.ts';

export const VOTERS = 20_000;
const SECONDS = 2;
const ROUNDS = 5;

/** The version of the paper that our statement must name. */
export async function paperVersionOf(bench: Bench, { election }: Casting): Promise<number> {
  const { rows } = await bench.pool.query<{ version: string }>(
    'SELECT paper_version AS version FROM voting_events WHERE id = $1',
    [election.id],
  );
  return Number(rows[0]?.version);
}

const scaled = (figure: Figure, factor: number): Figure => ({
  ...figure,
  ...{ median: figure.median * factor, low: figure.low * factor, high: figure.high * factor },
});

/** What the open peer managed where the first version of this service cast 13,700 ballots a second, which was 1.1 of pgbench there. */
const PEER_IN_PGBENCH = (perSecond: number): number => (perSecond / 13_700) * 1.1;

/** Casting 12 entries, beside our own statement and the usual way, both driven by pgbench on the same database. */
export const cast: BenchLine = async (bench) => {
  const work = 'cast over HTTP, 12 entries, 32 connections';
  const program = findPgbench();
  if (program === undefined) return [{ work, goal: { atLeast: 1, beyond: 1.25 }, missing: PGBENCH_MISSING }];
  const casting = await prepareTwelve(bench, VOTERS);
  const own = ownCastScript(bench, casting, await paperVersionOf(bench, casting));
  const usual = await usualCastScript(bench, casting);
  const pgbench = (script: string, clients: number) => () =>
    runPgbench({ program, databaseUrl: bench.databaseUrl, script, clients, seconds: SECONDS });
  const p99: number[] = [];
  const meter = new ProcessorMeter(bench.server);
  const http = async (): Promise<number> => {
    const result = await meter.measure(() => castOverHttp(bench, casting, bench.server.port, 32, SECONDS * 1_000));
    p99.push(result.p99Ms);
    return result.perSecond;
  };
  await http();
  await pgbench(own, 8)();
  p99.length = 0;
  const seen = await alternate(ROUNDS, { http, own: pgbench(own, 8), usual: pgbench(usual, 8) });
  return [
    {
      ...{ work, unit: '/s', ours: seen.http, theirs: seen.own, goal: { atLeast: 1, beyond: 1.25 } },
      reference: 'pgbench, our statement, one a transaction, 8 clients',
      limit: meter.describe(),
    },
    {
      ...{ work, unit: '/s', ours: seen.http, theirs: seen.usual, goal: { atLeast: 2.5, beyond: 3.5 } },
      reference: 'pgbench, several round trips, a row an entry, 8 clients',
      limit: meter.describe(),
    },
    {
      work: 'cast latency, p99 at 32 connections',
      ...{ reference: undefined, unit: ' ms', ours: figureOf(p99), theirs: undefined },
      goal: { atMost: 12, beyond: 8 },
      limit: `A ballot waits for the batch under way and for its own. ${meter.describe()}`,
    },
  ];
};

/** Casting the most entries that a ballot may have, beside the usual way. */
export const castManyEntries: BenchLine = async (bench) => {
  const work = 'cast over HTTP, 200 entries, 32 connections';
  const goal = { atLeast: 4, beyond: 6 };
  const program = findPgbench();
  if (program === undefined) return [{ work, goal, missing: PGBENCH_MISSING }];
  const casting = await prepareTwoHundred(bench, VOTERS);
  const script = await usualCastScript(bench, casting);
  const usual = () => runPgbench({ program, databaseUrl: bench.databaseUrl, script, clients: 8, seconds: SECONDS });
  const meter = new ProcessorMeter(bench.server);
  const http = async (): Promise<number> =>
    (await meter.measure(() => castOverHttp(bench, casting, bench.server.port, 32, SECONDS * 1_000))).perSecond;
  await http();
  const seen = await alternate(ROUNDS, { http, usual });
  return [
    {
      ...{ work, unit: '/s', ours: seen.http, theirs: seen.usual, goal },
      reference: 'pgbench, several round trips, a row an entry, 8 clients',
      limit: meter.describe(),
    },
  ];
};

/** Casting among few and among many voters. The peer is not run here: its figure is scaled by pgbench, which ran there and here. */
export const castVoters: BenchLine = async (bench) => {
  const program = findPgbench();
  const peers = [
    { voters: 100_000, perSecond: 88, goal: { atLeast: 120, beyond: 160 } },
    { voters: 5_000, perSecond: 340, goal: { atLeast: 30, beyond: 40 } },
  ];
  const lines: Line[] = [];
  for (const { voters, perSecond, goal } of peers) {
    const work = `cast with ${voters} voters`;
    if (program === undefined) {
      lines.push({ work, goal, missing: PGBENCH_MISSING });
      continue;
    }
    const casting = await prepareTwelve(bench, voters);
    const script = ownCastScript(bench, casting, await paperVersionOf(bench, casting));
    const own = () => runPgbench({ program, databaseUrl: bench.databaseUrl, script, clients: 8, seconds: 1 });
    const meter = new ProcessorMeter(bench.server);
    const http = async (): Promise<number> =>
      (await meter.measure(() => castOverHttp(bench, casting, bench.server.port, 32, 1_000))).perSecond;
    await http();
    const seen = await alternate(ROUNDS, { http, own });
    lines.push({
      ...{ work, unit: '/s', ours: seen.http, theirs: scaled(seen.own, PEER_IN_PGBENCH(perSecond)), goal },
      reference: 'nearest open peer, its figure scaled by pgbench',
      limit: meter.describe(),
    });
  }
  return lines;
};
