import { paperOf } from '#src/voting-events/lifecycle.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { Bench } from './bench-service.ts';
import {
  type Casting,
  castOverHttp,
  castWindow,
  ownCastScript,
  prepareTwelve,
  prepareTwoHundred,
  usualCastScript,
} from './casting.ts';
import { alsoOf, type BenchLine, type Figure, type Line } from './line.ts';
import { findPgbench, PGBENCH_MISSING, runPgbench } from './pgbench.ts';
import { ProcessorMeter } from './processor-meter.ts';
import { WaitMeter } from './wait-meter.ts';
import { alternate } from './windows.ts';

export const VOTERS = 20_000;
const SECONDS = 2;
const ROUNDS = 5;

/** What our statement must name as that which the ballot was judged by. */
async function readPaper(bench: Bench, { election }: Casting): Promise<string> {
  const event = await findEventById(bench.deps.db, election.id);
  if (event === undefined) throw new Error('the election is there');
  return paperOf(event);
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
  if (program === undefined) return [{ work, goal: { atLeast: 1.25, beyond: 1.5 }, missing: PGBENCH_MISSING }];
  const casting = await prepareTwelve(bench, VOTERS);
  const own = ownCastScript(bench, casting, await readPaper(bench, casting));
  const usual = await usualCastScript(bench, casting);
  const run = (script: string) =>
    runPgbench({ program, databaseUrl: bench.databaseUrl, script, clients: 8, seconds: SECONDS });
  const [p50, p99]: [number[], number[]] = [[], []];
  const [meter, ownMeter] = [new ProcessorMeter(bench), new ProcessorMeter(bench, undefined)];
  const waits = new WaitMeter(bench);
  const alternatives = {
    async http() {
      const load = () => castOverHttp(bench, casting, bench.server.port, 32, SECONDS * 1_000);
      const result = await waits.measure(() => meter.measure(load));
      p50.push(result.p50Ms);
      p99.push(result.p99Ms);
      return result.perSecond;
    },
    own: async () => (await ownMeter.measure(() => run(own))).perSecond,
    usual: async () => (await run(usual)).perSecond,
  };
  await alternatives.http();
  await alternatives.own();
  for (const warmUp of [p50, p99]) warmUp.length = 0;
  for (const one of [meter, ownMeter, waits]) one.clear();
  const seen = await alternate(bench, ROUNDS, alternatives);
  const ours = { unit: '/s', ours: seen.http, processor: meter.micros(), limit: meter.describe() };
  return [
    {
      ...{ work, ...ours, theirs: seen.own, goal: { atLeast: 1.25, beyond: 1.5 } },
      reference: 'pgbench, our statement, one a transaction, 8 clients',
    },
    {
      ...{ work, ...ours, theirs: seen.usual, goal: { atLeast: 1.5, beyond: 1.8 } },
      reference: 'pgbench, several round trips, a row an entry, 8 clients',
    },
    {
      ...{ work: 'cast latency at 32 connections, p99', reference: 'p50 of the same casts', unit: ' ms' },
      ...{ ours: alsoOf(p99, seen.http), theirs: alsoOf(p50, seen.http), goal: undefined },
      limit: `A ballot waits for the batch under way and for its own. ${waits.describe()}`,
    },
    {
      ...{ work: "the database's processor time of a gathered cast", unit: ' µs', goal: { atMost: 0.25 } },
      ...{ ours: meter.figure('database', seen.http), theirs: ownMeter.figure('database', seen.own) },
      reference: 'pgbench, our statement, one a transaction, 8 clients',
      limit: 'The claim of the Idempotency-Key, the look-up of the voter and the pending ballot are rows of their own.',
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
  const run = { program, databaseUrl: bench.databaseUrl, script, clients: 8, seconds: SECONDS };
  const usual = async (): Promise<number> => (await runPgbench(run)).perSecond;
  const meter = new ProcessorMeter(bench);
  const http = castWindow(bench, casting, meter, SECONDS * 1_000);
  await http();
  meter.clear();
  const seen = await alternate(bench, ROUNDS, { http, usual });
  return [
    {
      ...{ work, unit: '/s', ours: seen.http, theirs: seen.usual, goal },
      ...{ reference: 'pgbench, several round trips, a row an entry, 8 clients', processor: meter.micros() },
      limit: meter.describe(),
    },
  ];
};

/** Casting among few and among many voters. The peer is not run here: its figure is scaled by pgbench, which ran there and here. */
export const castVoters: BenchLine = async (bench) => {
  const program = findPgbench();
  const peers = [
    { voters: 100_000, perSecond: 88, goal: { atLeast: 150 } },
    { voters: 5_000, perSecond: 340, goal: { atLeast: 40 } },
  ];
  const lines: Line[] = [];
  for (const { voters, perSecond, goal } of peers) {
    const work = `cast with ${voters} voters`;
    if (program === undefined) {
      lines.push({ work, goal, missing: PGBENCH_MISSING });
      continue;
    }
    const casting = await prepareTwelve(bench, voters);
    const script = ownCastScript(bench, casting, await readPaper(bench, casting));
    const run = { program, databaseUrl: bench.databaseUrl, script, clients: 8, seconds: 1 };
    const own = async (): Promise<number> => (await runPgbench(run)).perSecond;
    const meter = new ProcessorMeter(bench);
    const http = castWindow(bench, casting, meter, 1_000);
    await http();
    meter.clear();
    const seen = await alternate(bench, ROUNDS, { http, own });
    lines.push({
      ...{ work, unit: '/s', ours: seen.http, theirs: scaled(seen.own, PEER_IN_PGBENCH(perSecond)), goal },
      ...{ reference: 'nearest open peer, its figure scaled by pgbench', processor: meter.micros() },
      limit: meter.describe(),
    });
  }
  return lines;
};
