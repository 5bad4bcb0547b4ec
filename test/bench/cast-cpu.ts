import { VOTERS } from './cast.ts';
import { castOverHttp, prepareTwelve } from './casting.ts';
import type { BenchLine } from './line.ts';
import type { ServerProcess } from './server-process.ts';
import { alternate } from './windows.ts';

const ROUNDS = 5;
const WINDOW_MS = 1_500;
/** From CPU profiles of these very lines. */
const LIMIT =
  'Sending statements and answers, encryption and keyed hashes, the fingerprint of the request, and collecting garbage share it.';

/** Processor time of the whole cast path, with its statement and without, beside a server that only parses and prints the same JSON. */
export const castCpu: BenchLine = async (bench) => {
  const casting = await prepareTwelve(bench, VOTERS);
  const servers = {
    whole: await bench.serve('web'),
    without: await bench.serve('no-database'),
    echo: await bench.serve('echo'),
  };
  const window = (server: ServerProcess) => async (): Promise<number> => {
    const before = await server.usage();
    const { answered } = await castOverHttp(bench, casting, server.port, 32, WINDOW_MS);
    const after = await server.usage();
    return (after.cpuMicros - before.cpuMicros) / answered;
  };
  const alternatives = {
    whole: window(servers.whole),
    without: window(servers.without),
    echo: window(servers.echo),
  };
  // Long enough for the compiler to have seen everything.
  for (const warmUp of [...Object.values(alternatives), ...Object.values(alternatives)]) await warmUp();
  const { whole, without, echo } = await alternate(bench, ROUNDS, alternatives);
  for (const server of Object.values(servers)) await server.stop();
  const beside = { reference: 'bare node:http, JSON echo', unit: ' µs', theirs: echo, limit: LIMIT };
  return [
    {
      ...{ work: 'processor time of a cast in the service, with its statement', ...beside },
      ...{ ours: whole, goal: undefined },
    },
    {
      ...{ work: 'processor time of a cast in the service, without the database', ...beside },
      ...{ ours: without, goal: undefined },
    },
  ];
};
