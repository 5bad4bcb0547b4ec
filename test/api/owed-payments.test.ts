import { describe, expect, test } from 'vitest';
import { runCommand } from '#test/harness/command-line.ts';
import { demand } from '#test/harness/elections.ts';
import {
  createPaidEvent,
  type PaidEvent,
  PRICE,
  PROVIDERS,
  referenceOf,
  usePaidService,
} from '#test/harness/payments.ts';

const { service, sandbox } = await usePaidService();

const listOwed = async ({ businessId }: Pick<PaidEvent, 'businessId'>) => {
  const words = ['payment-businesses', 'owed', '--business', businessId, '--json'];
  const { code, stdout, stderr } = await runCommand(service, words, {});
  return { code, stderr, payments: stdout === '' ? [] : JSON.parse(stdout).payments };
};

describe.each(PROVIDERS)('the list of what is owed through %s', (provider) => {
  test('holds a voided vote whose refund failed, and another amount than was asked for, and nothing else', async () => {
    const event = await createPaidEvent(service, provider);
    const [kept, voided] = [await event.pay(), await event.pay()];
    for (const attempt of [kept, voided]) demand(await event.cast(attempt), 201);
    await sandbox.reverse(referenceOf(event, voided), 'refund');
    await event.until(voided, ({ reversedAt }) => reversedAt !== null);
    expect(await listOwed(event)).toEqual({ code: 0, stderr: '', payments: [] });
    await sandbox.moveRefund(referenceOf(event, voided), 'failed');
    await event.until(voided, ({ refund }) => refund !== null);
    sandbox.faults.paidAmount = 100;
    const other = await event.pay();
    await event.until(other, ({ status }) => status === 'failed');

    const { code, payments } = await listOwed(event);
    const { amountMinor, currency } = PRICE[provider];
    expect([code, payments]).toEqual([
      1,
      [
        expect.objectContaining({ attempt: voided, event: event.id, refund: 'failed', amountMinor, currency }),
        expect.objectContaining({ attempt: other, event: event.id, refund: null, amountMinor: null, currency }),
      ],
    ]);
  }, 60_000);
});

test('the list of what is owed knows no other business, and a provider that is not registered is refused', async () => {
  expect((await listOwed({ businessId: 'biz_none' })).code).toBe(1);
  const words = ['payment-businesses', 'connect', '--account', 'acc_x', '--provider', 'provider_z'];
  const ended = await runCommand(service, [...words, '--display-name', 'X', '--country', 'DE'], {});
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('provider_a or provider_b') });
}, 60_000);
