import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

import { NIGHT } from './test/night-files.ts';

/** They replace a module, or what one holds: each reads the program for itself. */
const ALONE = [
  'test/api/change-places.test.ts',
  'test/api/log-configurations.test.ts',
  'test/api/third-provider.test.ts',
  'test/unit/ballot-definition/shuffled-ballot.test.ts',
  'test/unit/results/count-in-turns.test.ts',
];

/** They look at the program's text and ask for no database: `npm run check` runs them. */
const WITHOUT_DATABASE = ['test/architecture.test.ts', 'test/linear.test.ts', 'test/unit/platform/time-limits.test.ts'];

/** Each takes more than a quarter of a minute on a busy machine, the longest first. */
const LONGEST = [
  'secrecy/ballot-secrecy',
  'api/event-life',
  'api/rehearsal',
  'api/reversals',
  'api/disclosure',
  'api/refunds',
  'api/payment-providers',
  'api/participants',
  'api/payments-end',
  'api/paid-for',
  'api/payments-by-hand',
  'api/exports',
  'api/webhook-events',
  'api/notify',
  'api/definition',
  'faults/cells',
  'faults/roles',
  'api/voter-mails',
  'api/roll',
  'api/ballot-log',
  'secrecy/stolen-files',
  'browser/console',
  'faults/ballot-log-guards',
  'api/payments',
  'api/hot-statements',
  'faults/ballot-keys',
  'faults/webhook-sending',
  'faults/witnesses',
  'api/results',
  'races/plan-limits',
  'faults/cells-payments',
  'unit/ballots/casting-ways',
  'api/log-configurations',
  'api/log-export',
  'api/document',
  'unit/platform/thread-pool',
].map((name) => `/test/${name}.test.ts`);

/** In a fresh checkout no run has left durations: a long file that began last would run alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(name));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    pool: 'forks',
    // Twice the cores of the smallest machine: many tests wait, for a mail, a job or a process.
    maxWorkers: 4,
    // No test is about time: this ends one that hangs, on a machine that may be slow.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    projects: [
      {
        extends: true,
        test: { name: 'architecture', include: WITHOUT_DATABASE },
      },
      {
        extends: true,
        test: {
          name: 'all',
          include: ['test/**/*.test.ts'],
          exclude: [...WITHOUT_DATABASE, 'test/bench/**', ...ALONE, ...NIGHT],
          globalSetup: ['test/harness/global-setup.ts'],
          // Most of what a file of tests takes is reading the program: all files of a worker share what one has read.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'night',
          include: NIGHT,
          globalSetup: ['test/harness/global-setup.ts'],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: ALONE,
          globalSetup: ['test/harness/global-setup.ts'],
        },
      },
    ],
  },
});
