import type { Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import { BallotWriter, type CastRequest } from '#src/ballots/repository.ts';
import { codeTagOf, generateConfirmationCode } from '#src/ballots/waiting-ballot.ts';
import { Batcher } from '#src/database/batcher.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { useService } from '#test/harness/test-service.ts';

const service = await useService();
const account = await service.account();
const pool = service.deps.db.$client;
await pool.query('CREATE TABLE gathered (id text PRIMARY KEY, value integer CHECK (value > 0))');

interface Row {
  readonly id: string;
  readonly value: number;
}

/** Inserts through a batcher, and counts the statements. */
function gatherInserts(beforeAnswer: (rows: readonly Row[]) => Promise<void> = async () => undefined) {
  const statements: string[][] = [];
  const insert = async (rows: readonly Row[]): Promise<string[]> => {
    statements.push(rows.map(({ id }) => id));
    await pool.query(
      'INSERT INTO gathered SELECT * FROM unnest($1::text[], $2::integer[]) ON CONFLICT (id) DO NOTHING',
      [rows.map(({ id }) => id), rows.map(({ value }) => value)],
    );
    await beforeAnswer(rows);
    return rows.map(({ id }) => `stored ${id}`);
  };
  const batcher = new Batcher<Row, string>({
    runTogether: insert,
    runAlone: async (row) => (await insert([row]))[0] ?? '',
    keyOf: ({ id }) => id,
    maxRows: 64,
    maxWaiting: 100,
    refusal: () => new Error('too many'),
  });
  return { batcher, statements };
}

const rowsOf = (prefix: string, count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: `${prefix}${String(index).padStart(3, '0')}`, value: 1 }));

describe('gathered rows', () => {
  test('share a statement when they arrive while one is under way, and a row alone waits for nobody', async () => {
    const { batcher, statements } = gatherInserts();
    await batcher.submit({ id: 'alone', value: 1 });
    expect(statements).toEqual([['alone']]);
    const rows = rowsOf('share', 50);
    expect(await Promise.all(rows.map((row) => batcher.submit(row)))).toEqual(rows.map(({ id }) => `stored ${id}`));
    expect(statements.flat()).toHaveLength(51);
    expect(statements.length).toBeLessThanOrEqual(3);
  });

  test('fail one by one: a row that breaks a constraint spoils nothing for the others', async () => {
    const { batcher } = gatherInserts();
    const rows = rowsOf('broken', 40).map((row, index) => ({ ...row, value: index === 20 ? -1 : 1 }));
    const outcomes = await Promise.allSettled(rows.map((row) => batcher.submit(row)));
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    expect(outcomes[20]?.status).toBe('rejected');
    const { rows: stored } = await pool.query("SELECT count(*)::int AS count FROM gathered WHERE id LIKE 'broken%'");
    expect(stored[0].count).toBe(39);
  });

  test('are run again one by one when their connection dies, and when an answer is lost after the commit', async () => {
    let killed = false;
    const dying = gatherInserts(async (rows) => {
      if (killed || rows.length === 1) return;
      killed = true;
      throw new Error('Connection terminated unexpectedly');
    });
    const rows = rowsOf('lost', 30);
    const answers = await Promise.all(rows.map((row) => dying.batcher.submit(row)));
    expect(answers).toEqual(rows.map(({ id }) => `stored ${id}`));
    const { rows: stored } = await pool.query("SELECT count(*)::int AS count FROM gathered WHERE id LIKE 'lost%'");
    expect([killed, stored[0].count]).toEqual([true, 30]);
  });

  test('of one key never stand in one statement', async () => {
    const { batcher, statements } = gatherInserts();
    const rows = [...rowsOf('same', 3), ...rowsOf('same', 3), ...rowsOf('same', 3)];
    await Promise.all(rows.map((row) => batcher.submit(row)));
    for (const ids of statements) expect(new Set(ids).size).toBe(ids.length);
    expect(statements.flat()).toHaveLength(9);
  });

  test('are refused at once when too many wait, and all others have their answer when it is drained', async () => {
    const { batcher } = gatherInserts();
    const outcomes = rowsOf('many', 140).map((row) => batcher.submit(row));
    const settled = Promise.allSettled(outcomes);
    await batcher.drain();
    const refused = (await settled).filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(30);
    expect(refused.length).toBeLessThan(45);
  });
});

/** A ballot of a new visitor for an event, ready to be written. */
async function requestFor(event: TestEvent, key: string | undefined): Promise<CastRequest> {
  const row = await findEventById(service.deps.db, event.id);
  if (row === undefined) throw new Error('the event is there');
  const visitorId = visitor();
  return {
    row: {
      eventId: event.id,
      definitionVersion: row.definitionVersion,
      voter: undefined,
      expectedGroup: undefined,
      participants: [`v:${visitorId}`],
      codeTag: codeTagOf(generateConfirmationCode()),
      entries: packEntries([{ position: 1, entries: [{ candidate: 1, value: 1 }] }]),
      sealedWeight: undefined,
      visitorId,
      voterId: null,
      email: null,
      name: null,
      countryCode: null,
      credits: undefined,
    },
    claim:
      key === undefined
        ? undefined
        : {
            apiKeyId: account.id,
            key,
            fingerprint: Buffer.from('print'),
            token: Buffer.from(`token ${key}`),
            sealedAnswer: `answer ${key}`,
            secretEventId: null,
          },
  };
}

/** Where an array in PostgreSQL's binary form says how many elements it has. */
const ROWS_AT = 12;

describe('gathered ballots', () => {
  test('whose answer was lost after the commit are cast once, under one idempotency key', async () => {
    const event = await account.event({}, [{ votingMethod: 'plurality', candidates: ['Ada'] }]);
    let lost = 0;
    const losing = {
      query: async (statement: { values: [Buffer] }) => {
        const answer = await pool.query(statement as never);
        if (statement.values[0].readInt32BE(ROWS_AT) > 1 && lost === 0) {
          lost += 1;
          throw new Error('Connection terminated unexpectedly');
        }
        return answer;
      },
    } as unknown as Pool;
    const writer = new BallotWriter(losing);
    const requests = await Promise.all(Array.from({ length: 24 }, (_, index) => requestFor(event, `lost-${index}`)));
    const verdicts = await Promise.all(requests.map((request) => writer.cast(request)));
    expect([lost, new Set(verdicts.map(({ verdict }) => verdict))]).toEqual([1, new Set(['cast'])]);
    const { rows } = await pool.query(
      `SELECT (SELECT count(*)::int FROM pending_ballots WHERE voting_event_id = $1) AS ballots,
        (SELECT count(*)::int FROM idempotency_keys WHERE api_key_id = $2 AND status = 201) AS answers`,
      [event.id, account.id],
    );
    expect(rows[0]).toEqual({ ballots: 24, answers: 24 });
  });

  test('under one idempotency key are one ballot and one answer, however many arrive at once', async () => {
    const event = await account.event({}, [{ votingMethod: 'plurality', candidates: ['Ada'] }]);
    const other = await service.another();
    const body = { visitorId: visitor(), votes: votesFor(event) };
    const options = { key: account.vote, headers: { 'Idempotency-Key': 'one-of-many' } };
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, index) =>
        (index % 2 === 0 ? service : other).call(
          'POST',
          `/public/voting-events/${event.id}/ballot/cast`,
          body,
          options,
        ),
      ),
    );
    await other.stop();
    const cast = answers.filter(({ status }) => status === 201);
    expect(cast.length).toBeGreaterThan(0);
    expect(new Set(cast.map((answer) => JSON.stringify(answer.body))).size).toBe(1);
    expect(cast.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
    const again = { ...body, visitorId: visitor() };
    const clash = await service.call('POST', `/public/voting-events/${event.id}/ballot/cast`, again, options);
    expect([clash.status, clash.body.error.code]).toEqual([422, 'idempotency_mismatch']);
  });
});
