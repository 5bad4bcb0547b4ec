import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';
import { DAY_MS } from '#src/platform/clock.ts';
import { recurringJobs } from '#src/work.ts';
import { useService } from '#test/harness/test-service.ts';
import { passedBy } from './driver-settle.ts';

const service = await useService({ worker: false });

/** Few histories of one seed: what they met is printed; fewer than MET_IN_SAMPLE of `run.ts`, or a line of never-met.ts that is not true, fails. */
const SAMPLE = ['--seed', '17', '--histories', '12', '--ops', '40', '--shrinks', '0', '--tolerated', '1', '--sample'];

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

// One that they did not run took the keys of elections.
test('a day that passes in a history starts every recurring job', () => {
  const jobs = recurringJobs(service.deps);
  expect(passedBy(jobs, 0, DAY_MS)).toEqual(jobs.map(({ name }) => name));
});
