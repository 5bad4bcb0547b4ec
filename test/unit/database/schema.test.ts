import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FUNCTIONS_VERSION } from '#src/database/function-sources.ts';
import { readFunctions, readTables } from '#test/harness/read-schema.ts';
import { startTestService, type TestService } from '#test/harness/test-service.ts';

/**
 * The schema of a freshly migrated database. Rewrite the files on purpose, and read the difference:
 * `npx vitest run -u --project all test/unit/database/schema.test.ts`.
 */

const FUNCTIONS_FILE = path.resolve(import.meta.dirname, '../../golden/functions.sql');

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ worker: false });
});
afterAll(() => service.stop());

test('tables, indexes, constraints and triggers are those of the golden file', async () => {
  const text = await readTables(service.deps.db.$client);
  await expect(text).toMatchFileSnapshot('../../golden/schema.sql');
});

test('functions are those of the golden file, and their version goes up with every change', async () => {
  const text = await readFunctions(service.deps.db.$client);
  const digest = createHash('sha256').update(text).digest('hex');
  const kept = existsSync(FUNCTIONS_FILE) ? readFileSync(FUNCTIONS_FILE, 'utf8') : '';
  const [, version, keptDigest] = /^-- Version (\d+), ([0-9a-f]{64})\n/.exec(kept) ?? [];
  if (digest !== keptDigest)
    expect(FUNCTIONS_VERSION, 'FUNCTIONS_VERSION goes up when a function changes').toBeGreaterThan(
      Number(version ?? 0),
    );
  await expect(`-- Version ${FUNCTIONS_VERSION}, ${digest}\n\n${text}`).toMatchFileSnapshot(FUNCTIONS_FILE);
});
