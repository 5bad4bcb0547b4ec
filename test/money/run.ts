/**
 * A scripted year of one merchant: `npm run money -- [--seed S] [--payments N]`; or processes that are killed at steps of payments:
 * `npm run money -- --kills N|Infinity [--seed S]`. Ends with 1 where a payment's money is not where it belongs.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { seed: text, payments: text, kills: text } });
const seed = values.seed ?? String(Math.floor(Math.random() * 1_000_000));
const again = `npm run money --${values.kills === undefined ? '' : ` --kills ${values.kills}`} --seed ${seed}`;
process.stdout.write(`Payments of seed ${seed} (${again})\n`);
const words = ['run', '--project', 'all', '--maxWorkers', '1', '--disableConsoleIntercept=true'];
const { status } = spawnSync(
  'vitest',
  [...words, values.kills === undefined ? 'test/money/year.test.ts' : 'test/money/kills.test.ts'],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      MONEY_SEED: seed,
      MONEY_PAYMENTS: values.payments ?? '200',
      ...(values.kills === undefined ? {} : { MONEY_KILLS: values.kills }),
    },
  },
);
process.exitCode = status ?? 1;
