import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';

/** Few histories of one seed: what they met is printed; fewer than MET_IN_SAMPLE of `run.ts`, or a line of never-met.ts that is not true, fails. */
const SAMPLE = ['--seed', '7', '--histories', '12', '--ops', '40', '--shrinks', '0', '--tolerated', '1', '--sample'];

test('the histories of one seed differ in nothing, and meet what they promise', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [path.join(import.meta.dirname, 'run.ts'), ...SAMPLE],
    {
      encoding: 'utf8',
    },
  );
  console.info(stdout);
  expect([status, stderr]).toEqual([0, '']);
});
