import { defineConfig } from 'vitest/config';

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

export default defineConfig({
  test: {
    pool: 'forks',
    // One more than the smallest machine has cores: many tests wait, for a mail, a job or a process.
    maxWorkers: 3,
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
          exclude: [...WITHOUT_DATABASE, 'test/bench/**', ...ALONE],
          globalSetup: ['test/harness/global-setup.ts'],
          // Most of what a file of tests takes is reading the program: all files of a worker share what one has read.
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
