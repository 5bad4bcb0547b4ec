import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { sandboxWebhookSecret } from '#sandbox/sandbox-keys.ts';
import { visitor, votesFor } from '#test/harness/elections.ts';
import {
  ageRefund,
  checkoutUrlOf,
  createPaidEvent,
  decide,
  type PaidEvent,
  PRICE,
  PROVIDERS,
  RETURN_URL,
  restingRefundJobs,
  usePaidService,
} from '#test/harness/payments.ts';
import { eventually, patiently, type TestService, untilTrue } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';

const { service, sandbox } = await usePaidService();
const other = await use(service.another());

const either = (index: number): TestService => (index % 2 === 0 ? service : other);

function call(on: TestService, event: PaidEvent, method: string, path: string, body?: unknown, headers = {}) {
  const target = `/public/voting-events/${event.id}${path}`;
  return patiently(() => on.call(method, target, body, { key: event.account.vote, headers }));
}

/** The first call of a vote. */
async function begin(event: PaidEvent, visitorId = visitor(), value?: number) {
  const votes = votesFor(event).map((vote) => (value === undefined ? vote : { ...vote, value }));
  const body = { visitorId, email: 'payer@mail.example', votes, returnUrl: RETURN_URL };
  const answer = await call(service, event, 'POST', '/ballot/cast', body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(402);
  return { attempt: answer.body.data.paymentAttemptId as string, url: checkoutUrlOf(answer) };
}

/** The second call. */
const cast = (on: TestService, event: PaidEvent, attempt: string) =>
  call(on, event, 'POST', '/ballot/cast', { paymentAttemptId: attempt });

async function audit(event: PaidEvent, attempt: string): Promise<string[]> {
  const rows = await service.query(
    'SELECT action FROM audit_entries WHERE voting_event_id = $1 AND resource = $2 ORDER BY id',
    [event.id, attempt],
  );
  return rows.map((row) => row.action);
}

async function statusOf(event: PaidEvent, attempt: string): Promise<string> {
  return (await call(service, event, 'GET', `/payments/${attempt}`)).body.data.status;
}

const untilIs = (event: PaidEvent, attempt: string, status: string) =>
  untilTrue(async () => (await statusOf(event, attempt)) === status);

/** Waits until the money went back. @returns the payment */
const untilRefunded = (event: PaidEvent, attempt: string) =>
  eventually(async () => {
    const { data } = (await call(other, event, 'GET', `/payments/${attempt}`)).body;
    return data.refundedAt === null ? undefined : data;
  });

/** Two payments of one visitor, of which the second is to go back, and the provider refuses it. @returns the second */
async function payInVain(event: PaidEvent): Promise<string> {
  const visitorId = visitor();
  const attempts = [await begin(event, visitorId), await begin(event, visitorId)];
  for (const { url } of attempts) await decide(url, 'pay');
  sandbox.faults.refuseRefunds = true;
  for (const { attempt } of attempts) {
    await untilIs(event, attempt, 'succeeded');
    await cast(other, event, attempt);
  }
  const last = attempts[1]?.attempt ?? '';
  await untilRefundIs(last, 'refused');
  return last;
}

const untilRefundIs = (attempt: string, status: string) =>
  untilTrue(async () => {
    const rows = await service.query('SELECT status FROM payment_refunds WHERE attempt_id = $1', [attempt]);
    return rows[0]?.status === status;
  });

/** The provider is asked for a refund now. */
const askNow = (attempt: string) => ageRefund(service, attempt, 0);

describe.each(PROVIDERS)('%s, with two processes on one database', (provider) => {
  test('fifty second calls at once have one effect and one answer', async () => {
    const event = await createPaidEvent(service, provider);
    sandbox.faults.webhooks = 'lost';
    const { attempt, url } = await begin(event);
    await decide(url, 'pay');
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => cast(either(index), event, attempt)));
    sandbox.faults.webhooks = 'normal';
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array.from({ length: 49 }, () => 200), 201]);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(await audit(event, attempt)).toEqual(['payment.succeeded', 'payment.fulfilled']);
    const rows = await service.query('SELECT payment_attempt_id FROM pending_ballots WHERE voting_event_id = $1', [
      event.id,
    ]);
    expect(rows).toEqual([{ payment_attempt_id: attempt }]);
  });

  test('pollers of many payments leave the merchant most of what the provider allows, and payers their second call', async () => {
    const event = await createPaidEvent(service, provider);
    sandbox.faults.webhooks = 'lost';
    const begun = await Promise.all(Array.from({ length: 120 }, () => begin(event)));
    const [first = begun[0]] = begun;
    if (first === undefined) throw new Error('no attempt');
    await decide(first.url, 'pay');
    // The calls that made the pages count too: a few seconds later there is room again.
    await new Promise((resolve) => setTimeout(resolve, 7_000));
    const before = sandbox.requests.length;
    const startedAt = performance.now();
    const reads = await Promise.all(
      begun.slice(1).map(({ attempt }, index) => call(either(index), event, 'GET', `/payments/${attempt}`)),
    );
    const seconds = (performance.now() - startedAt) / 1_000;
    const asked = sandbox.requests.length - before;
    expect(new Set(reads.map(({ status, body }) => `${status} ${body.data.status}`))).toEqual(new Set(['200 pending']));
    // Each process knows after a quarter of a second what the other one asked, and gains tokens before the first read is sent.
    expect(asked).toBeLessThanOrEqual(2 * 31 + Math.ceil(10 * (seconds + 1)));
    // At once, or as soon as this process has heard what the other one asked.
    await untilTrue(async () => {
      const answer = await cast(other, event, first.attempt);
      return answer.status === 201;
    }, 5_000);
    sandbox.faults.webhooks = 'normal';
    expect(asked).toBeGreaterThan(0);
  });

  test('message, read and second call at once make one payment.succeeded', async () => {
    for (let round = 0; round < 5; round += 1) {
      const event = await createPaidEvent(service, provider);
      sandbox.faults.webhooks = 'duplicate';
      const { attempt, url } = await begin(event);
      await decide(url, 'pay');
      await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          index % 3 === 0
            ? cast(either(index), event, attempt)
            : call(either(index), event, 'GET', `/payments/${attempt}`),
        ),
      );
      sandbox.faults.webhooks = 'normal';
      await untilIs(event, attempt, 'fulfilled');
      expect(await audit(event, attempt)).toEqual(['payment.succeeded', 'payment.fulfilled']);
    }
  });

  test('a payment that is told before our own commit is not lost', async () => {
    const event = await createPaidEvent(service, provider);
    sandbox.faults.payBeforeAnswer = true;
    const { attempt } = await begin(event);
    sandbox.faults.payBeforeAnswer = false;
    await untilIs(event, attempt, 'succeeded');
    expect((await cast(other, event, attempt)).status).toBe(201);
  });

  test.each([
    ['amount', { paidAmount: 1 }],
    ['amount, a larger one', { paidAmount: 10_000_000 }],
    ['currency', { paidCurrency: provider === 'provider_a' ? 'jpy' : 'GHS' }],
  ])('a payment of another %s is never fulfilled', async (_what, fault) => {
    const event = await createPaidEvent(service, provider);
    const { attempt, url } = await begin(event);
    Object.assign(sandbox.faults, fault);
    await decide(url, 'pay');
    Object.assign(sandbox.faults, { paidAmount: null, paidCurrency: null });
    await untilIs(event, attempt, 'failed');
    const second = await cast(other, event, attempt);
    expect([second.status, second.body.error.details]).toEqual([
      409,
      { reason: 'payment_failed', cause: 'amount_mismatch' },
    ]);
    expect(await audit(event, attempt)).toEqual(['payment.failed', 'payment.needs_attention']);
  });

  test('messages twice, late and in the wrong order never move a payment backwards', async () => {
    const event = await createPaidEvent(service, provider);
    for (const webhooks of ['duplicate', 'late', 'reordered'] as const) {
      Object.assign(sandbox.faults, { webhooks, lateMs: 300 });
      const { attempt, url } = await begin(event);
      await decide(url, 'pay');
      const second = await cast(other, event, attempt);
      expect(second.status).toBe(201);
      await new Promise((resolve) => setTimeout(resolve, 600));
      expect(await statusOf(event, attempt)).toBe('fulfilled');
      expect(await audit(event, attempt)).toEqual(['payment.succeeded', 'payment.fulfilled']);
    }
    sandbox.faults.webhooks = 'normal';
  });

  test('a payment after its attempt has ended goes back, once', async () => {
    const event = await createPaidEvent(service, provider);
    sandbox.faults.webhooks = 'lost';
    const { attempt, url } = await begin(event);
    const { deps } = service;
    if (provider === 'provider_a') {
      sandbox.advance(3_600_000);
    } else {
      await deps.db.$client.query('UPDATE payment_attempts SET expires_at = 1 WHERE id = $1', [attempt]);
    }
    await untilIs(event, attempt, 'cancelled');
    Object.assign(sandbox.faults, { webhooks: 'duplicate', payAfterExpiry: true });
    await decide(url, 'pay');
    const payment = await untilRefunded(event, attempt);
    Object.assign(sandbox.faults, { webhooks: 'normal', payAfterExpiry: false });
    if (provider === 'provider_a') sandbox.advance(-3_600_000);
    expect(payment.status).toBe('cancelled');
    expect(await audit(event, attempt)).toEqual(['payment.cancelled', 'payment.refunded']);
    const refunds = sandbox.requests.filter(
      ({ method, path, body }) =>
        method === 'POST' &&
        /refund/.test(path) &&
        JSON.stringify(body).includes(attempt.replace('_', provider === 'provider_a' ? '_' : '-')),
    );
    expect(refunds).toHaveLength(1);
  });

  test('a refused refund is tried again until it is taken, and leaves the payment cancelled', async () => {
    const event = await createPaidEvent(service, provider);
    const last = await payInVain(event);
    expect(await statusOf(event, last)).toBe('cancelled');
    await untilTrue(async () => (await restingRefundJobs(service, last)).length === 1);
    sandbox.faults.refuseRefunds = false;
    await askNow(last);
    await untilRefunded(event, last);
    expect(await audit(event, last)).toEqual(['payment.succeeded', 'payment.cancelled', 'payment.refunded']);
  });

  test('a refund that is refused for 30 days is given up, and told', async () => {
    const event = await createPaidEvent(service, provider);
    const last = await payInVain(event);
    await service.query(
      'UPDATE payment_refunds SET created_at = created_at - 30::bigint * 86400000 WHERE attempt_id = $1',
      [last],
    );
    await askNow(last);
    await untilRefundIs(last, 'failed');
    sandbox.faults.refuseRefunds = false;
    expect((await audit(event, last)).slice(-2)).toEqual(['payment.refund_failed', 'payment.needs_attention']);
  });

  test('a forged message changes nothing, in twelve ways', async () => {
    const event = await createPaidEvent(service, provider);
    const { attempt } = await begin(event);
    const target = `/provider-webhooks/${provider}/${event.businessId}`;
    for (const [name, body, headers] of forgeries(event, attempt)) {
      const answer = await fetch(`http://127.0.0.1:${service.port}${target}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
      expect([name, answer.status]).toEqual([name, 400]);
    }
    const rows = await service.query('SELECT event_key FROM provider_events WHERE payment_business_id = $1', [
      event.businessId,
    ]);
    expect(rows).toEqual([]);
    expect(await statusOf(event, attempt)).toBe('pending');
  });
});

type Forgery = readonly [name: string, body: string, headers?: Record<string, string>];

/** Twelve messages of which each lacks one thing that a provider's own has. */
function forgeries(event: PaidEvent, attempt: string): Forgery[] {
  return event.provider === 'provider_a' ? forgeriesA(event, attempt) : forgeriesB(event, attempt);
}

function forgeriesA({ secretKey }: PaidEvent, attempt: string): Forgery[] {
  const secret = sandboxWebhookSecret(secretKey);
  const now = Math.floor(Date.now() / 1_000);
  const object = {
    id: 'cs_test_1',
    object: 'checkout.session',
    client_reference_id: attempt,
    metadata: { paymentAttemptId: attempt },
  };
  const event = { id: 'evt_forged', type: 'checkout.session.completed', livemode: false, data: { object } };
  const body = JSON.stringify(event);
  const sign = (text: string, key: string, at = now): string =>
    createHmac('sha256', key).update(`${at}.${text}`).digest('hex');
  const right = sign(body, secret);
  const header = (value: string) => ({ 'stripe-signature': value });
  const live = JSON.stringify({ ...event, livemode: true });
  return [
    ['no signature', body],
    ['an empty signature', body, header('')],
    ['another secret', body, header(`t=${now},v1=${sign(body, 'whsec_other')}`)],
    ['an empty secret', body, header(`t=${now},v1=${sign(body, 'x').replace(/./g, '0')}`)],
    ['a changed body', body.replace('completed', 'expired'), header(`t=${now},v1=${right}`)],
    ['a changed time', body, header(`t=${now + 1},v1=${right}`)],
    ['an old message', body, header(`t=${now - 400},v1=${sign(body, secret, now - 400)}`)],
    ['a message of tomorrow', body, header(`t=${now + 86_400},v1=${sign(body, secret, now + 86_400)}`)],
    ['no time', body, header(`v1=${right}`)],
    ['an older scheme', body, header(`t=${now},v0=${right}`)],
    ['a signature cut short', body, header(`t=${now},v1=${right.slice(0, 62)}`)],
    ['real money', live, header(`t=${now},v1=${sign(live, secret)}`)],
  ];
}

function forgeriesB({ secretKey }: PaidEvent, attempt: string): Forgery[] {
  const event = {
    event: 'charge.success',
    data: { id: 1, reference: `${attempt.replace('_', '-')}.1`, metadata: { paymentAttemptId: attempt } },
  };
  const body = JSON.stringify(event);
  const sign = (text: string, key = secretKey, hash = 'sha512'): string =>
    createHmac(hash, key).update(text).digest('hex');
  const right = sign(body);
  const header = (value: string) => ({ 'x-paystack-signature': value });
  return [
    ['no signature', body],
    ['an empty signature', body, header('')],
    ['another key', body, header(sign(body, 'sk_test_other'))],
    ['an empty key', body, header(createHmac('sha512', '').update(body).digest('hex'))],
    ['a changed body', body.replace('success', 'dispute'), header(right)],
    ['a space more', `${body} `, header(right)],
    ['another hash', body, header(sign(body, secretKey, 'sha256'))],
    ['a signature cut short', body, header(right.slice(0, 126))],
    ['a signature and more', body, header(`${right}00`)],
    ['no hexadecimal digits', body, header('z'.repeat(128))],
    ['one wrong digit', body, header(right.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')))],
    ['a signature of nothing', body, header(sign(''))],
  ];
}

test('parallel ballots never spend more credits than there are, and the ledger adds up', async () => {
  const plan = {
    votingMethod: 'quadratic',
    candidates: ['Ada', 'Bea'],
    settings: { quadraticBaseCreditBudget: 100 },
  };
  const payments = { payToVote: PRICE.provider_a, repeatVotes: true };
  const event = await createPaidEvent(service, 'provider_a', { payments }, [plan]);
  const visitorId = visitor();
  // Two ballots of 36 credits at a time: a page that begins later may take over the credits of an earlier one, which is closed.
  const begun = await Promise.allSettled(Array.from({ length: 8 }, () => begin(event, visitorId, 6)));
  const attempts = begun.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  await Promise.allSettled(attempts.map(({ url }) => decide(url, 'pay')));
  const answers = await Promise.all(
    attempts.map(async ({ attempt }, index) => {
      await eventually(async () =>
        ['created', 'pending'].includes(await statusOf(event, attempt)) ? undefined : true,
      );
      return cast(either(index), event, attempt);
    }),
  );
  const taken = answers.filter(({ status }) => status === 201);
  expect([1, 2]).toContain(taken.length);
  await Promise.all(
    taken.flatMap(({ body }) =>
      [0, 1].map((index) =>
        call(either(index), event, 'POST', '/ballot/confirm', { confirmationCode: body.data.confirmationCode }),
      ),
    ),
  );
  const rows = await service.query(
    `SELECT b.base, b.purchased, b.held, b.spent,
       (SELECT sum(credits) FILTER (WHERE kind = 'grant') FROM credit_entries e WHERE e.voting_event_id = b.voting_event_id) AS granted,
       (SELECT sum(credits) FILTER (WHERE kind = 'hold') - coalesce(sum(credits) FILTER (WHERE kind IN ('release', 'spend')), 0)
        FROM credit_entries e WHERE e.voting_event_id = b.voting_event_id) AS held_by_ledger,
       (SELECT sum(credits) FILTER (WHERE kind = 'spend') FROM credit_entries e WHERE e.voting_event_id = b.voting_event_id) AS spent_by_ledger
     FROM credit_balances b WHERE b.voting_event_id = $1`,
    [event.id],
  );
  expect(rows).toEqual([
    {
      ...{ base: 100, purchased: 0, held: 0, spent: 36 * taken.length, granted: '100', held_by_ledger: '0' },
      spent_by_ledger: String(36 * taken.length),
    },
  ]);
});

test('casts of one visitor at once leave one ballot, and hold its credits once', async () => {
  const plan = { votingMethod: 'quadratic', candidates: ['Ada'], settings: { quadraticBaseCreditBudget: 100 } };
  const event = await createPaidEvent(service, 'provider_a', { payments: {} }, [plan]);
  const visitorId = visitor();
  const [position] = event.positions;
  const votes = (value: number) => [{ positionId: position?.id, candidateId: position?.candidates[0], value }];
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, index) =>
      call(either(index), event, 'POST', '/ballot/cast', { visitorId, votes: votes(1 + (index % 10)) }),
    ),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  const rows = await service.query(
    `SELECT b.held, (SELECT (credits -> 0 ->> 'credits')::int FROM pending_ballots p WHERE p.voting_event_id = b.voting_event_id) AS pending
     FROM credit_balances b WHERE b.voting_event_id = $1`,
    [event.id],
  );
  expect(rows).toHaveLength(1);
  expect(rows[0].held).toBe(rows[0].pending);
});
