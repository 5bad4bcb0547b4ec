import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '#test/harness/test-service.ts';

/**
 * The API document as it is served. Rewrite the file on purpose, and read the difference:
 * `npx vitest run -u --project all test/api/document-golden.test.ts`.
 */

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ worker: false });
});
afterAll(() => service.stop());

test('the API document is that of the golden file, byte for byte', async () => {
  const answer = await fetch(`http://127.0.0.1:${service.port}/openapi.json`);
  const served = await answer.text();
  const document: unknown = JSON.parse(served);
  // Nothing is lost by the line breaks of the golden file.
  expect(JSON.stringify(document)).toBe(served);
  await expect(`${JSON.stringify(document, null, 1)}\n`).toMatchFileSnapshot('../golden/openapi.json');
});
