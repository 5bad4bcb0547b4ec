import { expect, test } from 'vitest';
import { csvById } from '#src/platform/csv.ts';

test('reads a table page by page until one is not full, and writes each row once behind its head', async () => {
  const rows = Array.from({ length: 1_001 }, (_, index) => ({ id: String(index).padStart(4, '0') }));
  const asked: string[] = [];
  const pieces = csvById(
    ['id', 'sum'],
    async (after, limit) => {
      asked.push(after);
      return rows.filter(({ id }) => id > after).slice(0, limit);
    },
    ({ id }) => [id, null],
  );
  const lines = (await Array.fromAsync(pieces)).join('').split('\r\n');
  expect(lines).toEqual(['\ufeffid,sum', ...rows.map(({ id }) => `"${id}",`), '']);
  expect(asked).toEqual(['', '0499', '0999']);
});

test('writes a table without rows as its head alone', async () => {
  const pieces = csvById(
    ['id'],
    async (): Promise<{ id: string }[]> => [],
    () => [],
  );
  expect(await Array.fromAsync(pieces)).toEqual(['\ufeffid\r\n']);
});
