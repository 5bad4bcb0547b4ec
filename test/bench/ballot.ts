import type { Bench } from './bench-service.ts';
import { createElection } from './elections.ts';
import { applyLoad, requestsOf } from './http-load.ts';
import type { BenchLine } from './line.ts';
import { alternate } from './windows.ts';

const ROUNDS = 5;
const WINDOW_MS = 1_000;
const CANDIDATES = 1_000;
const SENDING =
  'The answer is in memory, compressed; sending tens of thousands of bytes takes longer than sending five hundred.';
/** Voters whose pages ask again for the order that they had before. */
const VOTERS = 256;

function read(bench: Bench, path: string, numbers: () => readonly number[] = () => []) {
  const headers = { 'Accept-Encoding': 'gzip, br' };
  const request = requestsOf({ method: 'GET', path, key: bench.vote, headers }, numbers);
  return async (): Promise<number> => {
    const load = { port: bench.server.port, connections: 32, durationMs: WINDOW_MS, request, status: 200 };
    return (await applyLoad(load)).perSecond;
  };
}

/** A ballot of many candidates, as every voter's page asks for it, beside the smallest answer about the same event. */
export const ballot: BenchLine = async (bench) => {
  const position = [{ votingMethod: 'approval', candidates: CANDIDATES }];
  const fixed = await createElection(bench, position, { ballot: { candidateOrder: 'fixed' } });
  const shuffled = await createElection(bench, position, { ballot: { candidateOrder: 'shuffled' } });
  let asked = 0;
  const alternatives = {
    tiny: read(bench, `/public/voting-events/${fixed.id}`),
    fixed: read(bench, `/public/voting-events/${fixed.id}/ballot`),
    seeded: read(bench, `/public/voting-events/${shuffled.id}/ballot?seed=voter########`, () => {
      asked += 1;
      return [asked % VOTERS];
    }),
  };
  for (const warmUp of Object.values(alternatives)) await warmUp();
  // Until each of them has asked for the first time.
  while (asked < VOTERS) await alternatives.seeded();
  const seen = await alternate(bench, ROUNDS, alternatives);
  const reference = "GET of the event's settings";
  return [
    {
      ...{ work: `GET ballot, ${CANDIDATES} candidates`, reference, unit: '/s', ours: seen.fixed, theirs: seen.tiny },
      ...{ goal: { atLeast: 0.7, beyond: 0.8 }, limit: SENDING },
    },
    {
      ...{ work: `GET ballot, ${CANDIDATES} candidates, seeded`, reference, unit: '/s' },
      ...{ ours: seen.seeded, theirs: seen.tiny, goal: { atLeast: 0.6, beyond: 0.75 }, limit: SENDING },
    },
  ];
};
