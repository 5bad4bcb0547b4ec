import type { PoolClient } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { PLURALITY, type TestEvent } from '#test/harness/elections.ts';
import { patiently, type TestAnswer, type TestService, useService } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';

const service = await useService();
const other = await use(service.another());

const RACERS = 32;

const either = (index: number): TestService => (index % 2 === 0 ? service : other);

/** Posts 32 bodies at once over two processes, and those again that are refused for want of time alone. */
function race(
  target: string,
  bodyOf: (index: number) => unknown,
  keyOf: (index: number) => string | undefined,
): Promise<TestAnswer[]> {
  const post = (index: number) => either(index).call('POST', target, bodyOf(index), { key: keyOf(index) ?? '' });
  return Promise.all(Array.from({ length: RACERS }, (_, index) => patiently(() => post(index))));
}

const countVoters = (event: TestEvent): Promise<number> => countOf('voters', event);
const countOf = (kind: string, { id }: TestEvent): Promise<number> =>
  count(`SELECT count(*)::int AS found FROM ${kind} WHERE voting_event_id = $1`, id);

async function count(sql: string, ...values: unknown[]): Promise<number> {
  const rows = await service.query<{ found: number }>(sql, values);
  return rows[0]?.found ?? -1;
}

/** Puts voters on the roll as the service would, without asking it tens of thousands of times. */
async function fillVoters(event: TestEvent, voters: number, source = 'organizer'): Promise<void> {
  for (let from = 1; from <= voters; from += 2_000) {
    await service.query(
      `INSERT INTO voters (voting_event_id, id, name, voter_id, voter_id_key, weight_micro, status, source, key_status, created_at, updated_at)
     SELECT $1, 'vtr_' || n, 'V', 'f' || n, 'f' || n, 1000000, 'approved', $4, 'none', 0, 0 FROM generate_series($2::int, $3::int) AS n`,
      [event.id, from, Math.min(from + 1_999, voters), source],
    );
  }
}

/** Copies a row of the event until there are as many as wanted. */
async function fillBallotDefinition(event: TestEvent, kind: string, wanted: number): Promise<void> {
  await service.query(
    `INSERT INTO ${kind} SELECT (jsonb_populate_record(one, jsonb_build_object(
       'id', 'fill_' || n, 'number', 10000 + n, 'name_key', 'fill ' || n))).*
     FROM ${kind} AS one,
       generate_series(1, $2::int - (SELECT count(*)::int FROM ${kind} WHERE voting_event_id = $1)) AS n
     WHERE one.voting_event_id = $1 AND one.id = (SELECT min(id) FROM ${kind} WHERE voting_event_id = $1)`,
    [event.id, wanted],
  );
}

function expectOutcome(answers: readonly TestAnswer[], made: number, status: number, limit: string, max: number): void {
  expect(answers.filter((answer) => answer.status === status)).toHaveLength(made);
  const refused = answers.filter((answer) => answer.status !== status);
  const told = refused.map((answer) => [answer.status, answer.body.error.code, answer.body.error.details]);
  expect(told).toEqual(refused.map(() => [422, 'plan_limit', { limit, max }]));
}

describe('with 32 requests at once over two processes', () => {
  test('an account never has more voting events than its plan allows, and a deleted one makes room for one', async () => {
    const account = await service.account('free');
    const create = (index: number) =>
      either(index).call('POST', '/voting-events', { title: `Event ${index}`, type: 'poll' }, { key: account.write });
    // Within the burst of the plan's request limit.
    const answers = await Promise.all(Array.from({ length: 16 }, (_, index) => create(index)));
    expectOutcome(answers, 3, 201, 'voting_events', 3);
    const owned = 'SELECT count(*)::int AS found FROM voting_events WHERE account_id = $1 AND deleted_at IS NULL';
    expect(await count(owned, account.id)).toBe(3);
    const id = answers.find(({ status }) => status === 201)?.body.data.id;
    const gone = await account.delete(`/voting-events/${id}`);
    expect(gone.status).toBe(204);
    const again = await Promise.all([0, 1].map(create));
    expect(again.map(({ status }) => status).toSorted()).toEqual([201, 422]);
    expect(await count(owned, account.id)).toBe(3);
    expect(await count('SELECT event_count AS found FROM accounts WHERE id = $1', account.id)).toBe(3);
  });

  test('an event never has more voters than the plan allows, in batches and one by one', async () => {
    const account = await service.account('pro');
    const event = await account.event({}, [], false);
    await fillVoters(event, 49_950);
    const path = `/voting-events/${event.id}/voters`;
    const batch = (index: number) =>
      Array.from({ length: 10 }, (_, row) => ({ name: 'V', voterId: `b${index}/${row}` }));
    const key = { key: account.write };
    const post = (on: TestService, index: number) =>
      index % 4 === 0
        ? on.call('POST', `${path}/batch`, { voters: batch(index) }, key)
        : on.call('POST', path, { name: 'V', voterId: `s${index}` }, key);
    const answers = await Promise.all(
      Array.from({ length: RACERS }, (_, index) => patiently(() => post(either(index), index))),
    );
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.map(({ body }) => body.error.details)).toEqual(
      refused.map(() => ({ limit: 'voters_per_event', max: 50_000 })),
    );
    const stored = await countVoters(event);
    const counted = await count('SELECT total::int AS found FROM voter_places($1)', event.id);
    expect(stored).toBe(counted);
    expect(stored).toBeLessThanOrEqual(50_000);
    expect(stored).toBeGreaterThan(49_990);
  });

  test('an event never has more voters that registered themselves than its plan has voters', async () => {
    const account = await service.account('pro');
    const event = await account.event({ type: 'election', voter: { selfRegistration: true } });
    await fillVoters(event, 49_995, 'registration');
    const voter = (index: number) => ({ name: 'V', email: `v${index}@club.example` });
    const answers = await race(`/public/voting-events/${event.id}/register/voter`, voter, () => account.vote);
    expectOutcome(answers, 5, 201, 'voter_registrations_per_event', 50_000);
    expect(await countVoters(event)).toBe(50_000);
  });

  test.each([
    ['batches', 1],
    ['batches and imports', 2],
    ['batches, imports, single rows and changes', 4],
  ])('an event never has more weight than a count can sum, in %s', async (_what, ways) => {
    const account = await service.account('pro');
    const event = await account.event({ type: 'election' }, PLURALITY, false);
    const heavy = (index: number, rows: number) =>
      Array.from({ length: rows }, (_, row) => ({
        ...{ name: 'Heavy', email: `heavy-${index}-${row}@club.example`, weight: 1_000_000_000 },
      }));
    const at = `/voting-events/${event.id}/voters`;
    const light = await account.make(at, { name: 'Light', email: 'light@club.example' });
    const send = (index: number) => {
      const [process, key] = [either(index >> 1), { key: account.write }];
      if (index % ways === 0) return process.call('POST', `${at}/batch`, { voters: heavy(index, 4) }, key);
      if (index % ways === 1)
        return process.call('POST', `${at}/import`, { mode: 'all', voters: heavy(index, 4) }, key);
      if (index % ways === 2) return process.call('POST', at, heavy(index, 1)[0], key);
      return process.call('PATCH', `${at}/${light.id}`, { weight: 999_999_000 + index }, key);
    };
    const answers = await Promise.all(Array.from({ length: 16 }, (_, index) => patiently(() => send(index))));
    const refused = answers.filter(({ status }) => status >= 300);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, body } of refused)
      expect([status, body.error.details]).toEqual([422, { limit: 'weight_per_event', max: 9_000_000_000 }]);
    const weight = await count(
      'SELECT (sum(weight_micro) / 1000000)::float8 AS found FROM voters WHERE voting_event_id = $1',
      event.id,
    );
    expect(weight).toBeLessThanOrEqual(9_000_000_000);
    expect(weight).toBeGreaterThan(5_000_000_000);
  });

  test('those who add voters wait for each other near the limit, and only there', async () => {
    const account = await service.account('pro');
    const event = await account.event({}, [], false);
    const clients: PoolClient[] = [];
    /** Adds a voter, and takes a place for it. */
    const add = async (limit: number): Promise<string> => {
      const client = await service.deps.db.$client.connect();
      clients.push(client);
      await client.query('BEGIN');
      await client.query(
        `INSERT INTO voters (voting_event_id, id, name, weight_micro, status, source, key_status, created_at, updated_at)
         VALUES ($1, $2, 'V', 1000000, 'approved', 'organizer', 'none', 0, 0)`,
        [event.id, `vtr_${clients.length}`],
      );
      const { rows } = await client.query('SELECT take_places($1, $2, $3, 10) AS found', [
        event.id,
        'organizer',
        limit,
      ]);
      return rows[0].found;
    };
    try {
      // Neither sees the other's voter, and neither waits.
      expect([await add(100), await add(100)]).toEqual(['room', 'room']);
      let found: string | undefined;
      const near = add(2).then((answer) => {
        found = answer;
      });
      const waiting = `SELECT count(*)::int AS found FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`;
      await vi.waitFor(async () => expect(await count(waiting)).toBe(1), 10_000);
      expect(found).toBeUndefined();
      for (const client of clients.slice(0, 2)) await client.query('COMMIT');
      await near;
      expect(found).toBe('full');
    } finally {
      for (const client of clients) {
        await client.query('ROLLBACK');
        client.release();
      }
    }
  });

  test.each([
    ['positions', 100, 95],
    ['candidates', 1_000, 990],
    ['groups', 200, 190],
    ['sponsors', 1_000, 990],
  ])('an event never has more %s than %i', async (kind: string, max: number, before: number) => {
    const account = await service.account();
    const event = await account.event({}, PLURALITY, false);
    const body = (index: number): unknown =>
      ({
        positions: { title: `P${index}`, votingMethod: 'plurality' },
        candidates: { name: `C${index}`, positionIds: [event.positions[0]?.id] },
        groups: { name: `G${index}` },
        sponsors: { name: `S${index}` },
      })[kind];
    const path = `/voting-events/${event.id}/${kind}`;
    expect((await account.post(path, body(-1))).status).toBe(201);
    await fillBallotDefinition(event, kind, before);
    const answers = await race(path, body, () => account.write);
    expectOutcome(answers, max - before, 201, `${kind}_per_event`, max);
    expect(await countOf(kind, event)).toBe(max);
  });

  test('candidates that register themselves stay within the cap of the event', async () => {
    const account = await service.account();
    const event = await account.event({ candidate: { selfRegistration: true } });
    await fillBallotDefinition(event, 'candidates', 998);
    await service.query(`UPDATE candidates SET source = 'registration' WHERE voting_event_id = $1`, [event.id]);
    const candidate = (index: number) => ({ name: `C${index}`, positionIds: [event.positions[0]?.id] });
    const answers = await race(`/public/voting-events/${event.id}/register/candidate`, candidate, () => account.vote);
    expectOutcome(answers, 2, 201, 'candidate_registrations_per_event', 1_000);
    expect(await countOf('candidates', event)).toBe(1_000);
  });

  test('an account never has more webhook endpoints than its plan allows', async () => {
    const account = await service.account('pro');
    const endpoint = (index: number) => ({ url: `https://hooks.example.com/${index}`, eventTypes: ['voter.created'] });
    for (let index = 0; index < 19; index += 1)
      expect((await account.post('/webhook-endpoints', endpoint(100 + index))).status).toBe(201);
    // All 32 compete for the last endpoint, so that several transactions are between the count and the insert at once.
    const answers = await race('/webhook-endpoints', endpoint, () => account.write);
    expectOutcome(answers, 1, 201, 'webhook_endpoints', 20);
    const owned = 'SELECT count(*)::int AS found FROM webhook_endpoints WHERE account_id = $1';
    expect(await count(owned, account.id)).toBe(20);
  });

  test('one event code is given once', async () => {
    const accounts = await Promise.all([service.account(), service.account()]);
    const event = (index: number) => ({ title: 'E', type: 'poll', code: index % 3 === 0 ? 'SUMMER' : 'summer' });
    const answers = await race('/voting-events', event, (index) => accounts[index % 2]?.write);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array.from({ length: 31 }, () => 409)]);
    expect(await count(`SELECT count(*)::int AS found FROM voting_events WHERE code_key = 'summer'`)).toBe(1);
    const counters = accounts.map(({ id }) => count('SELECT event_count AS found FROM accounts WHERE id = $1', id));
    expect((await Promise.all(counters)).reduce((sum, one) => sum + one, 0)).toBe(1);
  });
});
