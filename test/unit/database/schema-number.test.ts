import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connectDatabase } from '#src/database/client.ts';
import { mayReplace, SCHEMA, SchemaRefused, whyNotServed } from '#src/database/schema-number.ts';
import { createLog } from '#src/platform/log.ts';
import { latestRelease } from '#test/harness/compare-with-release.ts';
import { createEmptyDatabase, withClient } from '#test/harness/empty-database.ts';
import { createTestDatabase, type TestDatabase } from '#test/harness/test-database.ts';

const OWN = SCHEMA.number;
const ROOT = path.resolve(import.meta.dirname, '../../..');
const FILE = 'src/database/schema-number.ts';

test('the schema number is higher than that of the latest release where the schema is another one', () => {
  const schemaIn = (text: string) => {
    const [, number, digest] = /number: (\d+), digest: '(\w+)'/.exec(text) ?? [];
    return { number: Number(number), digest };
  };
  expect(schemaIn(readFileSync(path.join(ROOT, FILE), 'utf8'))).toEqual(SCHEMA);
  const release = latestRelease(ROOT);
  const show = () => execFileSync('git', ['show', `${release}:${FILE}`], { cwd: ROOT, encoding: 'utf8' });
  const released = release === undefined ? { number: 0, digest: undefined } : schemaIn(show());
  const least = released.digest === SCHEMA.digest ? released.number : released.number + 1;
  expect(OWN, `raise the number in ${FILE} above that of ${release}`).toBeGreaterThanOrEqual(least);
});

describe('a new connection of a pool', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  const onPool = async <T>(url: string, text: string): Promise<T[]> => {
    const { $client } = connectDatabase({ url, log: createLog('silent'), maxConnections: 1 });
    try {
      return (await $client.query(text)).rows as T[];
    } finally {
      await $client.end();
    }
  };

  test.each([
    ['is lower', `number = ${OWN - 1}`],
    ['is higher', `number = ${OWN + 1}`],
    ['is of another build', "digest = 'another'"],
    ['is being changed', `next = ${OWN + 1}, migrating = true`],
  ])('runs no statement where the schema number %s', async (_how, change) => {
    await withClient(database.url, (client) => client.query(`UPDATE schema_number SET ${change}`));
    await expect(onPool(database.url, 'CREATE TABLE mark (id int)')).rejects.toThrow(SchemaRefused);
    const { rows } = await withClient(database.url, (client) => client.query("SELECT to_regclass('mark') AS mark"));
    expect(rows).toEqual([{ mark: null }]);
  });

  test('runs none in a database that nothing was migrated to', async () => {
    const empty = await createEmptyDatabase();
    await expect(onPool(empty.url, 'SELECT 1')).rejects.toThrow('has no schema number');
    await empty.drop();
  });

  test('still serves requests under way of a process that is asked to end', async () => {
    await withClient(database.url, (client) => client.query(`UPDATE schema_number SET next = ${OWN + 1}`));
    expect(await onPool(database.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('has a name that `migrate` finds, whatever the address calls it', async () => {
    const show = "SELECT current_setting('application_name') AS name";
    const named = `${database.url}?application_name=payroll`;
    expect([await onPool(database.url, show), await onPool(named, show)]).toEqual([
      [{ name: 'voting-service' }],
      [{ name: 'voting-service payroll' }],
    ]);
  });
});

const SELF = { newest: 1, digest: SCHEMA.digest, migrating: false };
const OTHER = { ...SELF, digest: 'another' };
test.each([
  ['of this build', { ...SELF, number: OWN, next: null }, true, true, true],
  ['of the build before', { ...OTHER, number: OWN - 1, next: null }, false, true, true],
  ['of the build before, on the way to this one', { ...OTHER, number: OWN - 1, next: OWN }, false, true, true],
  ['of the build before, on the way to a later one', { ...OTHER, number: OWN - 1, next: OWN + 1 }, false, false, false],
  ['of this build, on the way to a later one', { ...SELF, number: OWN, next: OWN + 1 }, false, false, true],
  ['of this build, on the way to one with its number', { ...SELF, number: OWN, next: OWN }, false, false, true],
  ['of another build with its number', { ...OTHER, number: OWN, next: null }, false, false, true],
  ['of another build with its number, on the way', { ...OTHER, number: OWN, next: OWN + 1 }, false, false, false],
  ['of a later build', { ...OTHER, number: OWN + 1, next: null }, false, false, false],
])(
  'a database %s: whether this build serves it, migrates it at a start, or by an operator’s `migrate`',
  (_what, found, served, atStart, byOperator) => {
    const reason = whyNotServed(found);
    expect([reason === undefined, mayReplace(found, false), mayReplace(found, true)]).toEqual([
      served,
      atStart,
      byOperator,
    ]);
    expect(reason ?? '').not.toContain('\n');
  },
);
