import type { Browser, Locator, Page, Request } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WITH_CONSOLE } from '#test/harness/console.ts';
import { demand, PLURALITY, visitor, votesFor } from '#test/harness/elections.ts';
import { checkoutUrlOf, createPaidEvent, usePaidService } from '#test/harness/payments.ts';
import type { TestAccount } from '#test/harness/test-service.ts';
import { findViolations } from './axe.ts';
import { hasBrowser, useBrowser } from './chromium.ts';

const LIMIT = { timeout: 300_000 };
const VIEWS = [
  { viewport: { width: 1_280, height: 900 }, colorScheme: 'light' },
  { viewport: { width: 1_280, height: 900 }, colorScheme: 'dark' },
  { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
] as const;

const paid = await usePaidService(WITH_CONSOLE);
// A name that somebody else has pointed to this machine.
const browser = await useBrowser('--host-resolver-rules=MAP evil.example 127.0.0.1');
const base = `http://localhost:${paid.service.port}`;

async function open(options: Parameters<Browser['newContext']>[0] = {}) {
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'], ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const [outside, faults]: [string[], string[]] = [[], []];
  const note = (request: Request): void => {
    if (!request.url().startsWith(base) && !request.url().startsWith('data:')) outside.push(request.url());
  };
  page.on('requestfinished', note);
  page.on('requestfailed', (request) => {
    // What the policy of a page forbids is never sent.
    if (request.failure()?.errorText !== 'csp') note(request);
  });
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
  page.on('pageerror', (fault) => faults.push(fault.message));
  await page.goto(`${base}/console`);
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  return { page, outside, faults };
}

/** Goes to a part by the keyboard. */
async function goTo(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 2, name }).waitFor();
}
async function press(target: Locator): Promise<void> {
  await target.focus();
  await target.press('Enter');
}
const rowOf = (page: Page, words: string | RegExp): Locator => page.locator('.rows > li').filter({ hasText: words });

async function mailVoterKey(account: TestAccount, email: string): Promise<void> {
  const { service } = paid;
  const settings = {
    ...{ type: 'election', title: 'The board', votingPageUrl: 'https://club.example/vote#key={voterKey}' },
    logoUrl: 'https://club.example/logo.png',
  };
  const election = await account.event(settings, PLURALITY, false);
  const key = { key: account.write };
  demand(await service.call('POST', `/voting-events/${election.id}/voters`, { name: 'Vera', email }, key), 201);
  demand(await service.call('PATCH', `/voting-events/${election.id}`, { status: 'open' }, key), 200);
  const ask = `/public/voting-events/${election.code}/voter-key/request`;
  demand(await service.call('POST', ask, { email }, { key: account.vote }), 200);
}

describe.runIf(hasBrowser)('the console', LIMIT, () => {
  test('shows mails, requests, payments, webhooks and results as they come, and is worked by the keyboard', async () => {
    const { service } = paid;
    const account = await service.account();
    const { page, outside, faults } = await open();

    await mailVoterKey(account, 'vera@club.example');
    const mail = rowOf(page, 'vera@club.example');
    await mail.waitFor();
    const key = (await mail.locator('.key').textContent()) ?? '';
    expect(key).toMatch(/^[0-9A-Z]{4}(-[0-9A-Z]{4}){3}$/);
    await press(mail.getByRole('button', { name: `Copy ${key}` }));
    await mail.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key);
    const vote = mail.locator('a').first();
    expect([await vote.getAttribute('href'), await vote.getAttribute('target')]).toEqual([
      `https://club.example/vote#key=${key}`,
      '_blank',
    ]);
    await press(mail.getByText('As mail programs show it'));
    await page.frameLocator('iframe').getByText(key).waitFor();
    const [popup] = await Promise.all([
      page.context().waitForEvent('page'),
      page.frameLocator('iframe').getByRole('link').click(),
    ]);
    await popup.close();
    await press(mail.getByText('Text', { exact: true }));
    await mail.locator('pre').filter({ hasText: key }).waitFor();
    // The newest stands first, and what was open stays open.
    await mailVoterKey(account, 'nora@club.example');
    await rowOf(page, 'nora@club.example').waitFor();
    expect(await page.locator('#mail-rows > li').first().textContent()).toContain('nora@club.example');
    await page.frameLocator('iframe').getByText(key).waitFor();

    await account.get('/voting-events/NOTHING1');
    await goTo(page, 'Requests');
    const refused = rowOf(page, 'not_found').first();
    await refused.waitFor();
    expect(await refused.textContent()).toMatch(/^404 GET \/voting-events\/:idOrCode not_found +acc_\w+ · vsk_…/);
    await page.getByLabel('Refused only').focus();
    await page.keyboard.press('Space');
    await page.getByLabel('Find').fill(account.id);
    expect(await page.locator('#request-rows > li').count()).toBe(1);

    const event = await createPaidEvent(service, 'provider_a');
    const votes = votesFor(event);
    const body = { visitorId: visitor(), votes, returnUrl: 'https://shop.example/back' };
    const castAt = `/public/voting-events/${event.code}/ballot/cast`;
    const cast = await service.call('POST', castAt, body, { key: event.account.vote });
    await goTo(page, 'Payments');
    const payment = rowOf(page, 'USD 5.00');
    await payment.waitFor();
    expect(await payment.getByRole('link', { name: 'Open the page' }).getAttribute('href')).toBe(checkoutUrlOf(cast));
    await press(payment.getByRole('button', { name: 'Cancel' }));
    await press(payment.getByRole('button', { name: /^Pay/ }));
    await payment.getByText('paid', { exact: true }).waitFor();
    expect(await payment.getByRole('button').count()).toBe(0);
    await press(page.getByRole('button', { name: '1 day' }));

    await goTo(page, 'Inbox');
    const written = (await page.locator('#subscribe').textContent()) ?? '';
    const endpoint = JSON.parse(/-d '(.+?)'/.exec(written)?.[1] ?? '');
    const { id } = await account.make('/webhook-endpoints', endpoint);
    await account.post(`/webhook-endpoints/${id}/test`);
    const received = page.locator('#message-rows > li').filter({ hasText: 'webhook_endpoint.test' });
    await received.filter({ hasText: 'signature verified' }).waitFor();
    await press(received.getByRole('button', { name: 'Replay' }));
    await received.nth(1).waitFor();
    await goTo(page, 'Webhooks');
    const sent = page.locator('#delivery-rows > li').filter({ hasText: '2 attempts' });
    await sent.waitFor();
    expect(await sent.textContent()).toMatch(/webhook_endpoint\.test delivered .*\/console\/inbox\/mine/);
    expect(await sent.getByLabel('Attempts').getByRole('listitem').count()).toBe(2);

    const poll = await account.event({ title: 'Counted here' });
    await goTo(page, 'Results');
    const counted = rowOf(page, 'Counted here');
    await counted.getByText('0 ballots').first().waitFor();
    const [position] = poll.positions;
    await account.votePoll(poll, [{ positionId: position?.id, candidateId: position?.candidates[1] }]);
    await counted.getByRole('progressbar', { name: 'Bea: 1' }).waitFor();

    // All parts at once.
    await page.evaluate('for (const section of document.querySelectorAll("section")) section.hidden = false');
    for (const view of VIEWS) {
      await page.setViewportSize(view.viewport);
      await page.emulateMedia({ colorScheme: view.colorScheme });
      expect([view, await findViolations(page)]).toEqual([view, []]);
      const isWider = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth');
      expect([view, isWider]).toEqual([view, false]);
    }
    expect([outside, faults.filter((fault) => !fault.includes('logo.png'))]).toEqual([[], []]);
  });

  test('is not there under a name that somebody pointed to this machine', async () => {
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const answer = await page.goto(`http://evil.example:${paid.service.port}/console`);
    expect(answer?.status()).toBe(404);
    expect(await page.textContent('body')).toContain('Nothing was found at this address.');
  });

  test('keeps the focus where it was when a row changes, and says what was refused', async () => {
    const { service } = paid;
    const { page } = await open();
    const event = await createPaidEvent(service, 'provider_b');
    const votes = votesFor(event);
    const body = { email: 'payer@club.example', visitorId: visitor(), votes, returnUrl: 'https://shop.example/back' };
    await service.call('POST', `/public/voting-events/${event.code}/ballot/cast`, body, { key: event.account.vote });
    await goTo(page, 'Payments');
    const payment = rowOf(page, 'NGN 500.00');
    await payment.waitFor();
    paid.sandbox.faults.declineTimes = 1;
    await press(payment.getByRole('button', { name: /^Pay/ }));
    await payment.getByText('card declined').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Pay');
    await press(payment.getByRole('button', { name: /^Fail/ }));
    await payment.getByText('failed', { exact: true }).waitFor();
    expect(await page.evaluate("document.activeElement.closest('.rows') !== null")).toBe(true);
    // A page of an earlier start holds a token that is of no use.
    await page.route('**/console/clock', (route) =>
      route.continue({ headers: { ...route.request().headers(), 'x-console-token': 'old' } }),
    );
    await page.getByRole('button', { name: '1 hour' }).click();
    await page.getByRole('alert').filter({ hasText: 'Load the page again.' }).waitFor();
  });
});
