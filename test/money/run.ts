/** A scripted year of one merchant: `npm run money -- [--seed S]`. Ends with 1 where a payment's money is not where it belongs. */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { seed: { type: 'string' }, payments: { type: 'string' } } });
const seed = values.seed ?? String(Math.floor(Math.random() * 1_000_000));
process.stdout.write(`A year of payments of seed ${seed} (npm run money -- --seed ${seed})\n`);
const words = [
  'run',
  '--project',
  'all',
  '--maxWorkers',
  '1',
  '--disableConsoleIntercept=true',
  'test/money/year.test.ts',
];
const { status } = spawnSync('vitest', words, {
  stdio: 'inherit',
  env: { ...process.env, MONEY_SEED: seed, MONEY_PAYMENTS: values.payments ?? '200' },
});
process.exitCode = status ?? 1;
