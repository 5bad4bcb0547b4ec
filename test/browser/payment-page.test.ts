import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { sandboxKey } from '#sandbox/sandbox-keys.ts';
import { startSandbox } from '#sandbox/start-sandbox.ts';
import { createProviderA } from '#src/payment-providers/provider-a.ts';
import { use } from '#test/harness/use.ts';
import { hasBrowser, useBrowser } from './chromium.ts';
import { FAINT_TEXTS } from './faint-texts.ts';

const browser = await useBrowser();
const sandbox = await use(startSandbox({ production: false, now: () => Date.now(), webhookTarget: () => undefined }));

async function openCheckout() {
  const provider = createProviderA({ now: () => Date.now(), baseUrl: sandbox.url });
  const credentials = { secretKey: sandboxKey('biz_page', 'US', randomBytes(16).toString('hex')) };
  const attemptId = `pay_${randomBytes(6).toString('hex')}`;
  const page = await provider.createCheckout(credentials, {
    attemptId,
    reference: attemptId,
    amountMinor: 123_450,
    currency: 'usd',
    title: 'A title <b>with</b> Ọlá & 山田',
    returnUrl: `${sandbox.url}/done/back`,
    description: 'Your vote in the festival poll',
    cancelUrl: `${sandbox.url}/done/cancel`,
    createdAtMs: Date.now(),
  });
  const read = () => provider.readCheckout(credentials, { reference: attemptId, page });
  return { url: page.checkoutUrl, attemptId, read };
}

describe.runIf(hasBrowser).each([
  ['a desk', { width: 1_280, height: 800 }],
  ['a phone', { width: 360, height: 740 }],
])('the payment page on %s', (_where, viewport) => {
  test('shows amount, title and three buttons, asks nobody outside, and fits', async () => {
    const page = await browser.newPage({ viewport });
    const outside: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(sandbox.url)) outside.push(request.url());
    });
    const faults: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text());
    });
    const { url } = await openCheckout();
    await page.goto(url);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('USD 1,234.50');
    expect(await page.getByText('A title <b>with</b> Ọlá & 山田').isVisible()).toBe(true);
    expect(await page.getByText('Your vote in the festival poll').isVisible()).toBe(true);
    for (const name of [/^Pay/, 'Decline', 'Cancel']) {
      const button = page.getByRole('button', { name });
      expect(await button.isVisible()).toBe(true);
      const box = await button.boundingBox();
      // A thumb hits what is at least 44 pixels high.
      expect(box?.height ?? 0).toBeGreaterThanOrEqual(44);
      expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 0) <= viewport.width).toBe(true);
    }
    const overflow = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth');
    expect(overflow).toBe(false);
    expect([outside, faults]).toEqual([[], []]);
    await page.close();
  });

  test.each([
    [/^Pay/, '/done/back', 'paid'],
    ['Decline', '/done/back', 'failed'],
    ['Cancel', '/done/cancel', 'unpaid'],
  ] as const)('sends the payer on when they press %s', async (name, way, state) => {
    const page = await browser.newPage({ viewport });
    const checkout = await openCheckout();
    await page.goto(checkout.url);
    await page.getByRole('button', { name }).click();
    await page.waitForURL((url) => url.pathname === way);
    if (state !== 'unpaid') expect(new URL(page.url()).searchParams.get('paymentAttemptId')).toBe(checkout.attemptId);
    expect((await checkout.read()).kind).toBe(state);
    await page.close();
  });

  test('takes a payment by the keyboard alone, and shows where the focus is', async () => {
    const page = await browser.newPage({ viewport });
    const checkout = await openCheckout();
    await page.goto(checkout.url);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.value')).toBe('pay');
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname === '/done/back');
    expect((await checkout.read()).kind).toBe('paid');
    await page.close();
  });

  test('tells a payer who comes back to it how it ended, and shows the way on', async () => {
    const page = await browser.newPage({ viewport });
    const { url, attemptId } = await openCheckout();
    await page.goto(url);
    await page.getByRole('button', { name: 'Decline' }).click();
    await page.waitForURL((at) => at.pathname === '/done/back');
    await page.goto(url);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Declined');
    expect(await page.getByText('USD 1,234.50').isVisible()).toBe(true);
    expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')).toBe(false);
    await page.getByRole('link', { name: 'Go back to the merchant' }).click();
    await page.waitForURL((at) => at.searchParams.get('paymentAttemptId') === attemptId);
    await page.close();
  });

  test.each(['light', 'dark'] as const)(
    'can be read in %s colours: at least 4.5 to 1 everywhere',
    async (colorScheme) => {
      const page = await browser.newPage({ viewport, colorScheme });
      await page.goto((await openCheckout()).url);
      expect(await page.evaluate(FAINT_TEXTS)).toEqual([]);
      await page.close();
    },
  );
});
