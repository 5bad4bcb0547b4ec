import { availableParallelism } from 'node:os';
import { VOTERS } from './cast.ts';
import { castOverHttp, prepareTwelve } from './casting.ts';
import type { BenchLine } from './line.ts';
import { alternate } from './windows.ts';

const SECONDS = 2;
const ROUNDS = 5;
const CONNECTIONS = 32;
/** Two processes, the database and the load: with fewer, a second process takes the core that the others need. */
const CORES = 4;

/** Casts on two processes of the service beside one, as `WEB_CONCURRENCY=2` starts them. */
export const concurrency: BenchLine = async (bench) => {
  const work = 'cast over HTTP, two processes';
  const goal = { atLeast: 1.7 };
  const cores = availableParallelism();
  if (cores < CORES) {
    const missing = `It takes ${CORES} cores, and there are ${cores}: load and database need those that two processes do not use.`;
    return [{ work, goal, missing }];
  }
  const casting = await prepareTwelve(bench, VOTERS);
  const servers = [await bench.serve('web'), await bench.serve('web')];
  const castOn = async (ports: readonly number[]): Promise<number> => {
    const connections = CONNECTIONS / ports.length;
    const each = ports.map((port) => castOverHttp(bench, casting, port, connections, SECONDS * 1_000));
    return (await Promise.all(each)).reduce((sum, { perSecond }) => sum + perSecond, 0);
  };
  try {
    const ports = servers.map(({ port }) => port);
    await castOn(ports);
    const seen = await alternate(bench, ROUNDS, { one: () => castOn(ports.slice(0, 1)), two: () => castOn(ports) });
    return [
      {
        ...{ work, reference: 'one process', unit: '/s', ours: seen.two, theirs: seen.one, goal },
        limit: 'Both processes write to one database, which waits for its disk.',
      },
    ];
  } finally {
    for (const server of servers) await server.stop();
  }
};
