import { startRealProcesses } from '#test/harness/real-processes.ts';
import { rollRestarts } from '#test/harness/roll-restarts.ts';

/** `npm run restarts -- [NUMBER]`: rolling restarts of two processes behind a proxy, while votes go on. Ends with 1 where a request failed. */
const restarts = Number(process.argv[2] ?? 50);
const real = await startRealProcesses();
try {
  const { requests, failed, ended } = await rollRestarts(real, restarts);
  process.stdout.write(
    `${restarts} restarts, ${requests} requests, ${failed.length} failed; exit status ${[...ended].join(', ')}\n`,
  );
  for (const line of failed.slice(0, 20)) process.stdout.write(`${line}\n`);
  process.exitCode = failed.length === 0 ? 0 : 1;
} finally {
  await real.stop();
}
process.exit();
