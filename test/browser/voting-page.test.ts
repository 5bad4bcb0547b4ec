import { readdirSync, readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { renderSVG } from 'uqr';
import { describe, expect, onTestFinished, test } from 'vitest';
import { demand } from '#test/harness/elections.ts';
import { usePaidService } from '#test/harness/payments.ts';
import { readMails } from '#test/harness/read-mail.ts';
import { eventually } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';
import { startVotingPage, type VotingPage } from '#test/harness/voting-page.ts';
import { findViolations } from './axe.ts';
import { hasBrowser, useBrowser } from './chromium.ts';

const VERA = 'vera@club.example';
/** Each test goes a voter's whole way, in a browser beside a database. */
const LIMIT = { timeout: 300_000 };

const paid = await usePaidService();
const browser = await useBrowser();

interface Voter {
  readonly voting: VotingPage;
  readonly page: Page;
  /** Everything that went to another address than the page's own. */
  readonly outside: string[];
  readonly faults: string[];
}

interface View {
  readonly where: string;
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme: 'light' | 'dark';
}
const PHONE: View = { where: 'a phone', viewport: { width: 390, height: 844 }, colorScheme: 'light' };
const DESK: View = { where: 'a desk', viewport: { width: 1_280, height: 800 }, colorScheme: 'dark' };

/** A browser before a page of its own: the example with a demo that nobody has voted in. */
async function openVoter({ viewport, colorScheme }: View = PHONE): Promise<Voter> {
  const voting = await startVotingPage(paid.service);
  const context = await browser.newContext({ viewport, colorScheme });
  onTestFinished(async () => {
    await Promise.all([voting.stop(), context.close()]);
  });
  const page = await context.newPage();
  const { origin } = new URL(voting.election);
  const [outside, faults]: [string[], string[]] = [[], []];
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) outside.push(request.url());
  });
  page.on('console', (message) => {
    // The browser notes every refusal of the server.
    if (message.type() === 'error' && !message.text().includes('status of 4')) faults.push(message.text());
  });
  page.on('pageerror', (fault) => faults.push(fault.message));
  return { voting, page, outside, faults };
}

/** Whatever a state of the page must always be: without a violation, and no wider than the screen. */
async function expectSound(page: Page, state: string): Promise<void> {
  expect([state, await findViolations(page)]).toEqual([state, []]);
  expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'), `${state}`).toEqual(false);
}

const heading = (page: Page, name: string): Locator => page.getByRole('heading', { level: 2, name });
/** Presses a button. Where there is none in time, the error says what is there instead. */
async function press(page: Page, name: string | RegExp): Promise<void> {
  const button = page.getByRole('button', { name });
  await button.click().catch(async (fault: unknown) => {
    throw new Error(`no ${name} at ${page.url()}: ${await page.locator('body').innerText()}`, { cause: fault });
  });
}

/** The link of the mail that brought a voter key, led to the page under test. */
async function linkFromMail(voting: VotingPage, email: string): Promise<string> {
  const { text } = await eventually(() =>
    readMails(paid.service).findLast((mail) => mail.to.includes(email) && mail.text.includes(voting.demo.event)),
  );
  return (/https:\/\/vote\.club\.example\S+/.exec(text)?.[0] ?? '').replace(/^https:\/\/[^/]+\/\w+/, voting.election);
}

async function askForKey({ voting, page }: Voter, email = VERA): Promise<string> {
  await page.goto(voting.election);
  await page.getByLabel('E-mail address').fill(email);
  await press(page, 'Mail me a key');
  await page.getByText('is on its way').waitFor();
  return linkFromMail(voting, email);
}

/** Opens a link as a mail program does: even where the page of it is open already. */
async function follow(page: Page, link: string): Promise<void> {
  await page.goto('about:blank');
  await page.goto(link);
}

const isFocused = async (page: Page, target: Locator): Promise<boolean> =>
  (await target.and(page.locator(':focus')).count()) === 1;

/** Presses Tab until the focus is on what a screen reader calls so. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let presses = 0; presses < 80; presses += 1) {
    if (await isFocused(page, target)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error('the keyboard does not get there');
}
async function pressKeys(page: Page, target: Locator, ...keys: string[]): Promise<void> {
  await tabTo(page, target);
  for (const key of keys) await page.keyboard.press(key);
}

const results = async ({ demo }: VotingPage, code: string) =>
  (await paid.service.call('GET', `/voting-events/${code}/results`, undefined, { key: demo.readKey })).body.data;

describe.runIf(hasBrowser).each([PHONE, DESK])('the voting page on $where', LIMIT, (view) => {
  test('takes an election’s vote by the keyboard alone, from the link of the mail to the check in the browser', async () => {
    const voter = await openVoter(view);
    const { voting, page, outside, faults } = voter;
    const link = await askForKey(voter);
    await expectSound(page, 'who are you');
    await follow(page, link);
    await heading(page, 'Your ballot').waitFor();
    expect(page.url()).toBe(voting.election);
    await expectSound(page, 'ballot of an election');

    const button = (name: string) => page.getByRole('button', { name });
    await pressKeys(page, button('Rank Greta Lind'), 'Enter');
    await pressKeys(page, button('Rank Nguyễn Minh'), 'Enter');
    await pressKeys(page, button('Move up Nguyễn Minh'), 'Enter');
    await page.getByText('Nguyễn Minh is choice 1 of 2.').waitFor();
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Move down Nguyễn Minh');
    await pressKeys(page, page.getByRole('group', { name: 'Treasurer' }).getByLabel('No answer'), 'ArrowUp');
    await pressKeys(
      page,
      page.getByRole('group', { name: 'Shall the club move?' }).getByLabel('No answer'),
      'ArrowDown',
    );
    await pressKeys(page, button('Continue'), 'Enter');
    await heading(page, 'Look once more').waitFor();
    expect(await page.locator('dd').allTextContents()).toEqual(['1. Nguyễn Minh, 2. Greta Lind', 'Amir Haddad', 'Yes']);
    await expectSound(page, 'look once more');
    // A reload loses nothing.
    await page.reload();
    await heading(page, 'Look once more').waitFor();
    await pressKeys(page, button('Confirm my vote'), 'Enter');
    await heading(page, 'Your vote counts').waitFor();
    await expectSound(page, 'receipt');
    expect(await page.locator('#code').textContent()).toMatch(/^[0-9A-Z]{26}$/);
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    expect([outside, faults]).toEqual([[], []]);
    expect(await results(voting, voting.demo.event)).toMatchObject({ stats: { ballots: 1, entries: 4 } });

    // A telephone's camera gets what the link says.
    const check = (await page.getByRole('link', { name: 'Check my ballot' }).getAttribute('href')) ?? '';
    const drawn = await page.getByRole('img', { name: 'QR code of the check' }).getAttribute('src');
    expect(drawn).toBe(`data:image/svg+xml,${encodeURIComponent(renderSVG(check, { border: 4 }))}`);
    expect(new URLSearchParams(new URL(check).hash.slice(1)).get('promise')).toContain('this leaf will be in the log');
    await pressKeys(page, page.getByRole('link', { name: 'Check my ballot' }), 'Enter');
    await page.locator('#answer.not_yet').waitFor();
    expect(await page.getByLabel('Confirmation code').inputValue()).toMatch(/^[0-9A-Z]{26}$/);
    await expectSound(page, 'the check');
  });

  test('takes the other four methods, sells credits, and has the vote paid on the hosted page and back', async () => {
    const { voting, page, faults } = await openVoter(view);
    await page.goto(voting.poll);
    await heading(page, 'Your ballot').waitFor();
    await expectSound(page, 'ballot of a poll');
    await pressKeys(page, page.getByLabel('Curry'), 'Space');
    await pressKeys(page, page.getByLabel('Evening', { exact: true }), '4');
    await pressKeys(page, page.getByRole('button', { name: 'More for Lamps' }), 'Enter', 'Enter', 'Enter');
    await page.getByText('7 of 10 points left.').waitFor();
    await pressKeys(page, page.getByLabel('Garden', { exact: true }), '1', '2');
    await page.getByText('-44 of 100 credits left.').waitFor();

    await pressKeys(page, page.getByRole('button', { name: 'Buy credits' }), 'Enter');
    await press(page, 'Pay USD 3.00');
    await page.getByText('You have 150 credits now.').waitFor();
    await page.getByText('6 of 150 credits left.').waitFor();
    await expectSound(page, 'back with credits');

    await pressKeys(page, page.getByRole('button', { name: 'Pay $5.00 and go on' }), 'Enter');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Nothing was paid. Your choices are still here.').waitFor();
    await expectSound(page, 'back without paying');
    await press(page, 'Pay $5.00 and go on');
    await page.getByRole('button', { name: 'Decline' }).click();
    await page.getByText('Waiting for your payment').or(page.getByText('did not go through')).first().waitFor();
    await page.getByText('did not go through').waitFor();
    await press(page, 'Pay $5.00 and go on');
    await press(page, 'Pay USD 5.00');
    await heading(page, 'Look once more').waitFor();
    expect(new URL(page.url()).search).toBe('');
    expect(await page.locator('dd').allTextContents()).toEqual(['Curry', 'Evening: 4', 'Lamps: 3', 'Garden: 12']);
    expect(await page.getByRole('button', { name: 'Change it' }).isVisible()).toBe(false);
    await press(page, 'Confirm my vote');
    await heading(page, 'Your vote counts').waitFor();
    expect(faults).toEqual([]);
    expect(await results(voting, voting.demo.poll)).toMatchObject({ stats: { ballots: 1, entries: 4 } });
    await page.goto(voting.poll);
    await page.getByText('You have voted already.').waitFor();
    await expectSound(page, 'voted already');
  });

  test('shows what is wrong in words by the field, and moves the focus there', async () => {
    const voter = await openVoter(view);
    const { voting, page } = voter;
    const link = await askForKey(voter);
    await page.reload();
    await page.getByLabel('E-mail address').fill('');
    await press(page, 'Go to the ballot');
    const email = page.getByLabel('E-mail address');
    expect(await isFocused(page, email)).toBe(true);
    expect(await email.getAttribute('aria-invalid')).toBe('true');
    await expectSound(page, 'fields that are empty');
    await email.fill('vera@');
    await page.getByLabel('Voter key').fill('AAAA-AAAA-AAAA-AAAA');
    await press(page, 'Go to the ballot');
    await page.locator('#email .wrong').waitFor();
    await email.fill(VERA);
    await press(page, 'Go to the ballot');
    await page.locator('#voterKey .wrong').getByText('This voter key is wrong').waitFor();
    expect(await page.evaluate('document.activeElement.name')).toBe('voterKey');
    expect(await page.locator('#email .wrong').count()).toBe(0);
    await expectSound(page, 'a wrong key');
    await follow(page, link);
    await press(page, 'Continue');
    await page.getByText('The ballot is still empty.').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('alert');

    await page.goto(voting.poll);
    await page.getByLabel('Curry').check();
    await page.getByLabel('Trees', { exact: true }).fill('11');
    await page.getByLabel('Morning', { exact: true }).fill('9');
    await press(page, /^Pay \$5/);
    const talks = page.getByRole('group', { name: 'The talks of the day' });
    await talks.getByText('Morning: must be a whole number from 0 to 5.').waitFor();
    await page.getByRole('group', { name: 'Ten coins' }).getByText('over its budget of 10 points').waitFor();
    expect(await isFocused(page, page.getByLabel('Morning', { exact: true }))).toBe(true);
    await expectSound(page, 'marks beyond their bounds');
    await page.getByLabel('Morning', { exact: true }).fill('');
    await page.getByLabel('Trees', { exact: true }).fill('');
    await page.getByLabel('Garden', { exact: true }).fill('12');
    await press(page, /^Pay \$5/);
    const ideas = page.getByRole('group', { name: 'A hundred credits for ideas' });
    await ideas.getByText('costs 144 credits of 100 for "A hundred credits for ideas".').waitFor();
    expect(await page.locator('body').innerText()).not.toContain('pos_');
    await expectSound(page, 'credits beyond those there');
  });
});

describe.runIf(hasBrowser)('the voting page', LIMIT, () => {
  test('takes the vote of who got a letter: by the voter ID and the key as they stand there, or by its QR code', async () => {
    const { voting, page } = await openVoter();
    const key = { key: voting.demo.writeKey };
    const base = `/voting-events/${voting.demo.event}`;
    const event = demand(await paid.service.call('GET', base, undefined, key), 200);
    const olga = { name: 'Olga', voterId: 'M-0017' };
    const { id } = demand(await paid.service.call('POST', `${base}/voters`, olga, key), 201);
    const voterKey = await giveVoterKey(paid.service, event.id, id);
    await page.goto(voting.election);
    const who = page.getByLabel('E-mail address or voter ID');
    await page.getByLabel('Voter key').fill(voterKey.toLowerCase().replaceAll('-', ' '));
    await who.fill('M-9999');
    await press(page, 'Go to the ballot');
    await page.locator('.wrong').first().waitFor();
    await who.fill('M-0017');
    await press(page, 'Go to the ballot');
    await heading(page, 'Your ballot').waitFor();
    await follow(page, `${voting.election}#key=${voterKey}&email=&voterId=M-0017`);
    await heading(page, 'Your ballot').waitFor();
  });

  test('registers a voter in the group of their choice, who then asks for a key and votes', async () => {
    const voter = await openVoter();
    const { voting, page } = voter;
    const organizer = async (method: string, path: string, body?: unknown) => {
      const target = `/voting-events/${voting.demo.event}${path}`;
      return (await paid.service.call(method, target, body, { key: voting.demo.writeKey })).body.data;
    };
    await page.goto(voting.election);
    await page.getByText('Not on the list of voters?').click();
    expect(await page.getByLabel('Your group').isVisible()).toBe(false);
    const group = await organizer('POST', '/groups', { name: 'South' });
    await page.goto(voting.election);
    await page.getByLabel('E-mail address').fill('newcomer@club.example');
    await page.getByText('Not on the list of voters?').click();
    await press(page, 'Register');
    await page.locator('#registration .wrong').waitFor();
    await expectSound(page, 'a registration without a name');
    await page.getByLabel('Your name').fill('Nora Newcomer');
    await page.getByLabel('Your group').selectOption('South');
    await press(page, 'Register');
    await page.getByText('You are registered.').waitFor();
    expect(await organizer('GET', '/voters?search=newcomer')).toMatchObject([
      { name: 'Nora Newcomer', groupId: group.id },
    ]);
    await press(page, 'Mail me a key');
    await follow(page, await linkFromMail(voting, 'newcomer@club.example'));
    await heading(page, 'Your ballot').waitFor();
  });

  test('loses no vote where the network does: it asks again with the same key, and the vote is cast once', async () => {
    const { voting, page } = await openVoter();
    await page.goto(voting.poll);
    await page.getByLabel('Curry').check();
    const keys: (string | undefined)[] = [];
    const locations: string[] = [];
    await page.route('**/cast', async (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      // The first never arrives; of the second to fourth the answer is lost. Then the voter presses again.
      if (keys.length === 1) return route.abort();
      const answer = await route.fetch();
      locations.push((await answer.json()).data.checkoutUrl);
      return keys.length <= 4 ? route.abort() : route.fulfill({ response: answer });
    });
    await press(page, /^Pay \$5/);
    await page.getByText('No answer yet. Trying again …').waitFor();
    await page.getByText('No answer came. What you entered is still here').waitFor();
    await expectSound(page, 'no answer');
    await page.reload();
    await page.getByLabel('Curry').waitFor();
    expect(await page.getByLabel('Curry').isChecked()).toBe(true);
    await press(page, /^Pay \$5/);
    await press(page, 'Pay USD 5.00');
    await heading(page, 'Look once more').waitFor();
    expect(new Set(keys).size).toBe(1);
    expect(new Set(locations).size).toBe(1);
    const { body } = await paid.service.call('GET', `/voting-events/${voting.demo.poll}/payments`, undefined, {
      key: voting.demo.readKey,
    });
    expect(body.data).toHaveLength(1);
  });

  test('keeps what is chosen while it still asks whether this visitor may vote', async () => {
    const { voting, page } = await openVoter();
    const asked = Promise.withResolvers<void>();
    const answered = page.waitForResponse('**/check');
    await page.route('**/check', async (route) => {
      await asked.promise;
      await route.continue();
    });
    await page.goto(voting.poll);
    await page.getByLabel('Curry').check();
    asked.resolve();
    await answered;
    // What the answer changes is drawn before the next frame.
    await page.evaluate('new Promise(requestAnimationFrame)');
    expect(await page.getByLabel('Curry').isChecked()).toBe(true);
  });

  test('pays nothing twice where the network fails after the payment', async () => {
    const { voting, page } = await openVoter();
    await page.goto(voting.poll);
    await page.getByLabel('Curry').check();
    await page.route('**/paid', (route) => route.abort());
    await press(page, /^Pay \$5/);
    await press(page, 'Pay USD 5.00');
    await page.getByText('No answer came.').waitFor();
    await page.unroute('**/paid');
    await press(page, /^Pay \$5/);
    await heading(page, 'Look once more').waitFor();
    expect(new URL(page.url()).origin).toBe(new URL(voting.poll).origin);
  });

  test('says when voting is over, and keeps the API key, other names and other events to itself', async () => {
    const { voting, page } = await openVoter();
    const { demo } = voting;
    const texts: Promise<string>[] = [];
    page.on('response', (response) => texts.push(response.text().catch(() => '')));
    await page.goto(voting.election);
    await heading(page, 'Who are you?').waitFor();
    await paid.service.call('PATCH', `/voting-events/${demo.event}`, { status: 'closed' }, { key: demo.writeKey });
    await page.reload();
    await page.getByText('Voting is over.').waitFor();
    await expectSound(page, 'over');
    expect((await Promise.all(texts)).join('')).not.toContain(demo.voteKey);

    const { origin, port } = new URL(voting.election);
    const statusOf = async (path: string, init: RequestInit = {}) => (await fetch(`${origin}${path}`, init)).status;
    const json = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' };
    expect(await statusOf(`/api/${demo.event}/check`, { ...json, headers: { 'Content-Type': 'text/plain' } })).toBe(
      400,
    );
    expect(await statusOf(`/api/${demo.event}/constructor`, json)).toBe(400);
    expect(await statusOf('/api/ANOTHER1/show', json)).toBe(404);
    expect(await statusOf('/../package.json')).toBe(404);
    expect((await fetch(`http://localhost:${port}/${demo.event}`).catch(() => ({ status: 421 }))).status).toBe(421);
  });
});

test('the voting page stays small enough to be read before it is copied: 600 lines of code', () => {
  const folder = new URL('../../examples/voting-page/', import.meta.url);
  const lines = readdirSync(folder).flatMap((name) => readFileSync(new URL(name, folder), 'utf8').split('\n'));
  const code = lines.filter((line) => line.trim() !== '' && !/^\s*(?:\/\/|\/\*\*|\*)/.test(line));
  expect(code.length).toBeLessThanOrEqual(600);
});
