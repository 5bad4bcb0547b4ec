import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { countPlainly } from './count-plainly.ts';
import { countByService, createRandom, fingerprint, randomElection } from './random-elections.ts';

/**
 * Counts random elections twice until a number of ballot positions is reached:
 *   npm run count-twice -- 30000000 [first seed]
 * 30,000,000 without a difference show an error rate below one in ten million with 95 % confidence.
 */
const BATCH = 2_000;

interface Progress {
  readonly ballots: number;
  readonly elections: number;
  readonly different: number[];
}

function work({ first, step, wanted }: { first: number; step: number; wanted: number }): void {
  let done = 0;
  for (let seed = first; done < wanted; ) {
    const batch: { ballots: number; elections: number; different: number[] } = {
      ballots: 0,
      elections: 0,
      different: [],
    };
    for (let count = 0; count < BATCH; count += 1, seed += step) {
      const election = randomElection(createRandom(seed));
      batch.ballots += election.ballots.length;
      batch.elections += 1;
      const plain = countPlainly(election.position, election.ballots, election.options);
      if (fingerprint(countByService(election)) !== fingerprint(plain)) batch.different.push(seed);
    }
    done += batch.ballots;
    parentPort?.postMessage(batch);
  }
}

async function main(): Promise<void> {
  const wanted = Number(process.argv[2] ?? 30_000_000);
  const firstSeed = Number(process.argv[3] ?? 1);
  if (!Number.isSafeInteger(wanted) || wanted < 1 || !Number.isSafeInteger(firstSeed)) {
    process.stderr.write('usage: npm run count-twice -- [ballot positions] [first seed]\n');
    process.exit(2);
  }
  const threads = availableParallelism();
  const total = { ballots: 0, elections: 0, different: [] as number[] };
  const show = (): void => {
    const share = Math.min(1, total.ballots / wanted);
    const bar = '█'.repeat(Math.floor(share * 30)).padEnd(30, '░');
    process.stderr.write(
      `\r${bar} ${(share * 100).toFixed(1)} %  ${total.ballots} ballots, ${total.different.length} differences`,
    );
  };
  await Promise.all(
    Array.from({ length: threads }, (_, index) => {
      const worker = new Worker(new URL(import.meta.url), {
        workerData: { first: firstSeed + index, step: threads, wanted: wanted / threads },
      });
      worker.on('message', (progress: Progress) => {
        total.ballots += progress.ballots;
        total.elections += progress.elections;
        total.different.push(...progress.different);
        show();
      });
      return new Promise<void>((resolve, reject) => worker.once('error', reject).once('exit', () => resolve()));
    }),
  );
  process.stderr.write('\n');
  process.stdout.write(
    `${total.ballots} ballot positions in ${total.elections} elections, ${total.different.length} differences\n`,
  );
  if (total.different.length > 0) {
    process.stdout.write(
      `seeds that differ: ${total.different.slice(0, 20).join(', ')}\nreplay one: COUNT_SEED=<seed> npm test\n`,
    );
    process.exitCode = 1;
  }
}

if (isMainThread) await main();
else work(workerData);
