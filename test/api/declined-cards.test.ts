import { describe, expect, test } from 'vitest';
import { demand } from '#test/harness/elections.ts';
import { createPaidEvent, decide, type PaidEvent, PROVIDERS, usePaidService } from '#test/harness/payments.ts';
import { eventually } from '#test/harness/test-service.ts';

const DAY_MS = 86_400_000;
const { service, sandbox } = await usePaidService();

const statusOf = async ({ id, account }: PaidEvent, attempt: string): Promise<string> => {
  return demand(await account.page({ id }, `payments/${attempt}`), 200).status;
};

const untilStatus = (event: PaidEvent, attempt: string, status: string) =>
  eventually(async () => ((await statusOf(event, attempt)) === status ? true : undefined));

/** A payer whose card is declined: the page takes them to itself again. */
async function decline(url: string): Promise<void> {
  sandbox.faults.declineTimes = 1;
  expect(new URL(await decide(url, 'pay'), url).href).toBe(url);
}

/** The page is over, at the provider or here, as the provider has it. */
async function endPage({ provider }: PaidEvent, attempt: string): Promise<void> {
  if (provider === 'provider_a') sandbox.advance(3_600_000);
  else await service.query('UPDATE payment_attempts SET expires_at = 1 WHERE id = $1', [attempt]);
}

describe.each(PROVIDERS)('a card that %s declines', (provider) => {
  test('ends nothing: a second try on the same page ends in a counted vote', async () => {
    const event = await createPaidEvent(service, provider);
    const { attempt, url } = await event.begin();
    await decline(url);
    expect(await (await fetch(url)).text()).toContain('The bank refused this card');
    const waiting = await event.cast(attempt);
    expect([waiting.status, waiting.body.data.status]).toEqual([402, 'pending']);
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    expect(await statusOf(event, attempt)).toBe('pending');
    await decide(url, 'pay');
    await untilStatus(event, attempt, 'succeeded');
    const { confirmationCode } = demand(await event.cast(attempt), 201);
    demand(await event.page('ballot/confirm', { confirmationCode }), 200);
    const results = await event.account.get(`/voting-events/${event.id}/results`);
    expect(demand(results, 200).stats.ballots).toBe(1);
  });

  test('is the last word when its page ends: failed, and cancelled where there was no try', async () => {
    const event = await createPaidEvent(service, provider);
    const [declined, left] = [await event.begin(), await event.begin()];
    await decline(declined.url);
    await decide(left.url, 'cancel');
    for (const { attempt } of [declined, left]) await endPage(event, attempt);
    try {
      await untilStatus(event, declined.attempt, 'failed');
      await untilStatus(event, left.attempt, 'cancelled');
    } finally {
      if (provider === 'provider_a') sandbox.advance(-3_600_000);
    }
    const reasons = await Promise.all(
      [declined, left].map(async ({ attempt }) => (await event.cast(attempt)).body.error),
    );
    expect(reasons.map(({ details }) => details.reason)).toEqual(['payment_failed', 'payment_expired']);
  });
});

test('a page of provider_b whose day is over has failed for good where its last try was refused', async () => {
  const event = await createPaidEvent(service, 'provider_b');
  const { attempt, url } = await event.begin();
  await decline(url);
  sandbox.advance(DAY_MS);
  try {
    await untilStatus(event, attempt, 'failed');
  } finally {
    sandbox.advance(-DAY_MS);
  }
});
