import { expect, test, vi } from 'vitest';
import { paymentDeps } from '#src/fulfilments.ts';
import { raiseAged } from '#src/payments/manage-payment.ts';
import { demand } from '#test/harness/answers.ts';
import { refundsOf, usePaidService } from '#test/harness/payments.ts';
import { untilTrue } from '#test/harness/test-service.ts';

const { service, sandbox, poll } = await usePaidService();

test('what a person settles while old payments are looked for stays settled', async () => {
  const event = await poll('provider_a');
  sandbox.faults.newRefunds = 'pending';
  const attempt = await event.payKnown();
  const post = (what: string, body?: object) => event.account.of(event).post(`/payments/${attempt}/${what}`, body);
  demand(await post('refund'), 202);
  await untilTrue(async () => (await refundsOf(service, attempt))[0]?.status === 'pending');
  await service.query(
    'UPDATE payment_refunds SET created_at = created_at - 73 * 3600000::bigint WHERE attempt_id = $1',
    [attempt],
  );
  const { db } = service.deps;
  // The job has listed the payments that are too old; before it locks the first of them, the organizer settles it.
  const execute = vi.fn(async (statement: never) => {
    const listed = await db.execute(statement);
    expect(demand(await post('settle', { note: 'Paid back in cash' }), 200).attention).toBe(false);
    return listed;
  });
  await raiseAged({ ...paymentDeps(service.deps), db: Object.create(db, { execute: { value: execute } }) });
  expect(execute).toHaveBeenCalledOnce();
  // Either order ends so: the job finds nothing after the settlement, or the settlement ends what it raised.
  expect((await event.payment(attempt)).attention).toBe(false);
  expect(
    await service.query('SELECT 1 FROM payment_attempts WHERE id = $1 AND settled_at IS NOT NULL', [attempt]),
  ).toHaveLength(1);
});
