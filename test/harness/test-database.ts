import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';

/** Migrated once for the whole run and never connected to after that: a template in use cannot be copied. */
export const TEMPLATE_DATABASE = 'voting_template';

export interface TestDatabase {
  readonly url: string;
  /** Ends whatever is still connected to it. */
  drop(): Promise<void>;
}

const OBJECT_IN_USE = '55006';
const COPY_ATTEMPTS = 20;
const COPY_PAUSE_MS = 100;

/** The address of another database on the server that `url` names. */
export function withDatabase(url: string, name: string): string {
  const address = new URL(url);
  address.pathname = `/${name}`;
  return address.href;
}

/** Runs statements one after another, each in a transaction of its own, as creating and dropping databases needs. */
export async function runStatements(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

async function copyTemplate(adminUrl: string, name: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await runStatements(adminUrl, [
        `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE_DATABASE} STRATEGY ${inject('copyStrategy')}`,
      ]);
      return;
    } catch (fault) {
      const inUse = fault instanceof pg.DatabaseError && fault.code === OBJECT_IN_USE;
      if (!inUse || attempt >= COPY_ATTEMPTS) throw fault;
      await delay(COPY_PAUSE_MS * (0.5 + Math.random()));
    }
  }
}

/** A database of its own for a test or a file of tests, with the newest schema and no rows. Any number of workers may ask at once. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const adminUrl = inject('databaseUrl');
  const name = `voting_test_${randomBytes(8).toString('hex')}`;
  await copyTemplate(adminUrl, name);
  return {
    url: withDatabase(adminUrl, name),
    drop: () => runStatements(adminUrl, [`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`]),
  };
}
