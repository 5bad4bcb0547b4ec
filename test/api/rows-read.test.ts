import { expect, test } from 'vitest';
import { listEventsToTend, readCloseDue } from '#src/ballot-log/due-repository.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import { listDueAttempts } from '#src/payments/attempt-repository.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { showsWeights } from '#src/results/repository.ts';
import { findAnyEvent } from '#src/voting-events/access.ts';
import { finishEvent } from '#test/harness/elections.ts';
import { interceptStatements } from '#test/harness/intercept-statements.ts';
import { rowsRead } from '#test/harness/rows-read.ts';
import { useAccount } from '#test/harness/test-service.ts';

// No statement that runs again and again grows with what is over, nor with the rows of others.

const { service, account } = await useAccount({ worker: false });
const { db } = service.deps;

/** The rows of a table that something reads, where the planner knows how many there are. */
const readOf = async (table: string, work: (tx: Transaction) => Promise<unknown>): Promise<number> => {
  await service.query('ANALYZE');
  return await inTransaction(db, async (tx) => {
    await work(tx);
    return await rowsRead(tx, table);
  });
};

test('the minute’s look at all logs reads no leaf of an event that ended more than a day ago, and one of each that ended since', async () => {
  const { id } = await account.event();
  await finishEvent(service, id);
  const each = (from: number, to: number, endedAt: string): [string, unknown[]][] => {
    const number = `generate_series(${from}, ${to}) AS n`;
    return [
      [
        `INSERT INTO voting_events SELECT (jsonb_populate_record(e, jsonb_build_object(
           'id', 'evt_n' || n, 'code', 'N' || n, 'code_key', 'n' || n, 'closed_at', ${endedAt}))).* FROM voting_events e, ${number} WHERE e.id = $1`,
        [id],
      ],
      [
        `INSERT INTO ballot_logs SELECT (jsonb_populate_record(l, jsonb_build_object('voting_event_id', 'evt_n' || n, 'ends_at', ${endedAt}))).*
         FROM ballot_logs l, ${number} WHERE l.voting_event_id = $1`,
        [id],
      ],
      [
        `INSERT INTO log_leaves SELECT 'evt_n' || n, x.leaf_index, x.data FROM log_leaves x, ${number} WHERE x.voting_event_id = $1`,
        [id],
      ],
    ];
  };
  await service.behindTheGuards(
    ...each(1, 2_000, `now_ms() - ${2 * DAY_MS}`),
    ...each(2_001, 2_100, `now_ms() - ${DAY_MS / 2}`),
  );
  const looks = async (tx: Transaction): Promise<void> => {
    expect(await listEventsToTend(tx, 5)).toEqual([]);
    await readCloseDue(tx);
  };
  // Each of the two reads the leaf of 100 copies and of the event itself; the log is looked at for a paper and for an end.
  expect(await readOf('log_leaves', looks)).toBeLessThanOrEqual(4 * 101);
});

test('whether votes may show their weights is read from the ends of an index, or once from the roll: not for each voter from all positions', async () => {
  const { id } = await account.event({ type: 'election' });
  await service.behindTheGuards(
    [
      `INSERT INTO positions SELECT (jsonb_populate_record(p, jsonb_build_object('id', 'pos_n' || n, 'number', 100 + n))).*
       FROM positions p, generate_series(1, 90) AS n WHERE p.voting_event_id = $1`,
      [id],
    ],
    [
      `INSERT INTO voters (voting_event_id, id, name, weight_micro, status, key_status, source, tag, created_at, updated_at)
       SELECT $1, 'vtr_' || n, 'Voter', 1000000, 'approved', 'sent', 'organizer', '', 1, 1 FROM generate_series(1, 5000) AS n`,
      [id],
    ],
  );
  const definition = orNotFound(await service.deps.definitions.get(await findAnyEvent(db, id)));
  const shown = async (tx: Transaction): Promise<void> => expect(await showsWeights(tx, definition)).toBe(true);
  expect(await readOf('voters', shown)).toBeLessThan(10);
  await service.behindTheGuards([
    "UPDATE voters SET weight_micro = 2000000 WHERE voting_event_id = $1 AND id > 'vtr_3'",
    [id],
  ]);
  expect(await readOf('positions', shown)).toBeLessThan(1_000);
});

test('payments that are due are taken by the hundred, however many of an account are due', async () => {
  const attempts = (owner: string, rows: number): [string, unknown[]] => [
    `INSERT INTO payment_attempts (voting_event_id, id, account_id, payment_business_id, purpose, status, provider, amount_minor, currency,
       request, terms, expires_at, provider_payment_id, check_at, created_at, updated_at)
     SELECT $1, $1 || lpad(n::text, 8, '0'), $1, 'biz', 'vote', 'pending', 'provider_a', 5, 'usd', '{}', '{}', 1, $1 || n, n, 1, 1
     FROM generate_series(1, $2::integer) AS n`,
    [owner, rows],
  ];
  await service.behindTheGuards(attempts('a', 3_000), attempts('b', 2), attempts('c', 1));
  let taken: string[] = [];
  const take = async (tx: Transaction): Promise<void> => {
    taken = (await listDueAttempts(tx)).map(({ id }) => id);
  };
  expect(await readOf('payment_attempts', take)).toBeLessThan(400);
  expect(taken).toHaveLength(100);
  expect(taken.slice(0, 3).toSorted()).toEqual(['a00000001', 'b00000001', 'c00000001']);
  expect(taken.slice(3, 5).toSorted()).toEqual(['a00000002', 'b00000002']);
});

test('the keys of an election that is over are forgotten a thousand at a time', async () => {
  const event = await account.event({ type: 'election' });
  await service.behindTheGuards([
    "INSERT INTO voter_keys (voting_event_id, voter_id, key_hash) SELECT $1, 'vtr_n' || n, sha256(n::text::bytea) FROM generate_series(1, 2500) AS n",
    [event.id],
  ]);
  let chunks = 0;
  const restore = interceptStatements((text, send) => {
    if (text.includes('DELETE FROM "voter_keys"')) chunks += 1;
    return send();
  });
  try {
    await finishEvent(service, event.id);
  } finally {
    restore();
  }
  expect(chunks).toBe(3);
  expect(await service.query('SELECT FROM voter_keys WHERE voting_event_id = $1', [event.id])).toEqual([]);
});
