import { readFileSync } from 'node:fs';
import path from 'node:path';
import type pg from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { FUNCTION_FILES, parseFunctions, readFunctionSources } from '#src/database/function-sources.ts';
import { listPending, migrate } from '#src/database/migrate.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { readSources } from '#test/harness/read-sources.ts';
import { useDatabase } from '#test/harness/use.ts';

const SOURCE = path.resolve(import.meta.dirname, '../../../src');

const database = await useDatabase();
const before = await onDatabase(readFunctions);
beforeEach(() => migrate(database.url));

/** The functions of the public schema as SQL text, by name. */
async function readFunctions(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ text: string; name: string; shut: boolean }>(
    `SELECT pg_get_functiondef(oid) AS text, oid::regprocedure::text AS name,
       NOT has_function_privilege('public', oid, 'EXECUTE') AS shut
     FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prokind = 'f' ORDER BY proname, oid::regprocedure::text`,
  );
  const show = ({ text, name, shut }: (typeof rows)[number]): string =>
    `${text.replaceAll('public.', '').trimEnd()};\n${shut ? `REVOKE ALL ON FUNCTION ${name} FROM PUBLIC;\n` : ''}`;
  return rows.map(show).join('\n');
}

function onDatabase<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  return withClient(database.url, work);
}

const pending = async (): Promise<readonly string[]> => (await listPending(database.url)).pending;

describe('functions of the database', () => {
  test.each([
    [
      'is changed by hand',
      'is_process_alive',
      "CREATE OR REPLACE FUNCTION is_process_alive(p_id bytea) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true'",
    ],
    ['is dropped', 'has_voted', 'DROP FUNCTION has_voted'],
    ['has other settings', 'has_voted', 'ALTER FUNCTION has_voted VOLATILE'],
    [
      'has another result',
      'now_ms',
      'DROP FUNCTION now_ms; CREATE FUNCTION now_ms() RETURNS text LANGUAGE sql RETURN 1::text',
    ],
    ['has other parameters beside', 'now_ms', 'CREATE FUNCTION now_ms(integer) RETURNS bigint LANGUAGE sql RETURN 1'],
    [
      'names its parameters otherwise',
      'lock_credits',
      "DROP FUNCTION lock_credits; CREATE FUNCTION lock_credits(a text, b text) RETURNS void LANGUAGE sql AS ''",
    ],
    [
      'is a trigger’s',
      'refuse_change',
      "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    ],
    [
      'has no source any more',
      'of_an_earlier_version',
      `CREATE FUNCTION of_an_earlier_version() RETURNS integer LANGUAGE sql RETURN 1;
        COMMENT ON FUNCTION of_an_earlier_version() IS 'voting-service ${'0'.repeat(16)} ${'0'.repeat(32)}'`,
    ],
  ])('are reported and put right where one %s', async (_what, name, statements) => {
    await onDatabase((client) => client.query(statements));
    expect(await pending()).toEqual([`function ${name}`]);
    await migrate(database.url);
    expect(await pending()).toEqual([]);
    expect(await onDatabase(readFunctions)).toBe(before);
  });

  test('are left alone where another program made them', async () => {
    await onDatabase((client) =>
      client.query('CREATE FUNCTION of_another_program() RETURNS integer LANGUAGE sql RETURN 1'),
    );
    expect(await pending()).toEqual([]);
    await onDatabase((client) => client.query('DROP FUNCTION has_voted'));
    await migrate(database.url);
    await onDatabase((client) => client.query('DROP FUNCTION of_another_program()'));
    expect(await onDatabase(readFunctions)).toBe(before);
  });
});

describe('the sources of functions', () => {
  test('are all on the list, and each function has one', () => {
    const files = readSources('src', /\.sql$/).map(({ name }) => name);
    expect(files).toEqual(FUNCTION_FILES.toSorted());
    const names = readFunctionSources().map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(names.length).toBeGreaterThan(40);
  });

  test('hold nothing but functions and comments', () => {
    expect(() => parseFunctions('a.sql', '-- A comment.\nDROP TABLE voters;\n')).toThrow(
      'a.sql holds more than functions',
    );
    expect(() => parseFunctions('a.sql', 'CREATE FUNCTION one() RETURNS integer LANGUAGE sql RETURN 1;\n')).toThrow();
    const text = 'CREATE OR REPLACE FUNCTION one() RETURNS integer LANGUAGE sql RETURN 1;\n';
    expect(parseFunctions('a.sql', `-- A comment.\n${text}`)).toMatchObject([{ name: 'one', text }]);
  });

  test('say above each function why it is there', () => {
    const bare = FUNCTION_FILES.flatMap((file) => {
      const lines = readFileSync(path.join(SOURCE, file), 'utf8').split('\n');
      return lines.filter((line, index) => line.startsWith('CREATE ') && lines[index - 1]?.startsWith('-- ') !== true);
    });
    expect(bare).toEqual([]);
  });
});
