import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sandboxKey } from '#sandbox/sandbox-keys.ts';
import { findBusinessEver, openCredentials } from '#src/payments/business-repository.ts';
import { refreshBusiness } from '#src/payments/connect-business.ts';
import { type CommandEnd, runCommand } from '#test/harness/command-line.ts';
import { holdStatement } from '#test/harness/intercept-statements.ts';
import {
  createPaidEvent,
  type PaidEvent,
  PROVIDERS,
  type TestProvider,
  usePaidService,
} from '#test/harness/payments.ts';

const { service, sandbox } = await usePaidService();

const COUNTRY = { provider_a: 'US', provider_b: 'NG' };
const freshKey = (businessId: string, provider: TestProvider) =>
  sandboxKey(businessId, COUNTRY[provider], randomBytes(16).toString('hex'));

/** A command of its own process is pointed at the sandbox as if it were the provider. */
function run(words: readonly string[], keys: Readonly<Record<string, string>>) {
  const where = { PROVIDER_A_API_URL: sandbox.url, PROVIDER_B_API_URL: sandbox.url };
  return runCommand(service, ['payment-businesses', ...words, '--json'], { ...where, ...keys });
}

const refusal = ({ code, stdout, stderr }: CommandEnd) => [code, stdout + stderr];

/** A business of test mode that took a payment already. */
async function prepare(provider: TestProvider): Promise<PaidEvent> {
  const event = await createPaidEvent(service, provider);
  await event.payKnown();
  const real = 'UPDATE payment_businesses SET sandbox = false WHERE id = $1';
  await service.query(real, [event.businessId]);
  return event;
}

async function keysOf(id: string) {
  const business = await findBusinessEver(service.deps.db, id);
  if (business === undefined) throw new Error('no business');
  return { ...openCredentials(service.deps.secrets, business), livemode: business.livemode };
}

describe.each(PROVIDERS)('the keys of a business of %s', (provider) => {
  test('of test mode are connected where that is said, and refused elsewhere; publishable ones always', async () => {
    const account = await service.account();
    const words = ['connect', '--account', account.id, '--provider', provider, '--display-name', 'Club'];
    const connect = (key: string, ...more: string[]) =>
      run([...words, '--country', COUNTRY[provider], ...more], { PAYMENT_SECRET_KEY: key });
    const key = freshKey('biz_test', provider);
    expect(refusal(await connect(key))).toEqual([1, expect.stringContaining('--test')]);
    const publishable = await connect('pk_test_1234567890', '--test');
    expect(refusal(publishable)).toEqual([1, expect.stringContaining('publishable')]);
    expect(publishable.stdout + publishable.stderr).not.toContain('pk_test_1234567890');
    const organization = await connect('sk_org_live_1234567890');
    expect(refusal(organization)).toEqual([1, expect.stringContaining('organization')]);
    const connected = await connect(key, '--test');
    expect([connected.code, JSON.parse(connected.stdout)]).toMatchObject([0, { livemode: false, ready: true }]);
  });

  test('are changed for keys of the same account alone, and the secret of its webhook by itself', async () => {
    const event = await prepare(provider);
    const refresh = (keys: Readonly<Record<string, string>>) => run(['refresh', event.businessId], keys);
    const foreign = await refresh({ PAYMENT_SECRET_KEY: freshKey('biz_other', provider) });
    expect(refusal(foreign)).toEqual([1, expect.stringContaining('another account')]);
    const publishable = await refresh({ PAYMENT_SECRET_KEY: 'pk_test_1' });
    expect(refusal(publishable)).toEqual([1, expect.stringContaining('publishable')]);
    const live = 'UPDATE payment_businesses SET livemode = $2 WHERE id = $1';
    await service.query(live, [event.businessId, true]);
    expect(refusal(await refresh({}))).toEqual([1, expect.stringContaining('test mode')]);
    await service.query(live, [event.businessId, false]);
    const before = await keysOf(event.businessId);
    expect((await refresh({ PAYMENT_WEBHOOK_SECRET: 'whsec_fresh' })).code).toBe(0);
    expect(await keysOf(event.businessId)).toMatchObject({ secretKey: before.secretKey, webhookSecret: 'whsec_fresh' });
    if (provider === 'provider_a') {
      const wrong = await refresh({ PAYMENT_WEBHOOK_SECRET: 'sk_test_secret' });
      expect(refusal(wrong)).toEqual([1, expect.stringContaining('whsec_')]);
      const rotated = freshKey(event.businessId, provider);
      expect((await refresh({ PAYMENT_SECRET_KEY: rotated })).code).toBe(0);
      expect((await keysOf(event.businessId)).secretKey).toBe(rotated);
    }
  });

  test.each([{}, { webhookSecret: 'whsec_fresh' }])(
    'stay where another refresh with %o began before they were changed',
    async (more) => {
      const { businessId } = await createPaidEvent(service, provider);
      const { reached, free, restore } = holdStatement(/^update "payment_businesses"/);
      onTestFinished(restore);
      const early = refreshBusiness(service.deps, businessId, more);
      await reached;
      const secretKey = freshKey(businessId, provider);
      await refreshBusiness(service.deps, businessId, { secretKey });
      free();
      await early;
      expect(await keysOf(businessId)).toMatchObject({ secretKey, ...more });
    },
  );

  test('can be changed after it was disconnected, for the refunds of its payments; it stays disconnected', async () => {
    const { businessId, account } = await prepare(provider);
    await service.query('UPDATE payment_businesses SET disconnected_at = 1 WHERE id = $1', [businessId]);
    const secret = { PAYMENT_WEBHOOK_SECRET: 'whsec_fresh' };
    const key = freshKey(businessId, provider);
    // The sandbox knows a payment of provider_b by the key that took it.
    const changed = provider === 'provider_a' ? { ...secret, PAYMENT_SECRET_KEY: key } : secret;
    expect((await run(['refresh', businessId], changed)).code).toBe(0);
    const secretKey = provider === 'provider_a' ? key : expect.any(String);
    expect(await keysOf(businessId)).toMatchObject({ secretKey, webhookSecret: 'whsec_fresh' });
    const { stdout } = await run(['check', '--business', businessId], {});
    expect(JSON.parse(stdout).findings).toContainEqual(expect.objectContaining({ what: 'keys', ok: true }));
    expect(JSON.parse((await run(['list', '--account', account.id], {})).stdout)).toEqual([]);
  });
});
