import { VOTERS } from './cast.ts';
import { castOverHttp, prepareTwelve } from './casting.ts';
import type { BenchLine } from './line.ts';
import type { ServerProcess } from './server-process.ts';
import { alternate } from './windows.ts';

const ROUNDS = 5;
const WINDOW_MS = 1_500;
/** From a CPU profile of this very line. */
const LIMIT =
  'A fifth goes to sending the answer; as much to two encryptions, four keyed hashes and two plain ones that a secret ballot and its idempotent answer need; an eighth to reading HTTP, a tenth each to the fingerprint and to collecting garbage.';

/** Processor time of the whole cast path but the statement, beside a server that only parses and prints the same JSON. */
export const castCpu: BenchLine = async (bench) => {
  const casting = await prepareTwelve(bench, VOTERS);
  const [service, echo] = [await bench.serve('no-database'), await bench.serve('echo')];
  const window = (server: ServerProcess) => async (): Promise<number> => {
    const before = await server.usage();
    const { answered } = await castOverHttp(bench, casting, server.port, 32, WINDOW_MS);
    const after = await server.usage();
    return (after.cpuMicros - before.cpuMicros) / answered;
  };
  const alternatives = { ours: window(service), theirs: window(echo) };
  // Long enough for the compiler to have seen everything.
  for (const warmUp of [alternatives.ours, alternatives.theirs, alternatives.ours]) await warmUp();
  const { ours, theirs } = await alternate(ROUNDS, alternatives);
  await service.stop();
  await echo.stop();
  return [
    {
      ...{ work: 'processor time of a cast without the database', reference: 'bare node:http, JSON echo', unit: ' µs' },
      ...{ ours, theirs, goal: { atMost: 2.3, beyond: 1.8 } },
      limit: LIMIT,
    },
  ];
};
