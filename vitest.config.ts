import { defineConfig } from 'vitest/config';

/** They replace a module, or what one holds: each reads the program for itself. */
const ALONE = [
  'test/api/change-places.test.ts',
  'test/api/third-provider.test.ts',
  'test/unit/ballot-definition/shuffled-ballot.test.ts',
  'test/unit/results/count-in-turns.test.ts',
];

export default defineConfig({
  test: {
    pool: 'forks',
    // One more than the smallest machine has cores: many tests wait, for a mail, a job or a process.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: { name: 'architecture', include: ['test/architecture.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'all',
          include: ['test/**/*.test.ts'],
          exclude: ['test/architecture.test.ts', 'test/bench/**', ...ALONE],
          globalSetup: ['test/harness/global-setup.ts'],
          // Most of what a file of tests takes is reading the program: all files of a worker share what one has read.
          isolate: false,
          // No test is about time: this ends one that hangs, on a machine that may be slow.
          testTimeout: 90_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: ALONE,
          globalSetup: ['test/harness/global-setup.ts'],
          testTimeout: 90_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
