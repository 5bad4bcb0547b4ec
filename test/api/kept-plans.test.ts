import { sql } from 'drizzle-orm';
import { afterAll, describe, expect, test } from 'vitest';
import { findUnaccounted } from '#src/ballot-log/check-repository.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { listNextVoters, type Notification } from '#src/voters/notification.ts';
import { takeExpired } from '#src/voters/registration-repository.ts';
import { removeDeletedVoters } from '#src/voters/repository.ts';
import { lockEvent } from '#src/voting-events/repository.ts';
import { sealDeps } from '#src/work.ts';
import { finishEvent, tendLog } from '#test/harness/elections.ts';
import { measured, processorMs } from '#test/harness/processor-time.ts';
import { SERVICE_LIMITS, type TestService, useAccount, useService } from '#test/harness/test-service.ts';

const { service, account } = await useAccount({ worker: false });
const LIMIT_MS = SERVICE_LIMITS.databaseStatementMs;
const VOTER = "'vtr_' || lpad(n::text, 8, '0')";

/** Rows of an event by SQL, without tags. */
async function fill(id: string, rows: number, on: TestService = service): Promise<void> {
  const from = 'FROM generate_series(1, $2::integer) AS n';
  const insert = (text: string): [string, unknown[]] => [`${text} ${from}`, [id, rows]];
  await on.behindTheGuards(
    insert(`INSERT INTO voters (voting_event_id, id, name, weight_micro, status, key_status, source, tag, before_rehearsal, created_at, updated_at)
      SELECT $1, ${VOTER}, 'Voter', CASE WHEN n % 10 = 0 THEN n ELSE 0 END + 1000000, 'approved', 'sent', 'organizer', '',
        '{"key_status":"sent","approved_by_key":false}', 1, 1`),
    insert(`INSERT INTO participation (voting_event_id, participant) SELECT $1, ${VOTER}`),
    insert(`INSERT INTO voter_keys (voting_event_id, voter_id, key_hash) SELECT $1, ${VOTER}, ''`),
    insert(`INSERT INTO undisclosed_voters SELECT $1, ${VOTER}`),
    insert(`INSERT INTO audit_entries (account_id, id, voting_event_id, action, resource, created_at)
      SELECT 'acc', $1 || n, $1, 'voter.created', ${VOTER}, 1`),
    insert(`INSERT INTO pending_ballots (voting_event_id, participant, participants, code_tag, entries, weight_micro, cast_at)
      SELECT $1, ${VOTER}, '{}', sha256(n::text::bytea), '', 1, 1`),
    insert(`INSERT INTO payment_attempts (voting_event_id, id, account_id, payment_business_id, purpose, status, provider, amount_minor, currency,
        request, terms, expires_at, provider_payment_id, created_at, updated_at)
      SELECT $1, $1 || lpad(n::text, 8, '0'), 'acc', 'biz', 'vote', 'fulfilled', 'provider_a', 5, 'usd', '{}', '{}', 1, $1 || n, 1, 1`),
    insert(`INSERT INTO jobs (name, key, payload, account, last, run_at, max_attempts, created_at)
      SELECT 'mail_notified_voter', $1 || n, '{}', 'acc', true, 1, 25, 1`),
  );
}

/** A roll whose voters changed in a rehearsal. */
const mark = (id: string, rows: number): Promise<void> =>
  service.behindTheGuards([
    `INSERT INTO voters (voting_event_id, id, name, weight_micro, status, key_status, source, tag, before_rehearsal, created_at, updated_at)
     SELECT $1, ${VOTER}, 'Voter', 1000000, 'approved', 'sent', 'organizer', '', '{"key_status":"sent","approved_by_key":false}', 1, 1
     FROM generate_series(1, $2::integer) AS n`,
    [id, rows],
  ]);

const open = async (): Promise<string> => (await account.event({ type: 'election' })).id;
const final = async (): Promise<string> => {
  const id = await open();
  await finishEvent(service, id);
  return id;
};
const rehearsed = async (): Promise<string> => {
  const { id } = await account.event({ type: 'election' }, undefined, false);
  await service.behindTheGuards([
    'UPDATE voting_events SET rehearsal_since = 1, rehearsal_number = 1 WHERE id = $1',
    [id],
  ]);
  return id;
};

const STATEMENTS: readonly (readonly [what: string, make: () => Promise<string>, text: string])[] = [
  [
    'a final result discloses who voted',
    final,
    'SELECT count(*) FROM disclose_voters($1, 1000000, 5, NULL, true, false)',
  ],
  [
    'an open election with weights discloses who voted',
    open,
    'SELECT count(*) FROM disclose_voters($1, 1000000, 5, NULL, true, false)',
  ],
  ['expired ballots are dropped', open, 'SELECT drop_expired_ballots($1, 1000)'],
  ['payments of a deleted event go back', open, "SELECT give_event_back($1, '')"],
  ['a rehearsal ends', rehearsed, 'SELECT end_rehearsal($1, 5000)'],
];

describe('the planner does not know of which events the rows of a table are, so that an event is not taken for small because it is new', async () => {
  const own = await useService({ worker: false });
  const organizer = await own.account();
  const tables: { relname: string }[] = await own.query(
    "SELECT relname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE attname = 'voting_event_id' AND relkind = 'r'",
  );
  for (const { relname } of tables) await own.query(`ALTER TABLE ${relname} SET (autovacuum_enabled = off)`);
  /** Its rows came after those of another event were analysed. */
  const added = async (rows: number): Promise<string> => {
    const { id } = await organizer.event({ type: 'election' });
    await fill(id, rows, own);
    return id;
  };
  const old = await added(40_000);
  // Only its rows are known: not those of what made the events.
  await own.behindTheGuards(['DELETE FROM audit_entries WHERE voting_event_id <> $1', [old]]);
  await own.query('ANALYZE');
  const large = await added(50_000);

  /** Does something in a transaction that is undone. @returns the milliseconds of processor time that the database took */
  const undone = (work: (tx: Transaction) => Promise<unknown>): Promise<number> =>
    new Promise((resolve, reject) => {
      const undo = new Error('undo');
      inTransaction(own.deps.db, async (tx) => {
        const { rows } = await tx.execute<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`);
        resolve(await processorMs(rows[0]?.pid ?? 0, () => work(tx)));
        throw undo;
      }).catch(reject);
    });

  test('has no statistics of them in any table, and reads by an index rather than sort', async () => {
    expect(tables.length).toBeGreaterThan(30);
    expect(await own.query("SELECT tablename FROM pg_stats WHERE attname = 'voting_event_id'")).toEqual([]);
    const { rows } = await own.deps.db.$client.query('SHOW random_page_cost');
    expect(rows).toEqual([{ random_page_cost: '1.1' }]);
  });

  test('a roll is rewritten', async () => {
    const id = await added(12_000);
    const client = await own.connect();
    const { rows, ms } = await measured(client, "SELECT scatter_voters($1, '', 2000) AS last", [id]);
    client.release();
    expect(rows).toEqual([{ last: 'vtr_00002000' }]);
    expect(ms).toBeLessThan(LIMIT_MS);
  });

  test('an election closes: its turnout is summed', async () => {
    const id = await added(12_000);
    await tendLog(sealDeps(own.deps), id, 1);
    expect(await findUnaccounted(own.deps.db, id)).toBe('there are more participants than ballots');
  });

  test('a mailing goes on to its next voters', async () => {
    await own.behindTheGuards([
      `INSERT INTO notified_voters (voting_event_id, voter_id, kind, notified_at, notification_id) SELECT $1, ${VOTER}, 'key', now_ms(), 'ntf_0' FROM generate_series(1, 40000) AS n`,
      [large],
    ]);
    const made = { id: 'ntf_1', kind: 'key', audience: 'all', listedTo: '', listUntil: 'vtr_9', rehearsal: false };
    const next = (tx: Transaction) => listNextVoters(tx, { votingEventId: large, ...made } as Notification, 500);
    expect(await undone(next)).toBeLessThan(LIMIT_MS);
  });

  test('deleted voters are removed', async () => {
    await own.behindTheGuards([
      "UPDATE voters SET deleted_at = 1 WHERE voting_event_id = $1 AND id > 'vtr_00037000'",
      [large],
    ]);
    expect(await undone((tx) => removeDeletedVoters(tx, large, 1_000))).toBeLessThan(LIMIT_MS);
  });

  test('registrations expire', async () => {
    await own.behindTheGuards([
      "UPDATE voters SET confirm_by = 5, source = 'registration', status = 'pending' WHERE voting_event_id = $1 AND id < 'vtr_00010000'",
      [large],
    ]);
    const expire = async (tx: Transaction) => takeExpired(tx, own.deps.secrets, orNotFound(await lockEvent(tx, large)));
    expect(await undone(expire)).toBeLessThan(LIMIT_MS);
  });

  test('a rehearsal ends, and what was deleted is removed, by the places of the rows', async () => {
    await own.behindTheGuards([
      'UPDATE voting_events SET rehearsal_since = 1, rehearsal_number = 1, opened_at = NULL WHERE id = $1',
      [large],
    ]);
    const client = await own.connect();
    const longest = async (statement: string, values: unknown[]): Promise<number> => {
      const times = [];
      for (let done: unknown = false; done !== true; ) {
        const { rows, ms } = await measured(client, `SELECT ${statement} AS done`, values);
        ({ done } = rows[0] ?? {});
        times.push(ms);
      }
      expect(times.length).toBeGreaterThan(10);
      return Math.max(...times);
    };
    expect(await longest('end_rehearsal($1, 5000)', [large])).toBeLessThan(LIMIT_MS);
    await own.behindTheGuards(['UPDATE voting_events SET deleted_at = 1 WHERE id = $1', [large]]);
    expect(await longest('delete_event_rows($1, 1000) < 1000', [large])).toBeLessThan(LIMIT_MS);
    client.release();
  });
});

describe('no plan that is kept since the tables were small slows down a statement', async () => {
  const [client, rows] = [await service.connect(), new Map<string, string>()];
  afterAll(() => client.release(true));
  /** What it does is undone; the milliseconds of processor time that it takes. */
  const run = async (text: string, id: string | undefined): Promise<number> => {
    await client.query('BEGIN');
    try {
      return (await measured(client, text, [id])).ms;
    } finally {
      await client.query('ROLLBACK');
    }
  };
  for (const { relname } of await service.query(
    `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  ))
    await service.query(`ALTER TABLE "${relname}" SET (autovacuum_enabled = off)`);
  const small = await Promise.all(STATEMENTS.map(([, make]) => make()));
  for (const id of small) await fill(id, 2);
  await service.query('VACUUM');
  // From the sixth call on, PostgreSQL keeps the plans of a function.
  for (const [at, [, , text]] of STATEMENTS.entries())
    for (let call = 0; call < 7; call += 1) await run(text, small[at]);
  for (const [what, make] of STATEMENTS) {
    const id = await make();
    rows.set(what, id);
    // Of a rehearsal only voters who were mailed a key: the step that restores them is the first to change anything.
    if (make === rehearsed) await mark(id, 120_000);
    else await fill(id, 9_000);
  }

  test.for(STATEMENTS)('%s', async ([what, , text]) => {
    expect(await run(text, rows.get(what))).toBeLessThan(LIMIT_MS);
  });
});
