import { afterAll, beforeAll, expect, test } from 'vitest';
import { readFunctions, readTables } from '#test/harness/read-schema.ts';
import { startTestService, type TestService } from '#test/harness/test-service.ts';

/**
 * The schema of a freshly migrated database. Rewrite the files on purpose, and read the difference:
 * `npx vitest run -u --project all test/unit/database/schema.test.ts`.
 */

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ worker: false });
});
afterAll(() => service.stop());

test('tables, indexes, constraints and triggers are those of the golden file', async () => {
  const text = await readTables(service.deps.db.$client);
  await expect(text).toMatchFileSnapshot('../../golden/schema.sql');
});

test('functions are those of the golden file', async () => {
  const text = await readFunctions(service.deps.db.$client);
  await expect(text).toMatchFileSnapshot('../../golden/functions.sql');
});
