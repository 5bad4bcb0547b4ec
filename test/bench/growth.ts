import { packEntries } from '#src/ballots/ballot-encoding.ts';
import { type Bench, startBench } from './bench-service.ts';
import { castOverHttp, prepareTwelve } from './casting.ts';
import { countRows } from './copy-rows.ts';
import { addConfirmedBallots, addVoters, createElection } from './elections.ts';
import type { BenchLine } from './line.ts';
import { alternate } from './windows.ts';

const ROUNDS = 5;
const WINDOW_MS = 1_500;
const FEW = 1_000;
const VOTERS = 2_000_000;
const BALLOTS = 3_000_000;

async function countBallots(bench: Bench): Promise<number> {
  const { rows } = await bench.pool.query<{ ballots: number }>(
    'SELECT coalesce(sum(ballots), 0)::int AS ballots FROM ballot_blocks',
  );
  return rows[0]?.ballots ?? 0;
}

/** Fills the database up to so many confirmed ballots, in an election of their own. */
async function fillBallots(bench: Bench, wanted: number): Promise<void> {
  const missing = wanted - (await countBallots(bench));
  if (missing <= 0) return;
  const { id, positions } = await createElection(bench, [{ votingMethod: 'plurality', candidates: 2 }]);
  const [position] = positions;
  const entries = [{ candidate: position?.candidates[0]?.number ?? 0, value: 1 }];
  const packed = packEntries([{ position: position?.number ?? 0, entries }]);
  await addConfirmedBallots(bench, id, 0, missing, () => packed);
}

/** Casting in a database of many voters and ballots, beside an almost empty one. */
export const growth: BenchLine = async (bench) => {
  const small = await startBench({ scale: bench.scale, seed: bench.seed });
  try {
    const [voters, ballots] = [VOTERS * bench.scale, BALLOTS * bench.scale];
    await fillBallots(bench, ballots);
    const many = await prepareTwelve(bench, FEW);
    const added = Math.max(0, voters - (await countRows(bench.databaseUrl, 'voters')));
    await addVoters(bench, many.election.id, FEW, FEW + added);
    const few = await prepareTwelve(small, FEW);
    const casting = { ...many, voters: FEW + added };
    const alternatives = {
      ours: async () => (await castOverHttp(bench, casting, bench.server.port, 32, WINDOW_MS)).perSecond,
      theirs: async () => (await castOverHttp(small, few, small.server.port, 32, WINDOW_MS)).perSecond,
    };
    for (const warmUp of Object.values(alternatives)) await warmUp();
    const { ours, theirs } = await alternate(bench, ROUNDS, alternatives);
    return [
      {
        ...{ work: `cast with ${voters} voters and ${ballots} ballots`, reference: `with ${FEW} and none`, unit: '/s' },
        ...{ ours, theirs, goal: { atLeast: 0.75, beyond: 0.9 } },
        limit: 'The indexes are a level deeper, and their pages no longer fit into 128 MB of shared buffers.',
      },
    ];
  } finally {
    await small.stop();
  }
};
