import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';
import { recurringJobs } from '#src/work.ts';
import { useService } from '#test/harness/test-service.ts';
import { BY_THE_CLOCK } from './driver-settle.ts';

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
test('the clock of the histories starts every recurring job', () => {
  const names = recurringJobs(service.deps).map(({ name }) => name);
  expect(BY_THE_CLOCK.flatMap(([, started]) => started).toSorted()).toEqual(names.toSorted());
});
