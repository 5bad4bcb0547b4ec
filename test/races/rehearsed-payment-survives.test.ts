import { expect, test } from 'vitest';
import { countWaiting } from '#test/harness/count-waiting.ts';
import { demand, visitor } from '#test/harness/elections.ts';
import { createPaidEvent, RETURN_URL, usePaidService } from '#test/harness/payments.ts';
import { untilTrue } from '#test/harness/test-service.ts';

// Without jobs: the end of a rehearsal comes between the two transactions of a first call.
const { service } = await usePaidService({ worker: false });

const waits = (statement: string) => untilTrue(async () => (await countWaiting(service, statement)) > 0);

test('no payment of a rehearsal, which takes no money, buys a vote of the real poll', async () => {
  const plan = { votingMethod: 'quadratic', candidates: ['Ada', 'Bea'], settings: { quadraticBaseCreditBudget: 10 } };
  const event = await createPaidEvent(service, 'provider_a', {}, [plan], false);
  await event.change({ status: 'rehearsal' });
  const visitorId = visitor();
  const [position] = event.positions;
  const votes = [{ positionId: position?.id, candidateId: position?.candidates[0], value: 1 }];
  const [one, two] = [await service.deps.db.$client.connect(), await service.deps.db.$client.connect()];
  let first: Awaited<ReturnType<typeof event.page>>;
  try {
    // The first call has stored its attempt and waits for its credits.
    await one.query('BEGIN');
    await one.query('SELECT lock_credits($1, $2)', [event.id, visitorId]);
    const headers = { 'Idempotency-Key': `first-${event.id}` };
    const asked = event.account.page(event, 'ballot/cast', { visitorId, votes, returnUrl: RETURN_URL }, headers);
    await waits('%hold_for_attempt%');
    // The organizer opens the poll: no payment of the rehearsal is seen, and the first call is waited for.
    const opened = event.account.of(event).patch('', { status: 'open' });
    await waits('select "id", "account_id", "code"%');
    // The first call stores its page while the rehearsal is wiped.
    await two.query('BEGIN');
    await two.query("SELECT 1 FROM idempotency_keys WHERE starts_with(key, 'rehearsal/') FOR UPDATE");
    await one.query('COMMIT');
    await waits('%end_rehearsal%');
    await two.query('COMMIT');
    first = await asked;
    demand(await opened, 200);
  } finally {
    one.release();
    two.release();
  }
  expect((await event.show('')).status).toBe('open');
  const { paymentAttemptId } = demand(first, 402);
  await fetch(`${service.url}/rehearsal-payments/${paymentAttemptId}`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ outcome: 'pay' }),
  });
  const second = await event.page('ballot/cast', { paymentAttemptId });
  const confirmationCode = second.body.data?.confirmationCode;
  const confirmed =
    confirmationCode === undefined ? undefined : await event.page('ballot/confirm', { confirmationCode });
  expect([second.status, confirmed?.status, (await event.show('/payments')).length]).toEqual([404, undefined, 0]);
});
