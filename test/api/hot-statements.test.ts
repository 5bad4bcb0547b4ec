import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import pg, { type Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findUnaccounted } from '#src/ballot-log/check-repository.ts';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import { type CastRequest, castBallots, confirmBallots } from '#src/ballots/repository.ts';
import { readCountInputs } from '#src/results/read-count-inputs.ts';
import { checkCast, hasVoted } from '#src/voters/eligibility.ts';
import { listVoters } from '#src/voters/repository.ts';
import { findTaken } from '#src/voters/take-rows.ts';
import { findAccess } from '#src/voting-events/access.ts';
import { visitor, votesFor } from '#test/harness/elections.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { FullElection, keepUntended, ReadingMeter, type Work } from '#test/harness/full-election.ts';
import { interceptStatements } from '#test/harness/intercept-statements.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { startTestService, type TestService, useAccount } from '#test/harness/test-service.ts';

/** What keeps the service fast, held by counting: trips, rows and bytes are the same on every machine. */

/** A plan is kept after the fifth run of a statement at the latest. */
const RUNS = 7;

const { service, account } = await useAccount({ worker: false });
const full = await FullElection.open(service, account, 100_000);
beforeAll(async () => {
  await full.fill();
  await runStatements(service.databaseUrl, ['ANALYZE']);
});

/** Statements of organizers, who come once in a while: they are planned each time that they are sent. */
function listStatements(of: () => FullElection): [string, number, Work][] {
  const all = {
    ...{ search: undefined, status: undefined, groupId: undefined },
    ...{ voted: undefined, keyStatus: undefined, after: undefined },
  };
  return [
    ['by the first page of voters', 500, (_on, db) => listVoters(db, of().event.id, all, 200)],
    [
      'by the last page of voters',
      500,
      (_on, db) => listVoters(db, of().event.id, { ...all, after: of().voterId(of().voters - 201) }, 200),
    ],
  ];
}

/** Every statement that voters' requests send about an election, and the most rows of the big tables that it is meant to read. */
function hotStatements(of: () => FullElection): [string, number, Work][] {
  const each = <T>(from: number, make: (n: number) => T): T[] =>
    Array.from({ length: 32 }, (_, index) => make(from + index));
  const share = (part: number) => Math.floor(of().voters * part);
  return [
    ['by a cast', 12, (on) => castBallots(on, [of().castRequest(share(0.3))])],
    ['by a cast that replaces one', 12, (on) => castBallots(on, [of().castRequest(5)])],
    [
      'by 32 casts together',
      32 * 12,
      (on) =>
        castBallots(
          on,
          each(share(0.2) - 10, (n) => of().castRequest(n)),
        ),
    ],
    ['by a confirm', 12, (on) => confirmBallots(on, [of().confirmRow(7)])],
    [
      'by 32 confirms together',
      32 * 12,
      (on) =>
        confirmBallots(
          on,
          each(1, (n) => of().confirmRow(n)),
        ),
    ],
    ['by a confirm that is repeated', 12, (on) => confirmBallots(on, [of().confirmRow(share(0.7))])],
    [
      'by a step of the disclosure that shows 32 voters',
      32 * 2,
      async (on, db) => {
        const ids = each(share(0.95), (n) => of().voterId(n));
        await on.query('INSERT INTO undisclosed_voters SELECT $1, unnest($2::text[])', [of().event.id, ids]);
        await db.execute(sql`SELECT * FROM disclose_voters(${of().event.id}, 100000, 0, NULL, true, false)`);
      },
    ],
    [
      'by a look at whether somebody voted',
      4,
      (_on, db) => hasVoted(db, of().event.id, [of().voterId(share(0.7))], false),
    ],
    [
      'by a look at whether a voter may cast',
      8,
      (on) => {
        const { service, event, voterKey } = of();
        const identity = { kind: 'email', key: `v${share(0.7)}@example.org` } as const;
        return checkCast(on, service.deps.secrets, { id: event.id, rehearsalSince: null }, { identity, voterKey });
      },
    ],
    [
      'by the look-up that every request begins with',
      0,
      (_on, db) => findAccess({ ...service.deps, db }, of().account.id, of().event.id),
    ],
    [
      'by a batch that meets voters who are there',
      8,
      (_on, db) => findTaken(db, of().event.id, ['v9@example.org'], ['ID8']),
    ],
    ['by results that are warm', 10, (on) => readCountInputs(on, of().event.id, BigInt(share(0.99)), false)],
  ];
}

describe('at 100,000 voters, no table is gone through, and the rows that are read are as many as are meant', () => {
  test.each([...hotStatements(() => full), ...listStatements(() => full)])(
    '%s, however often it ran',
    async (_what, most, work) => {
      const meter = await ReadingMeter.connect(service);
      for (let run = 0; run < RUNS; run += 1) {
        const { scanned, found } = await meter.measure(work);
        expect(scanned).toBe(0);
        expect(found).toBeLessThanOrEqual(most);
      }
      await meter.end();
    },
  );
});

describe('the same, where statements were planned while the tables were empty', () => {
  let fresh: TestService;
  let early: FullElection;
  const meters = new Map<string, ReadingMeter>();
  const statements = hotStatements(() => early);

  beforeAll(async () => {
    fresh = await startTestService({ worker: false });
    await keepUntended(fresh);
    early = await FullElection.open(fresh, await fresh.account(), 10_000);
    for (const [name, , work] of statements) {
      const meter = await ReadingMeter.connect(fresh);
      for (let run = 0; run < RUNS; run += 1) await meter.measure(work);
      meters.set(name, meter);
    }
    await early.fill();
  });
  afterAll(async () => {
    for (const meter of meters.values()) await meter.end();
    await fresh.stop();
  });

  test.each(statements)('%s', async (name, most, work) => {
    const { scanned, found } = (await meters.get(name)?.measure(work)) ?? { scanned: -1, found: -1 };
    expect(scanned).toBe(0);
    expect(found).toBeLessThanOrEqual(most);
  });
});

describe('a cast writes little to the log of the database', () => {
  // A database of its own: what is undone and tidied up in another one is written into the log as well.
  let fresh: TestService;
  let untouched: FullElection;
  let nextVoter: number;

  beforeAll(async () => {
    fresh = await startTestService({ worker: false });
    await keepUntended(fresh);
    untouched = await FullElection.open(fresh, await fresh.account(), 5_000);
    await untouched.fill();
    // Nobody from here on has cast or voted.
    nextVoter = untouched.voters * 0.2;
  });
  afterAll(() => fresh.stop());

  /** Bytes of write-ahead log that a statement makes; the record of the commit comes on top. */
  async function countLogBytes(requests: readonly CastRequest[]): Promise<number> {
    let bytes = Number.NaN;
    const explaining = {
      async query({ text, values }: { text: string; values: unknown[] }) {
        const rows = await fresh.query(`EXPLAIN (ANALYZE, WAL, FORMAT JSON) ${text}`, values);
        bytes = Number(rows[0]?.['QUERY PLAN']?.[0]?.Plan?.['WAL Bytes']);
        return { rows: requests.map(() => ({ verdict: 'cast', short_position: null })) };
      },
    } as unknown as Pool;
    await castBallots(explaining, requests);
    return bytes;
  }

  const approvals = (count: number) =>
    packEntries([{ position: 1, entries: Array.from({ length: count }, (_, candidate) => ({ candidate, value: 1 })) }]);

  /** The bytes for each of so many ballots in one statement: the middle of nine, since one that splits a page of an index writes that page too. */
  async function usualLogBytes(ballots: number, requestOf: (voter: number) => CastRequest): Promise<number> {
    const seen: number[] = [];
    for (let run = 0; run < 9; run += 1) {
      const voters = Array.from({ length: ballots }, (_, index) => nextVoter + index + 1);
      nextVoter += ballots;
      seen.push((await countLogBytes(voters.map(requestOf))) / ballots);
    }
    return seen.sort((one, other) => one - other)[4] ?? Number.NaN;
  }

  const unclaimed = (request: CastRequest): CastRequest => ({ ...request, claim: undefined });

  test.each([
    ['', 12, 1_000, unclaimed],
    ['', 200, 3_000, unclaimed],
    [' and an Idempotency-Key', 12, 1_500, (request: CastRequest) => request],
    [' and an Idempotency-Key', 200, 3_000, (request: CastRequest) => request],
  ])('of a ballot%s, %i entries: at most %i bytes, alone and among others', async (_key, count, most, made) => {
    const requestOf = (voter: number) => made(untouched.castRequest(voter, approvals(count)));
    const alone = await usualLogBytes(1, requestOf);
    expect(alone).toBeGreaterThan(100);
    expect(alone).toBeLessThanOrEqual(most);
    expect(await usualLogBytes(32, requestOf)).toBeLessThanOrEqual(most);
  });
});

describe('confirms that come together', () => {
  /** In a transaction that is undone. */
  const undone = (work: (client: pg.Client) => Promise<void>): Promise<void> =>
    withClient(service.databaseUrl, async (client) => {
      await client.query('BEGIN');
      await work(client);
    });

  test('queue their ballots under one transaction ID, and note who voted under another one', async () => {
    await undone(async (client) => {
      const rows = Array.from({ length: 32 }, (_, index) => full.confirmRow(100 + index));
      const verdicts = await confirmBallots(client as unknown as Pool, rows);
      expect(new Set(verdicts.map(({ verdict }) => verdict))).toEqual(new Set(['confirmed']));
      const idsOf = async (statement: string, values: readonly string[]): Promise<string[]> =>
        (await client.query<{ xmin: string }>(statement, [full.event.id, values])).rows.map(({ xmin }) => xmin);
      const queued = await idsOf(
        'SELECT DISTINCT xmin::text FROM ballot_queue WHERE voting_event_id = $1 AND id = ANY ($2)',
        rows.map(({ ballotId }) => ballotId),
      );
      const voters = rows.map((_, index) => full.voterId(100 + index));
      const voted = await idsOf(
        `SELECT DISTINCT xmin::text FROM (SELECT xmin, participant FROM participation WHERE voting_event_id = $1
         UNION ALL SELECT xmin, voter_id FROM undisclosed_voters WHERE voting_event_id = $1) AS x WHERE participant = ANY ($2)`,
        voters,
      );
      expect([queued.length, voted.length]).toEqual([1, 1]);
      expect(queued).not.toEqual(voted);
    });
  });

  test('have a verdict each, which is the one that they would have alone', async () => {
    await undone(async (client) => {
      const on = client as unknown as Pool;
      const { voters } = full;
      await client.query(
        `UPDATE voters SET status = CASE id WHEN $2 THEN 'rejected' WHEN $3 THEN 'pending' ELSE status END,
           deleted_at = CASE id WHEN $4 THEN 1 END WHERE voting_event_id = $1 AND id IN ($2, $3, $4)`,
        [full.event.id, full.voterId(202), full.voterId(203), full.voterId(204)],
      );
      await client.query('UPDATE pending_ballots SET cast_at = 0 WHERE voting_event_id = $1 AND participant = $2', [
        ...[full.event.id, full.voterId(205)],
      ]);
      const rows = [
        full.confirmRow(201),
        ...[202, 203, 204, 205].map((ballot) => full.confirmRow(ballot)),
        { ...full.confirmRow(206), ends: '9000 0' },
        { ...full.confirmRow(207), ends: 'rehearsal 3' },
        full.confirmRow(voters * 0.7),
        full.confirmRow(voters),
        full.confirmRow(9_999_999),
        full.confirmRow(209),
      ];
      await client.query('SAVEPOINT untouched');
      const together = await confirmBallots(on, rows);
      await client.query('ROLLBACK TO untouched');
      const alone: typeof together = [];
      for (const row of rows) alone.push(...(await confirmBallots(on, [row])));
      expect(together).toEqual(alone);
      expect(together.map(({ verdict }) => verdict)).toEqual([
        ...['confirmed', 'voter_rejected', 'voter_pending', 'voter_key_invalid', 'unknown', 'end_moved', 'end_moved'],
        ...['confirmed_before', 'confirmed_before', 'unknown', 'confirmed'],
      ]);
      const gone = await confirmBallots(on, [{ ...full.confirmRow(208), eventId: 'evt_none' }]);
      expect(gone.map(({ verdict }) => verdict)).toEqual(['event_gone']);
    });
  });
});

test('32 casts with an Idempotency-Key send at most 22 KiB to the database', async () => {
  let sent = 0;
  const weighing = {
    async query({ values }: { values: unknown[] }) {
      for (const value of values) sent += Buffer.isBuffer(value) ? value.length : Buffer.byteLength(String(value));
      return { rows: [] };
    },
  } as unknown as Pool;
  // As long as twelve entries are.
  const packed = Buffer.alloc(50);
  await castBallots(
    weighing,
    Array.from({ length: 32 }, (_, voter) => full.castRequest(voter + 1, packed)),
  );
  expect(sent).toBeGreaterThan(32 * 128);
  expect(sent).toBeLessThanOrEqual(22 * 1_024);
});

describe('trips to the database', () => {
  /** The statements that this service sends while something is done, but for what it does in the background. */
  async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
    const seen: string[] = [];
    const restore = interceptStatements((text, send) => {
      if (!/rate_limits|LISTEN/i.test(text)) seen.push(text);
      return send();
    });
    try {
      await work();
    } finally {
      restore();
    }
    return seen;
  }

  async function preparePoll() {
    const poll = await account.event();
    const cast = () => {
      const body = { visitorId: visitor(), votes: votesFor(poll) };
      return account.page(poll, 'ballot/cast', body, { 'Idempotency-Key': visitor() });
    };
    const confirm = (confirmationCode: unknown) => account.page(poll, 'ballot/confirm', { confirmationCode });
    expect((await cast()).status).toBe(201);
    return { cast, confirm, id: poll.id };
  }

  test('a warm cast with an Idempotency-Key is one, and so is a confirm', async () => {
    const { cast, confirm } = await preparePoll();
    let fewest = Number.POSITIVE_INFINITY;
    // On a busy machine the event, which is kept for a second, may have to be read again: one of several pairs is not.
    for (let attempt = 0; attempt < 5 && fewest > 2; attempt += 1) {
      let code: unknown;
      const casting = await statementsOf(async () => {
        code = (await cast()).body.data.confirmationCode;
      });
      const confirming = await statementsOf(() => confirm(code));
      fewest = Math.min(fewest, casting.length + confirming.length);
    }
    expect(fewest).toBe(2);
  });

  test('casts that arrive together are fewer than they are', async () => {
    const { cast, id } = await preparePoll();
    const holder = new pg.Client({ connectionString: service.databaseUrl });
    await holder.connect();
    const statements = await statementsOf(async () => {
      // Held up, the first one lets the others arrive.
      await holder.query('BEGIN');
      await holder.query('SELECT 1 FROM voting_events WHERE id = $1 FOR UPDATE', [id]);
      const casting = Promise.all(Array.from({ length: 64 }, cast));
      await pause(500);
      await holder.query('COMMIT');
      expect((await casting).every(({ status }) => status === 201)).toBe(true);
    });
    await holder.end();
    expect(statements.length).toBeGreaterThan(0);
    expect(statements.length).toBeLessThan(64);
  });
});

test('ballots are held against their voters in steps of ten thousand rows, however many there are', async () => {
  const heads: Record<string, number[]> = { participation: [], ballot_blocks: [], ballot_queue: [] };
  const restore = interceptStatements((text, send) => {
    const answer = send();
    const [table = ''] = /participation|ballot_blocks|ballot_queue/.exec(text) ?? [];
    if (answer instanceof Promise && table !== '')
      void answer.then(({ rows }) => heads[table]?.push(Number(rows[0]?.heads ?? Number.NaN)));
    return answer;
  });
  onTestFinished(restore);
  await service.query(
    `INSERT INTO ballot_logs (voting_event_id, size, ballots, confirmed, note, frontier, config_hash, config_seq, paper_version, roll_seq, lot_seed)
     VALUES ($1, 0, 0, 0, '', '', '', 0, 0, 0, '') ON CONFLICT DO NOTHING`,
    [full.event.id],
  );
  const found = await findUnaccounted(service.deps.db, full.event.id);
  restore();
  // Its box was filled beside its log.
  expect(found).toBe('a ballot stands behind the end of the log');
  const sum = (all: readonly number[] = []): number => all.reduce((one, other) => one + other, 0);
  expect(sum(heads['participation'])).toBe(full.voters * 0.4);
  expect(sum(heads['ballot_blocks']) + sum(heads['ballot_queue'])).toBe(full.voters * 0.4);
  expect(Math.max(...(heads['participation'] ?? []))).toBeLessThanOrEqual(10_000);
});
