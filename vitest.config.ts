import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    pool: 'forks',
    // PostgreSQL and the servers under test need cores as well.
    maxWorkers: 2,
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
          exclude: ['test/architecture.test.ts', 'test/bench/**'],
          globalSetup: ['test/harness/global-setup.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
