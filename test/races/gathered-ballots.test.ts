import { sql } from 'drizzle-orm';
import pg, { type Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import { BallotWriter, type CastRequest, castBallots } from '#src/ballots/repository.ts';
import { codeTagOf, generateConfirmationCode } from '#src/ballots/waiting-ballot.ts';
import { Batcher } from '#src/database/batcher.ts';
import { inTransaction } from '#src/database/client.ts';
import { paperOf } from '#src/voting-events/lifecycle.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { untilTrue, useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount();
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
    ...{ laneOf: () => '', places: 1, concernsAll: () => false },
    keyOf: ({ id }) => id,
    maxRows: 64,
    maxWaiting: 100,
    refusal: () => new Error('too many'),
  });
  return { batcher, statements };
}

const rowsOf = (prefix: string, count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: `${prefix}${String(index).padStart(3, '0')}`, value: 1 }));

const countStored = async (prefix: string): Promise<number> =>
  (await service.query('SELECT 1 FROM gathered WHERE starts_with(id, $1)', [prefix])).length;

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
    expect(await countStored('broken')).toBe(39);
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
    expect([killed, await countStored('lost')]).toEqual([true, 30]);
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

/** What is the same in every ballot of these tests. */
const someBallot = (eventId: string, paper: string) => ({
  ...{ eventId, paper, codeTag: codeTagOf(generateConfirmationCode()), sealedWeight: undefined },
  entries: packEntries([{ position: 1, entries: [{ candidate: 1, value: 1 }] }]),
  ...{ visitorId: null, voterId: null, email: null, name: null, countryCode: null, credits: undefined },
});

/** A ballot of a new visitor for an event, ready to be written. @param sender distinguishes requests under one key */
async function requestFor(event: TestEvent, key: string, sender = ''): Promise<CastRequest> {
  const row = await findEventById(service.deps.db, event.id);
  if (row === undefined) throw new Error('the event is there');
  const visitorId = visitor();
  const voter = { voter: undefined, expectedGroup: undefined, participants: [`v:${visitorId}`] };
  return {
    row: { ...someBallot(event.id, paperOf(row)), ...voter, visitorId },
    claim: {
      ...{ apiKeyId: account.id, key, fingerprint: Buffer.from(`print ${key}`) },
      ...{ token: Buffer.from(`token ${key} ${sender}`), secretEventId: null, sealedAnswer: `answer ${key}` },
    },
  };
}

/** Where an array in PostgreSQL's binary form says how many elements it has. */
const ROWS_AT = 12;

describe('gathered ballots', () => {
  test('whose answer was lost after the commit are cast once, under one idempotency key', async () => {
    const event = await account.event();
    let lost = 0;
    const losing = {
      query: async (statement: { values: [string, Buffer] }) => {
        const answer = await pool.query(statement as never);
        if (statement.values[1].readInt32BE(ROWS_AT) > 1 && lost === 0) {
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

  test('of an event whose row is locked hold up those of no other event', async () => {
    const locked = await account.event();
    const others: TestEvent[] = [];
    while (others.length < 16) others.push(await account.event());
    // Nothing ends the wait for the lock.
    const patient = new pg.Pool({ connectionString: service.databaseUrl, max: 12 });
    const writer = new BallotWriter(patient);
    const holder = new pg.Client({ connectionString: service.databaseUrl });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM voting_events WHERE id = $1 FOR UPDATE', [locked.id]);
    const castsOf = async (event: TestEvent) =>
      Promise.all(Array.from({ length: 4 }, (_, index) => requestFor(event, `lane-${event.id}-${index}`)));
    const waiting = Promise.all((await castsOf(locked)).map((request) => writer.cast(request)));
    const requests = (await Promise.all(others.map(castsOf))).flat();
    const verdicts: string[] = [];
    for (const request of requests) writer.cast(request).then(({ verdict }) => verdicts.push(verdict));
    await untilTrue(() => verdicts.length === requests.length, 20_000).finally(() => holder.query('COMMIT'));
    verdicts.push(...(await waiting).map(({ verdict }) => verdict));
    expect(verdicts).toEqual(Array.from({ length: 17 * 4 }, () => 'cast'));
    await Promise.all([holder.end(), patient.end()]);
  });

  test('fail by themselves where a lock concerns one visitor', async () => {
    const event = await account.event({}, [{ votingMethod: 'quadratic', candidates: ['Ada', 'Ben'] }]);
    const credits = [{ position: event.positions[0]?.id ?? '', credits: 1, base: 100 }];
    const requests = await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const { row, claim } = await requestFor(event, `credits-${index}`);
        return { row: { ...row, credits }, claim };
      }),
    );
    const writer = new BallotWriter(pool);
    const holder = await service.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT lock_credits($1, $2)', [event.id, requests[3]?.row.visitorId]);
    const outcomes = await Promise.allSettled(requests.map((request) => writer.cast(request)));
    await holder.query('ROLLBACK');
    expect(outcomes.map(({ status }) => status)).toEqual(
      requests.map((_, index) => (index === 3 ? 'rejected' : 'fulfilled')),
    );
  });

  test.each(['English', 'German'])(
    'whose event stays locked are given up together, on a %s server',
    async (language) => {
      const event = await account.event();
      const statements: unknown[] = [];
      const counting = {
        query: (statement: { values: unknown[] }) => {
          statements.push(statement);
          return (pool.query(statement as never) as unknown as Promise<unknown>).catch((fault: { where?: string }) => {
            if (language === 'English') throw fault;
            const [place = '', ...lines] = (fault.where ?? '').split('\n');
            expect(place).toContain('while locking tuple');
            const where = place.replace(
              /while locking tuple (.*) in relation "(.*)"/,
              'beim Sperren von Tupel $1 in Relation »$2«',
            );
            throw Object.assign(fault, { where: [where, ...lines].join('\n') });
          });
        },
      } as unknown as Pool;
      const requests = await Promise.all(Array.from({ length: 24 }, (_, index) => requestFor(event, `stays-${index}`)));
      const writer = new BallotWriter(counting);
      await inTransaction(service.deps.db, async (tx) => {
        await tx.execute(sql`SELECT 1 FROM voting_events WHERE id = ${event.id} FOR UPDATE`);
        const outcomes = await Promise.allSettled(requests.map((request) => writer.cast(request)));
        expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']));
      });
      expect(statements.length).toBeLessThanOrEqual(2);
      const verdicts = await Promise.all(requests.map((request) => writer.cast(request)));
      expect(verdicts.map(({ verdict }) => verdict)).toEqual(requests.map(() => 'cast'));
    },
  );

  test('under one idempotency key are one ballot and one answer, however many arrive at once', async () => {
    const event = await account.event();
    const other = await service.another();
    const path = `/public/voting-events/${event.id}/ballot/cast`;
    const body = { visitorId: visitor(), votes: votesFor(event) };
    const options = { key: account.vote, headers: { 'Idempotency-Key': 'one-of-many' } };
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, index) => (index % 2 === 0 ? service : other).call('POST', path, body, options)),
    );
    const later = await other.call('POST', path, body, options);
    await other.stop();
    const cast = answers.filter(({ status }) => status === 201);
    expect(cast.length).toBeGreaterThan(0);
    expect(new Set([...cast, later].map((answer) => JSON.stringify(answer.body))).size).toBe(1);
    expect(cast.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
    const again = { ...body, visitorId: visitor() };
    const clash = await service.call('POST', path, again, options);
    expect([clash.status, clash.body.error.code]).toEqual([422, 'idempotency_mismatch']);
  });
});

test('of ballots that are cast together under one idempotency key, one is stored and the others hear what it was told', async () => {
  const event = await account.event();
  const requests = await Promise.all(['one', 'two', 'three'].map((name) => requestFor(event, 'one-for-three', name)));
  const verdicts = await castBallots(pool, requests);
  expect(verdicts.map(({ verdict }) => verdict).sort()).toEqual(['cast', 'claimed_before', 'claimed_before']);
  const { rows } = await pool.query('SELECT 1 FROM pending_ballots WHERE voting_event_id = $1', [event.id]);
  expect(rows).toHaveLength(1);
});
