import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '#test/harness/test-service.ts';

const WIDTH = 120;
const HEAD = `-- What runs in the database once all migrations have: the present text of every function, and what calls it by itself.
-- Migrations hold them as they were changed, one after the other; to change one, write a migration. A test compares this file
-- with a migrated database, and writes it anew with: npx vitest run -u test/unit/database/present-functions.test.ts
`;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ worker: false });
});
afterAll(() => service.stop());

/** Breaks a list of parameters into lines, as a person would write it. */
function foldParameters(head: string): string {
  const [name = '', rest = ''] = head.split(/\((.*)\)$/s);
  if (head.length <= WIDTH) return head;
  const lines: string[] = [];
  for (const parameter of rest.split(', ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + parameter.length + 4 <= WIDTH)
      lines[lines.length - 1] = `${last}, ${parameter}`;
    else lines.push(`  ${parameter}`);
  }
  return `${name}(\n${lines.join(',\n')}\n)`;
}

test('the text of the functions that people read is that of the database', async () => {
  const { $client } = service.deps.db;
  const { rows: functions } = await $client.query<{ definition: string; triggers: string[] }>(`
    SELECT pg_get_functiondef(p.oid) AS definition, ARRAY(
      SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t
      WHERE t.tgfoid = p.oid AND NOT t.tgisinternal ORDER BY t.tgrelid::regclass::text, t.tgname) AS triggers
    FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f' ORDER BY p.proname`);
  const texts = functions.map(({ definition, triggers }) => {
    const end = definition.indexOf('\n');
    const head = foldParameters(
      definition.slice(0, end).replace('CREATE OR REPLACE FUNCTION public.', 'CREATE FUNCTION '),
    );
    const calls = triggers.map((trigger) => `${trigger.replaceAll('public.', '')};\n`);
    return `${head}${definition.slice(end).trimEnd()};\n${calls.length === 0 ? '' : `\n${calls.join('')}`}`;
  });
  expect(texts.length).toBeGreaterThan(30);
  await expect(`${HEAD}\n${texts.join('\n')}`).toMatchFileSnapshot('../../../docs/database-functions.sql');
});
