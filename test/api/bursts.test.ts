import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { visitor, votesFor } from '#test/harness/elections.ts';
import { decide, RETURN_URL, usePaidService } from '#test/harness/payments.ts';
import { acceptInvite, inviteToken } from '#test/harness/sharing.ts';
import { type TestAnswer, untilTrue } from '#test/harness/test-service.ts';

const { service, poll } = await usePaidService();
const account = await service.account();
const event = await account.event();
const base = `/voting-events/${event.id}`;

/** What so many equal calls at once were answered: each status with its reason, once. */
async function burst(call: (index: number) => Promise<TestAnswer>, times = 50) {
  const answers = await Promise.all(Array.from({ length: times }, (_, index) => call(index)));
  const said = answers.map(({ status, body }) => `${status} ${body.error?.details?.reason ?? ''}`.trim());
  return { answers, said: new Set(said), ok: answers.filter(({ status }) => status < 300).length };
}
/** Besides what asks the client to come again: a machine with little time lets a call wait for the event too long. */
const ONLY = (...allowed: string[]) => new Set(['429 too_many_at_once', '409 busy', ...allowed]);

/** Makes a step of the database take longer than anything waits for a lock. */
async function slowDown(when: string, table: string, more: string): Promise<void> {
  const name = `slow_${randomUUID().replaceAll('-', '')}`;
  await service.query(
    `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1.5); RETURN NEW; END'`,
  );
  await service.query(`CREATE TRIGGER ${name} ${when} ON ${table} ${more} EXECUTE FUNCTION ${name}()`);
  onTestFinished(() => void service.query(`DROP FUNCTION ${name} CASCADE`));
}

describe('fifty equal calls at once have one effect, and none of them fails', () => {
  test('an invite', async () => {
    const { said, ok } = await burst(() =>
      account.post(`${base}/invites`, { email: 'a@mail.example', role: 'viewer' }),
    );
    expect([said.difference(ONLY('201', '409 invite_exists')), ok]).toEqual([new Set(), 1]);
  });

  test('an invite that is accepted', async () => {
    const other = await service.account();
    await account.make(`${base}/invites`, { email: 'b@mail.example', role: 'viewer' });
    const token = await inviteToken(service, 'b@mail.example');
    const { said, ok } = await burst(() => acceptInvite(service, other.write, token));
    expect([said.difference(ONLY('200')), ok > 0]).toEqual([new Set(), true]);
  });

  test.each(['provider_a', 'provider_b'] as const)(
    'a payment through %s: its first call, and its second',
    async (provider) => {
      const paid = await poll(provider);
      const first = { visitorId: visitor(), votes: votesFor(paid), email: 'payer@mail.example', returnUrl: RETURN_URL };
      const key = randomUUID();
      const begun = await burst(() => paid.account.page(paid, 'ballot/cast', first, { 'Idempotency-Key': key }));
      expect(begun.said.difference(ONLY('402', '409 idempotency_in_progress'))).toEqual(new Set());
      const pages = begun.answers.filter(({ status }) => status === 402).map(({ body }) => body.data);
      expect(new Set(pages.map(({ paymentAttemptId }) => paymentAttemptId)).size).toBe(1);
      const { attempt, url } = await paid.begin();
      await decide(url, 'pay');
      await paid.succeeded(attempt);
      const isFirst = `NEW.id = '${attempt}' AND OLD.status <> NEW.status`;
      await slowDown('BEFORE UPDATE', 'payment_attempts', `FOR EACH ROW WHEN (${isFirst})`);
      for (const headers of [() => ({}), () => ({ 'Idempotency-Key': randomUUID() })]) {
        const second = await burst(() =>
          paid.account.page(paid, 'ballot/cast', { paymentAttemptId: attempt }, headers()),
        );
        expect(second.said.difference(ONLY('201', '200'))).toEqual(new Set());
        expect(new Set(second.answers.flatMap(({ body }) => body.data?.confirmationCode ?? [])).size).toBe(1);
      }
    },
  );
});

/** Holds the event's row, as a long change does. @returns what lets go of it */
async function holdEvent(): Promise<() => Promise<unknown>> {
  const client = new pg.Client({ connectionString: service.databaseUrl });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('BEGIN');
  await client.query('SELECT 1 FROM voting_events WHERE id = $1 FOR UPDATE', [event.id]);
  return () => client.query('ROLLBACK');
}

test('while something long holds an event, each change of it is asked to come back, and is not remembered as refused', async () => {
  const letGo = await holdEvent();
  const position = event.positions[0]?.id;
  const keyed = (method: string, path: string) =>
    method === 'POST' ? { 'Idempotency-Key': path.replaceAll('/', '-') } : {};
  const changes: [string, string, unknown][] = [
    ['PATCH', base, { title: 'Other' }],
    ['PATCH', base, { log: { open: true } }],
    ['POST', `${base}/candidates`, { name: 'Cai', positionIds: [position] }],
    ['PATCH', `${base}/positions/${position}`, { title: 'Other' }],
    ['POST', `${base}/voters`, { name: 'Ada', voterId: 'V-1' }],
    ['POST', `${base}/voters/import`, { mode: 'partial', voters: [{ name: 'Ada', voterId: 'V-2' }] }],
    ['DELETE', `${base}?force=true`, undefined],
  ];
  for (const [method, path, body] of changes) {
    const answer = await service.call(method, path, body, { key: account.write, headers: keyed(method, path) });
    const { status, body: said } = answer;
    expect([method, path, status, said.error?.details?.reason]).toEqual([method, path, 409, 'busy']);
    expect(Number(answer.headers.get('Retry-After'))).toBeGreaterThan(0);
  }
  await letGo();
  for (const [method, path, body] of changes) {
    const { status } = await service.call(method, path, body, { key: account.write, headers: keyed(method, path) });
    expect([method, path, status < 300]).toEqual([method, path, true]);
  }
});

test.each(['all', 'partial'])(
  'while an import (%s) writes its rows, voters register and cast, and no change of the event fails',
  async (mode) => {
    const election = await account.event({ type: 'election', voter: { selfRegistration: true } });
    const other = await account.event();
    const path = `/voting-events/${election.id}`;
    await slowDown('AFTER INSERT', 'voters', 'FOR EACH STATEMENT');
    const voters = [{ name: 'Ada', email: 'ada@mail.example' }];
    const importing = account.post(`${path}/voters/import`, { mode, voters });
    await untilTrue(async () => {
      const [{ count }] = await service.query(`SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'`);
      return Number(count) > 0;
    });
    const [register, cast, candidate] = await Promise.all([
      account.page(election, 'register/voter', { name: 'Bea', email: 'bea@mail.example' }),
      account.page(other, 'ballot/cast', { visitorId: visitor(), votes: votesFor(other) }),
      account.post(`${path}/candidates`, { name: 'Cai', positionIds: [election.positions[0]?.id] }),
    ]);
    expect([register.status, cast.status, (await importing).body.data.accepted]).toEqual([201, 201, 1]);
    expect([201, 409]).toContain(candidate.status);
  },
);
