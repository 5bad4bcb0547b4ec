import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { runStatements, type TestDatabase, withDatabase } from './test-database.ts';

/** A database without any table, for tests of migrations. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const adminUrl = inject('databaseUrl');
  const name = `voting_empty_${randomBytes(8).toString('hex')}`;
  await runStatements(adminUrl, [`CREATE DATABASE ${name}`]);
  return {
    url: withDatabase(adminUrl, name),
    drop: () => runStatements(adminUrl, [`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`]),
  };
}

/** Does something on a connection of its own. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
