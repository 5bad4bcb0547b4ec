import { expect, test, vi } from 'vitest';
import { paymentDeps } from '#src/fulfilments.ts';
import { refundPaymentJob } from '#src/payments/refund-payment.ts';
import { demand } from '#test/harness/answers.ts';
import { refundsOf, usePaidService } from '#test/harness/payments.ts';

// Without jobs: the provider is asked where the test says so, and the organizer settles while it answers.
const { service, poll } = await usePaidService({ worker: false });

test('a payment cannot be settled by hand while the provider is giving it back', async () => {
  const event = await poll('provider_a');
  const attempt = await event.payKnown();
  const post = (what: string, body?: object) => event.account.of(event).post(`/payments/${attempt}/${what}`, body);
  demand(await post('refund'), 202);
  const deps = paymentDeps(service.deps);
  const { payments } = deps;
  let settled: number | undefined;
  const of: typeof payments.of = (business) => {
    const provider = payments.of(business);
    const refund = vi.fn(async (...order: Parameters<typeof provider.refund>) => {
      const result = await provider.refund(...order);
      settled = (await post('settle', { note: 'Paid back in cash' })).status;
      return result;
    });
    return Object.create(provider, { refund: { value: refund } });
  };
  const [{ payload }] = await service.query("SELECT payload FROM jobs WHERE name = 'refund_payment'");
  const job = refundPaymentJob({ ...deps, payments: Object.create(payments, { of: { value: of } }) });
  await job.work(payload, { id: '1', attempt: 1, last: false });
  const [row] = await refundsOf(service, attempt);
  // The provider has given the money back. Either the service says so, and refuses the settlement, or it has not asked the provider.
  expect([settled, row?.status]).toEqual([409, 'refunded']);
});

test('a payment that was settled by hand while the provider was searched is owed no longer', async () => {
  const event = await poll('provider_b');
  const attempt = await event.payKnown();
  const post = (what: string, body?: object) => event.account.of(event).post(`/payments/${attempt}/${what}`, body);
  demand(await post('refund'), 202);
  const deps = paymentDeps(service.deps);
  const { payments } = deps;
  const owed: boolean[] = [];
  const of: typeof payments.of = (business) => {
    const refund = vi.fn<ReturnType<typeof payments.of>['refund']>(async (_credentials, { isStillOwed }) => {
      owed.push(await isStillOwed());
      const settle = async () => (await post('settle', { note: 'Paid back in cash' })).status;
      expect(await settle()).toBe(409);
      // As if the search had taken longer than the note that the provider is being asked.
      await service.query('UPDATE payment_refunds SET asked_until = now_ms() - 1 WHERE attempt_id = $1', [attempt]);
      expect(await settle()).toBe(200);
      owed.push(await isStillOwed());
      return { kind: 'refused', code: null };
    });
    return Object.create(payments.of(business), { refund: { value: refund } });
  };
  const [{ payload }] = await service.query(
    "SELECT payload FROM jobs WHERE name = 'refund_payment' AND payload ->> 'attemptId' = $1",
    [attempt],
  );
  const job = refundPaymentJob({ ...deps, payments: Object.create(payments, { of: { value: of } }) });
  await job.work(payload, { id: '1', attempt: 1, last: false });
  expect(owed).toEqual([true, false]);
});
