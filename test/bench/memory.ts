import { VOTERS } from './cast.ts';
import { castOverHttp, prepareTwelve } from './casting.ts';
import { type BenchLine, figureOf } from './line.ts';

const FEW = 10_000;
const FULL = 1_000_000;
const CONNECTIONS = 64;
const WINDOW_MS = 500;
const MEGABYTE = 1_000_000;

/** What a process holds after a million casts, beside what it held after ten thousand. */
export const memory: BenchLine = async (bench) => {
  const casting = await prepareTwelve(bench, VOTERS);
  const casted = FULL * bench.scale;
  const server = await bench.serve('web');
  let casts = 0;
  const castUntil = async (wanted: number): Promise<number> => {
    while (casts < wanted) casts += (await castOverHttp(bench, casting, server.port, CONNECTIONS, WINDOW_MS)).answered;
    return (await server.usage()).rssBytes / MEGABYTE;
  };
  const few = await castUntil(FEW);
  const many = await castUntil(casted);
  await server.stop();
  return [
    {
      work: `memory of a process after ${casted} casts`,
      ...{ reference: `after ${FEW}`, unit: ' MB', ours: figureOf([many]), theirs: figureOf([few]) },
      ...{ goal: { atMost: 1.2 }, limit: 'The heap grows until its collector sees a reason; what is live does not.' },
    },
  ];
};
