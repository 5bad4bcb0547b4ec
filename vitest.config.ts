import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** They replace a module, or what one holds: each reads the program for itself. */
const ALONE = [
  'test/api/change-places.test.ts',
  'test/api/log-configurations.test.ts',
  'test/api/third-provider.test.ts',
  'test/unit/ballot-definition/shuffled-ballot.test.ts',
  'test/unit/results/count-in-turns.test.ts',
];

/** They look at the program's text and ask for no database: `npm run check` runs them. */
const WITHOUT_DATABASE = ['test/architecture.test.ts', 'test/linear.test.ts'];

/**
 * They start processes and servers of their own and take minutes: `npm run night` runs them. What each protects has a sample in `npm test`
 * or in `.ci/run`: fail-overs and clocks in the minute of chaos, migrations in `faults/updates`, cells in `faults/cells*`.
 */
const NIGHT = [
  'test/faults/cell-commands.test.ts',
  'test/faults/fail-over.test.ts',
  'test/faults/migrations.test.ts',
  'test/secrecy/measured.test.ts',
  'test/faults/embedded-database.test.ts',
  'test/faults/backup.test.ts',
  'test/faults/restore.test.ts',
  'test/faults/job-processes.test.ts',
  'test/unit/reference/built-assets.test.ts',
  'test/faults/claims.test.ts',
  'test/api/sdk-package.test.ts',
  'test/faults/read-copy.test.ts',
  'test/money/kills.test.ts',
  'test/faults/clock-drift.test.ts',
  'test/faults/database-clock.test.ts',
];

/** Each takes more than half a minute on a busy machine, the longest first. */
const LONGEST = [
  'faults/service-process',
  'faults/cells',
  'tamper/running-service',
  'money/year',
  'faults/notify',
  'faults/start-checks',
  'faults/mail-jobs',
  'faults/key-backups',
  'browser/voting-page',
  'faults/import-voters',
  'faults/job-runner',
  'api/payment-providers',
  'model/met',
  'api/fuzz',
  'api/examples',
  'secrecy/ballot-secrecy',
  'api/event-life',
  'api/one-event',
  'api/exports',
  'races/payments',
  'api/neighbours',
  'browser/reference-script',
  'faults/updates',
  'faults/key-places',
  'tamper/forged-rows',
  'api/paid-for',
  'api/payments-end',
  'api/notify',
  'api/service-log',
  'api/verify-log',
  'browser/verifier-page',
  'unit/server/listen',
  'api/payments-corners',
  'api/payments-by-hand',
  'api/business-keys',
  'api/guides',
  'api/letters',
  'api/reversals',
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
