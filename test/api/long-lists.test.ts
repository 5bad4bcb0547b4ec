import { inspect } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { demand, valuesOf } from '#test/harness/answers.ts';
import { parseCsv } from '#test/harness/parse-csv.ts';
import { untilTrue, useAccount } from '#test/harness/test-service.ts';

const BEGIN = 1_790_000_000_000;
const ROWS = 1_200;

/** Rows a second apart, each under an ID of its own moment. */
async function insertRows(): Promise<void> {
  const rows = `generate_series(0, ${ROWS - 1}) AS n`;
  await service.query(
    `INSERT INTO audit_entries (account_id, id, voting_event_id, action, resource, before, after, created_at)
     SELECT $1, 'aud_' || sortable_time($3::bigint + n * 1000) || n, $2, 'x.made', 'res_' || n, jsonb_build_object('text', repeat('x', 5000)), NULL, $3::bigint + n * 1000 FROM ${rows}`,
    [account.id, event.id, BEGIN],
  );
  await service.query(
    `INSERT INTO payment_businesses (id, account_id, provider, display_name, country, ready, supported_currencies, livemode, sandbox, credentials, created_at, updated_at)
     VALUES ('biz_1', $1, 'provider_a', 'x', 'US', true, '{usd}', false, true, 'x', 1, 1)`,
    [account.id],
  );
  await service.query(
    `INSERT INTO payment_attempts (voting_event_id, id, account_id, payment_business_id, purpose, status, provider, amount_minor, currency, request, terms, expires_at, created_at, updated_at)
     SELECT $2, 'pay_' || sortable_time($3::bigint + n * 1000) || n, $1, 'biz_1', 'vote', CASE WHEN n % 2 = 0 THEN 'failed' ELSE 'pending' END, 'provider_a', n + 1, 'usd', '{}', '{}', 1, $3::bigint + n * 1000, 1 FROM ${rows}`,
    [account.id, event.id, BEGIN],
  );
  await service.query(
    `INSERT INTO webhook_deliveries (id, endpoint_id, message_id, event_type, body, status, next_try_at, created_at)
     SELECT 'whd_' || sortable_time($2::bigint + n * 1000) || n, $1, 'msg_' || n, 'voter.created', '{}', 'delivered', 0, $2::bigint + n * 1000 FROM ${rows}`,
    [endpointId, BEGIN],
  );
}

const { service, account } = await useAccount();
const event = await account.event({}, [{ votingMethod: 'approval', candidates: ['Ada'] }]);
const body = { url: 'http://127.0.0.1:9999/x', eventTypes: ['voter.created'] };
const endpointId = (await account.post('/webhook-endpoints', body)).body.data.id;
await insertRows();

describe.each(['audit', 'payments', 'deliveries'] as const)('the list of %s', (what) => {
  const read = async (query = '') => {
    const path = what === 'deliveries' ? `/webhook-endpoints/${endpointId}` : `/voting-events/${event.id}`;
    const answer = await account.get(`${path}/${what}?${query}`);
    expect([query, answer.status]).toEqual([query, 200]);
    const rows: { createdAt: number; id: string }[] = answer.body.data;
    const times = rows.map(({ createdAt }) => createdAt).filter((at) => at < BEGIN + ROWS * 1_000);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    return { times, body: answer.body };
  };
  // The event's own making stands in the audit trail too, now.
  const until = `until=${BEGIN + ROWS * 1_000}`;

  test('gives the newest 1,000 and says that there are more', async () => {
    const { times, body } = await read(until);
    expect([times.length, times[0], body.truncated, body.nextCursor]).toEqual([1_000, BEGIN + 200_000, true, null]);
  });

  test('gives what a window holds, both ends included, and says nothing of more where there is none', async () => {
    const { times, body } = await read(`from=${BEGIN + 10_000}&until=${BEGIN + 20_000}`);
    expect([times.length, times[0], times.at(-1)]).toEqual([11, BEGIN + 10_000, BEGIN + 20_000]);
    expect(body).not.toHaveProperty('truncated');
    expect((await read(`from=${BEGIN}&until=999999999999999`)).times.length).toBeGreaterThan(990);
    expect((await read('until=0')).times).toEqual([]);
  });

  test('comes whole as a table, oldest first', async () => {
    const path = what === 'deliveries' ? `/webhook-endpoints/${endpointId}` : `/voting-events/${event.id}`;
    const answer = await account.get(`${path}/${what}/csv`);
    const type = 'text/csv; charset=utf-8; header=present';
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
    const [head = [], ...rows] = parseCsv(String(answer.body).replace('\ufeff', ''));
    const written = rows.map((row) => row[head.indexOf('createdAt')] ?? '');
    expect(written.filter((time) => !/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/.test(time))).toEqual([]);
    const times = written.map(Date.parse).filter((at) => at < BEGIN + ROWS * 1_000);
    expect(times).toEqual(Array.from({ length: ROWS }, (_, index) => BEGIN + index * 1_000));
    expect(new Set(rows.map((row) => row.length))).toEqual(new Set([head.length]));
    const other = await service.account();
    expect((await other.get(`${path}/${what}/csv`)).status).toBe(404);
  });

  test('asks the database for no more rows than it gives', async () => {
    const asked = vi.spyOn(service.deps.reads.$client, 'query');
    await read(until);
    const results = await Promise.all(asked.mock.results.map(({ value }) => value));
    asked.mockRestore();
    expect(Math.max(...results.map((result) => result.rows.length))).toBe(1_001);
  });

  test('finds rows below the newest 1,000 by a filter', async () => {
    const filter = { audit: 'resource=res_3', payments: 'status=failed', deliveries: 'search=msg_3' }[what];
    const { times } = await read(`${filter}&from=${BEGIN + 2_000}&until=${BEGIN + 4_000}`);
    expect(times).toEqual(what === 'payments' ? [BEGIN + 2_000, BEGIN + 4_000] : [BEGIN + 3_000]);
  });
});

test('the audit trail tells long values by their length and hash, however they were stored', async () => {
  const path = `/voting-events/${event.id}`;
  await account.patch(path, { description: 'y'.repeat(5_000) });
  const { body } = await account.get(`${path}/audit`);
  expect(body.data.at(-1).after.description).toEqual({
    length: 5_000,
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(JSON.stringify(body).length).toBeLessThan(1_000_000);
  const longest = "SELECT max(length(after::text)) AS most FROM audit_entries WHERE action = 'voting_event.updated'";
  expect((await service.query(longest))[0].most).toBeLessThan(1_000);
});

test('the table of the audit trail tells what was before and after as JSON, long values by their hash', async () => {
  const path = `/voting-events/${event.id}`;
  await account.patch(path, { description: 'z'.repeat(400), title: '=1+1' });
  const answer = await account.get(`${path}/audit/csv`);
  const [head = [], ...rows] = parseCsv(String(answer.body).replace('\ufeff', ''));
  const [before, after, action] = ['before', 'after', 'action'].map((name) => rows.at(-1)?.[head.indexOf(name)] ?? '');
  expect(action).toBe('voting_event.updated');
  expect(JSON.parse(before ?? '').title).toBe('An event');
  expect(JSON.parse(after ?? '')).toMatchObject({ title: '=1+1', description: { length: 400 } });
  expect(rows[0]?.[head.indexOf('after')]).toBe('');
  expect(String(answer.body)).not.toContain('x'.repeat(321));
});

test('all payments come as a table, without codes', async () => {
  const path = `/voting-events/${event.id}/payments/csv`;
  const answer = await account.get(path);
  expect(answer.status).toBe(200);
  const [head = [], ...rows] = parseCsv(String(answer.body).replace('\ufeff', ''));
  expect(rows).toHaveLength(ROWS);
  expect(head).not.toContain('confirmationCode');
  const [purpose, status] = ['purpose', 'status'].map((name) => rows[0]?.[head.indexOf(name)]);
  expect([purpose, status]).toEqual(['vote', 'failed']);
});

test('a search of a long roll looks at a thousand voters a page, and finds every one over its pages', async () => {
  const path = `/voting-events/${event.id}/voters`;
  await service.query(
    `INSERT INTO voters (voting_event_id, id, name, voter_id, voter_id_key, weight_micro, status, source, key_status, created_at, updated_at)
     SELECT $1, 'vtr_' || lpad(n::text, 6, '0'), CASE WHEN n % 1000 = 7 THEN 'Needle ' ELSE 'Hay ' END || n, 'M' || n, 'M' || n, 1000000, 'approved', 'organizer', 'none', 1, 1
     FROM generate_series(1, 3500) AS n`,
    [event.id],
  );
  const pages = await account.pages(`${path}?search=needle`);
  expect(valuesOf(pages.flat(), 'voterId')).toEqual(['M7', 'M1007', 'M2007', 'M3007']);
  expect(pages).toHaveLength(4);
  const all = await account.get(`${path}?limit=200`);
  expect([all.body.data.length, all.body.nextCursor === null]).toEqual([200, false]);
});

/** What a read counts as, and which tables it asks for over which connections. */
async function watch(target: string) {
  const runs = vi.spyOn(service.deps.leases.costlyReads, 'take');
  const { db, reads } = service.deps;
  const asked = [vi.spyOn(db.$client, 'query'), vi.spyOn(reads.$client, 'query')];
  const { status } = await account.get(target);
  const [onMain = '', onReads = ''] = asked.map(({ mock }) =>
    inspect(
      mock.calls.map(([query]) => query),
      { depth: 3, maxArrayLength: null, maxStringLength: null },
    ),
  );
  const accounts = runs.mock.calls.map(([of]) => of);
  for (const spy of [runs, ...asked]) spy.mockRestore();
  return { status, accounts, onMain, onReads };
}

describe('a read that costs much', () => {
  const eventPath = () => `/voting-events/${event.id}`;
  const endpointPath = () => `/webhook-endpoints/${endpointId}`;
  const COSTLY: readonly [string, () => string, string][] = [
    ['a search of voters', () => `${eventPath()}/voters?search=ada`, 'voters'],
    ['who has voted', () => `${eventPath()}/voters?voted=true`, 'voters'],
    ['the roll as a table', () => `${eventPath()}/voters/csv`, 'voters'],
    ['the votes', () => `${eventPath()}/votes`, 'ballot_blocks'],
    ['the audit trail', () => `${eventPath()}/audit`, 'audit_entries'],
    ['the audit trail as a table', () => `${eventPath()}/audit/csv`, 'audit_entries'],
    ['the payments', () => `${eventPath()}/payments?search=pay`, 'payment_attempts'],
    ['the payments as a table', () => `${eventPath()}/payments/csv`, 'payment_attempts'],
    ['the deliveries', () => `${endpointPath()}/deliveries?search=msg`, 'webhook_deliveries'],
    ['the deliveries as a table', () => `${endpointPath()}/deliveries/csv`, 'webhook_deliveries'],
  ];

  test.each(COSTLY)('%s counts for the account, and leaves the connections of casts alone', async (_, path, table) => {
    const { status, accounts, onMain, onReads } = await watch(path());
    expect([status, accounts]).toEqual([200, [account.id]]);
    const named = new RegExp(`\\b${table}\\b`);
    expect([named.test(onReads), named.test(onMain)]).toEqual([true, false]);
  });

  test.each(['stats', 'candidates', 'positions', 'sponsors', 'groups'])('%s count for the account', async (what) => {
    expect(await watch(`${eventPath()}/${what}`)).toMatchObject({ status: 200, accounts: [account.id] });
  });

  test.each(['csv', 'json', 'cvr'])(
    'a file of the results counts for the account that asked for it: %s',
    async (kind) => {
      expect(await watch(await account.link(`${eventPath()}/results/${kind}`))).toMatchObject({
        status: 200,
        accounts: [account.id],
      });
    },
  );

  test('is none of the short ones', async () => {
    for (const path of ['', '/voters', '/results'])
      expect(await watch(`${eventPath()}${path}`)).toMatchObject({ status: 200, accounts: [] });
  });
});

test('while the loop is late a long read waits for the last one of its account, beside those of another account', async () => {
  const { readsOfLateLoop } = service.deps.leases;
  const pressure = vi.spyOn(service.deps.load, 'pressure');
  pressure.mockReturnValue({ waiting: 0, underWay: 0, delayMs: 20 });
  const other = await service.account();
  const own = await other.event();
  const answered: string[] = [];
  const ask = async (name: string, by: typeof account, id: string): Promise<void> => {
    demand(await by.get(`/voting-events/${id}/definition`), 200);
    answered.push(name);
  };
  const last = await readsOfLateLoop.take(account.id);
  const flood = Array.from({ length: 6 }, () => ask('flood', account, event.id));
  await untilTrue(() => readsOfLateLoop.waiting === 2);
  await ask('other', other, own.id);
  expect(answered).toEqual(['other']);
  last.end();
  await Promise.all(flood);
  await untilTrue(() => readsOfLateLoop.held === 0);
  pressure.mockReturnValue({ waiting: 0, underWay: 0, delayMs: 0 });
  await ask('alone', account, event.id);
  expect(readsOfLateLoop.held).toBe(0);
  pressure.mockRestore();
});
