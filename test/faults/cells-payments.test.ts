import { isDeepStrictEqual } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { cellsOf } from '#test/harness/cells.ts';
import { PLURALITY } from '#test/harness/elections.ts';
import { holdStatement, interceptStatements } from '#test/harness/intercept-statements.ts';
import { decide, PROVIDERS, usePaidService } from '#test/harness/payments.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';
import { useDatabase } from '#test/harness/use.ts';

// Payments beside a move of their account (docs/scaling.md, "A move"; completions 7.2, 7.3).

const databaseB = await useDatabase();
const { service, sandbox, poll } = await usePaidService({ environment: { DATABASE_CELLS: `b=${databaseB.url}` } });
const { leaveBetween, move, read } = cellsOf(service);

test.each(PROVIDERS)(
  'a payer whose %s is slow while the account moves is told to repeat, and then served',
  async (provider) => {
    const event = await poll(provider);
    sandbox.faults.webhooks = 'lost';
    const { attempt, url } = await event.begin();
    await decide(url, 'pay');
    // Longer than a move waits for requests under way.
    sandbox.faults.latencyMs = 3_500;
    const asked = Promise.withResolvers<void>();
    onTestFinished(
      interceptStatements((text, send) => {
        if (text.includes('asking_until')) asked.resolve();
        return send();
      }),
    );
    const casting = event.cast(attempt);
    await asked.promise;
    await move(event.account, 'main', 'b');
    const { status, headers } = await casting;
    expect(status === 201 || (status === 500 && headers.get('Retry-After') !== null)).toBe(true);
    sandbox.faults.latencyMs = 0;
    const served = await eventually(async () => {
      const again = await event.cast(attempt);
      return again.status === 500 ? undefined : again;
    });
    expect(served.status).toBe(201);
  },
);

test('a message of a provider is stored in the cell of its business, or not taken', async () => {
  const event = await poll('provider_a');
  const { url } = await event.begin();
  // Its business was found, and is looked for again in the transaction that stores it.
  const { reached, free, restore } = holdStatement(/"payment_businesses".* for key share/is);
  onTestFinished(restore);
  await decide(url, 'pay');
  await reached;
  await move(event.account, 'main', 'b');
  free();
  const stored = 'SELECT 1 FROM provider_events WHERE payment_business_id = $1';
  // The provider sends it again.
  await eventually(async () => ((await read('b', stored, [event.businessId])).length > 0 ? true : undefined), 60_000);
  expect(await read('main', stored, [event.businessId])).toEqual([]);
});

test.each(PROVIDERS)(
  'messages of %s and pages of a rehearsed payment are to be asked again while their account is between two cells',
  async (provider) => {
    const event = await poll(provider, {}, PLURALITY, false);
    await event.change({ status: 'rehearsal' });
    const { attempt } = await event.begin();
    const ask = async () => {
      const page = await service.call('GET', `/rehearsal-payments/${attempt}`);
      // The message has no signature: once its payment business is found, it is refused for that.
      const message = await service.call('POST', `/provider-webhooks/${provider}/${event.businessId}`, {});
      return [page, message];
    };
    const statuses = async () => (await ask()).map(({ status }) => status);
    const free = await leaveBetween(event.account, 'main', 'b');
    const between = (await ask()).map(({ status, headers }) => [status, headers.get('Retry-After')]);
    expect(between).toEqual([
      [500, expect.any(String)],
      [500, expect.any(String)],
    ]);
    await free();
    await untilTrue(async () => isDeepStrictEqual(await statuses(), [200, 400]));
  },
);
