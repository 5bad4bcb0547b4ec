import { VOTERS } from './cast.ts';
import { castOverHttp, prepareTwelve } from './casting.ts';
import type { LoadResult } from './http-load.ts';
import type { BenchLine } from './line.ts';
import { alternate } from './windows.ts';

const ROUNDS = 5;
const WINDOW_MS = 1_000;

/** How long a voter waits: gathering must cost a lone request nothing, and a few at once little. */
export const castLatency: BenchLine = async (bench) => {
  const casting = await prepareTwelve(bench, VOTERS);
  const [gathered, ungathered] = [await bench.serve('web'), await bench.serve('ungathered')];
  const window = (port: number, connections: number, pick: (result: LoadResult) => number) => async () =>
    pick(await castOverHttp(bench, casting, port, connections, WINDOW_MS));
  const [p50, p99] = [({ p50Ms }: LoadResult) => p50Ms, ({ p99Ms }: LoadResult) => p99Ms];
  for (const { port } of [gathered, ungathered]) await window(port, 8, p50)();
  const seen = await alternate(bench, ROUNDS, {
    alone: window(gathered.port, 1, p50),
    aloneUngathered: window(ungathered.port, 1, p50),
    few: window(gathered.port, 8, p99),
    fewUngathered: window(ungathered.port, 8, p99),
  });
  await gathered.stop();
  await ungathered.stop();
  return [
    {
      ...{ work: 'cast latency of a lone request, p50', reference: 'a statement for each ballot', unit: ' ms' },
      ...{ ours: seen.alone, theirs: seen.aloneUngathered, goal: { atMost: 1.1, beyond: 1 } },
      limit: 'A lone ballot takes the same statement on both: the rest is what the machine did beside.',
    },
    {
      ...{ work: 'cast latency at 8 connections, p99', reference: 'a statement for each ballot', unit: ' ms' },
      ...{ ours: seen.few, theirs: seen.fewUngathered, goal: { atMost: 1.2, beyond: 1 } },
      limit: 'A ballot that comes while a batch is under way waits for that batch and for its own.',
    },
  ];
};
