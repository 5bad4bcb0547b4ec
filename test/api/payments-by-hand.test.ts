import { describe, expect, test } from 'vitest';
import { paymentDeps } from '#src/fulfilments.ts';
import { raiseAged } from '#src/payments/manage-payment.ts';
import { demand, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { sealBallots } from '#test/harness/elections.ts';
import { parseCsv } from '#test/harness/parse-csv.ts';
import { type PaidEvent, PRICE, PROVIDERS, referenceOf, refundsOf, usePaidService } from '#test/harness/payments.ts';
import { untilTrue } from '#test/harness/test-service.ts';

// What an organizer does about a payment by hand (completions 7.4).

const { service, sandbox, poll } = await usePaidService();

const post = (event: PaidEvent, attempt: string, what: string, body?: object) =>
  event.account.of(event).post(`/payments/${attempt}/${what}`, body);
const statuses = async (attempt: string) => valuesOf(await refundsOf(service, attempt), 'status');

const owed = async ({ businessId }: PaidEvent): Promise<string[]> => {
  const words = ['payment-businesses', 'owed', '--business', businessId, '--json'];
  const { stdout } = await runCommand(service, words, {});
  return valuesOf(JSON.parse(stdout).payments, 'attempt');
};

const votes = async (event: PaidEvent): Promise<number> => {
  await sealBallots(service, event.id);
  return (await event.show('/results')).positions[0].candidates[0].votesWon;
};

describe.each(PROVIDERS)('through %s an organizer gives back', (provider) => {
  test('a payment that was not asked for: its attempt ends with the call', async () => {
    const event = await poll(provider);
    const attempt = await event.payKnown();
    expect(demand(await post(event, attempt, 'refund'), 202)).toMatchObject({
      ...{ status: 'cancelled', endReason: 'refunded', refund: { status: 'pending' } },
    });
    expect((await event.cast(attempt)).body.error.details).toEqual({ reason: 'payment_cancelled', cause: 'refunded' });
    await event.refunded(attempt);
    expect((await post(event, attempt, 'refund')).status).toBe(202);
    expect(await statuses(attempt)).toEqual(['refunded']);
  });

  test('a vote that counts: it counts until the payer has the money, and is void then', async () => {
    const event = await poll(provider, { results: { visibility: 'live' } });
    const attempt = await event.vote();
    expect(await votes(event)).toBe(1);
    sandbox.faults.newRefunds = 'pending';
    const answers = await Promise.all([1, 2, 3].map(() => post(event, attempt, 'refund')));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    await untilTrue(async () => (await statuses(attempt))[0] === 'pending');
    expect(await votes(event)).toBe(1);
    await sandbox.moveRefund(referenceOf(event, attempt), 'succeeded');
    expect(await event.refunded(attempt)).toMatchObject({ status: 'fulfilled', reversedAt: null, attention: false });
    expect(await votes(event)).toBe(0);
    expect(await statuses(attempt)).toHaveLength(1);
  });

  test('a ballot that is not confirmed: it is gone at once', async () => {
    const event = await poll(provider);
    const attempt = await event.payKnown();
    const confirmationCode = await event.castCode(attempt);
    demand(await post(event, attempt, 'refund'), 202);
    expect((await event.page('ballot/confirm', { confirmationCode })).status).toBe(404);
    expect(await event.refunded(attempt)).toMatchObject({ status: 'fulfilled' });
  });

  test('a candidacy: one that waits is rejected, one that stands withdrawn', async () => {
    const settings = { payments: { payToRegisterCandidate: PRICE[provider] }, candidate: { selfRegistration: true } };
    const event = await poll(provider, settings);
    const register = async (name: string): Promise<[string, string]> => {
      const body = { name, positionIds: [event.positions[0]?.id] };
      const attempt = await event.buy('register/candidate', body);
      return [attempt, demand(await event.page('register/candidate', { paymentAttemptId: attempt }), 201).id];
    };
    const [waiting, standing] = [await register('Cleo'), await register('Dora')];
    await event.account.change(`/voting-events/${event.id}/candidates/${standing[1]}`, { status: 'approved' });
    for (const [attempt] of [waiting, standing]) {
      demand(await post(event, attempt, 'refund'), 202);
      await event.refunded(attempt);
    }
    const statuses = await Promise.all([waiting, standing].map(([, id]) => event.show(`/candidates/${id}`)));
    expect(statuses.map(({ status }) => status)).toEqual(['rejected', 'withdrawn']);
  });

  test('nothing that was not paid, or that went back', async () => {
    const event = await poll(provider);
    const { attempt: unpaid } = await event.begin();
    expect(refusalOf(await post(event, unpaid, 'refund'))).toEqual([409, 'nothing_to_refund']);
    const reversed = await event.vote();
    await sandbox.reverse(referenceOf(event, reversed), 'refund');
    await event.reversed(reversed);
    expect(refusalOf(await post(event, reversed, 'refund'))).toEqual([409, 'nothing_to_refund']);
  });

  test('what a person has settled leaves the list, with a note; a new case comes back to it', async () => {
    const event = await poll(provider);
    sandbox.faults.paidAmount = 100;
    const [one, two] = [await event.pay(), await event.pay()];
    for (const attempt of [one, two]) {
      const seen = await event.until(attempt, ({ attention }) => attention);
      expect(seen).toMatchObject({ status: 'failed', endReason: 'amount_mismatch', paidMinor: 100 });
    }
    expect(await owed(event)).toEqual([one, two]);
    const listed = await event.show('/payments?attention=true');
    expect(valuesOf(listed, 'id')).toEqual([one, two]);
    expect((await post(event, one, 'settle', { note: '' })).status).toBe(422);
    expect(demand(await post(event, one, 'settle', { note: 'Paid back in cash' }), 200).attention).toBe(false);
    expect(refusalOf(await post(event, one, 'settle', { note: 'Again' }))).toEqual([409, 'nothing_to_settle']);
    const words = ['payment-businesses', 'settle', '--payment', two, '--note', 'By the operator', '--json'];
    expect(await runCommand(service, words, {})).toMatchObject({ code: 0 });
    expect(await owed(event)).toEqual([]);
    const settled = `SELECT after FROM audit_entries WHERE action = 'payment.settled' AND resource = $1`;
    const trail = await service.query(settled, [one]);
    expect(trail[0].after.note).toBe('Paid back in cash');
  });

  test('another amount that a person gave back at the provider is a refund of the whole, and leaves the list', async () => {
    const event = await poll(provider);
    sandbox.faults.paidAmount = 100;
    const attempt = await event.pay();
    await event.until(attempt, ({ attention }) => attention);
    await sandbox.reverse(referenceOf(event, attempt), 'refund');
    const back = await event.until(attempt, ({ refundedAt }) => refundedAt !== null);
    expect(back).toMatchObject({ status: 'failed', attention: false, refund: { status: 'refunded' } });
    expect(await owed(event)).toEqual([]);
    await sandbox.moveRefund(referenceOf(event, attempt), 'failed');
    await event.until(attempt, ({ attention }) => attention);
    expect(await owed(event)).toEqual([attempt]);
  });

  test('a refund that takes more than 72 hours asks for attention, once', async () => {
    const event = await poll(provider);
    sandbox.faults.newRefunds = 'pending';
    const attempt = await event.payKnown();
    demand(await post(event, attempt, 'refund'), 202);
    await untilTrue(async () => (await statuses(attempt))[0] === 'pending');
    await raiseAged(paymentDeps(service.deps));
    expect((await event.payment(attempt)).attention).toBe(false);
    const aged = 'UPDATE payment_refunds SET created_at = created_at - 73 * 3600000::bigint WHERE attempt_id = $1';
    await service.query(aged, [attempt]);
    for (let run = 0; run < 2; run += 1) await raiseAged(paymentDeps(service.deps));
    expect((await event.payment(attempt)).attention).toBe(true);
    const raised = `SELECT 1 FROM audit_entries WHERE action = 'payment.needs_attention' AND resource = $1`;
    expect(await service.query(raised, [attempt])).toHaveLength(1);
  });

  test.each([
    ['goes back', '?force=true', 'refunded'],
    ['stays where that is wanted', '?force=true&payments=keep', null],
  ])('what was paid in an event that is deleted %s, and is read for ever', async (_what, query, refund) => {
    const event = await poll(provider);
    const attempt = await event.vote();
    const { of, show } = event.account;
    for (const [more, status] of [
      ['?payments=keep', 400],
      ['', 409],
      [query, 204],
    ] as const)
      expect((await of(event).delete(more)).status).toBe(status);
    const list = () => show('/payments');
    await untilTrue(async () => ((await list())[0].refund?.status ?? null) === refund);
    expect(await list()).toMatchObject([
      { id: attempt, votingEventId: event.id, status: 'fulfilled', paidMinor: PRICE[provider].amountMinor },
    ]);
    expect(await show('/payments?until=1')).toEqual([]);
    const [row] = parseCsv(String((await event.account.get('/payments/csv')).body)).slice(1);
    expect(row?.[0]).toBe(attempt);
    if (refund !== null) return;
    const answer = await event.account.post(`/payments/${attempt}/refund`);
    expect(demand(answer, 202).refund.status).toBe('pending');
    await untilTrue(async () => (await list())[0].refund?.status === 'refunded');
  });
});

test('businesses say whether their money is real', async () => {
  const event = await poll('provider_a');
  expect(demand(await event.account.get('/payment-businesses'), 200)).toMatchObject([{ livemode: false }]);
});
