import type { BrowserContext, Page, Route } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { untilTrue, useService } from '#test/harness/test-service.ts';
import { findViolations } from './axe.ts';
import { hasBrowser, useBrowser } from './chromium.ts';

const PAGES = ['/reference', '/reference/ballots', '/reference/paid-votes', '/reference/errors'];
const DESK = { width: 1_280, height: 900 };
const PHONE = { width: 390, height: 780 };

const browser = await useBrowser();
const service = await useService();
const base = `http://127.0.0.1:${service.port}`;
// The pages are made when the first one is asked for, and a service that is busy says so.
await untilTrue(async () => (await service.call('GET', '/reference')).status === 200);

async function openAt(path: string, context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  // One address may read 20 pages a second, and this reader is faster than people are.
  await untilTrue(async () => (await page.goto(base + path))?.status() === 200);
  return page;
}

/** Opens a page and its search, by the keyboard alone. */
async function openSearch(path: string, context: BrowserContext): Promise<Page> {
  const page = await openAt(path, context);
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog', { name: 'Search' }).waitFor();
  return page;
}

const focused = (page: Page): Promise<string> => page.evaluate('document.activeElement.textContent');

describe.runIf(hasBrowser)('the search of the reference', () => {
  test('reads its index when it is first focused, not before', async () => {
    const context = await browser.newContext({ viewport: DESK });
    const page = await openAt('/reference', context);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.getByRole('button', { name: 'Search' }).hover();
    expect(asked).toEqual([]);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('textbox', { name: 'Search' }).fill('ballot');
    await page.getByRole('dialog').getByRole('link').first().waitFor();
    expect(asked).toEqual(['/reference/search.json']);
    await context.close();
  });

  test.each([
    ['cast a ballot', /^Cast a ballot/, '/reference/ballots#castBallot'],
    ['POST ballot confirm', /^Confirm/, '/reference/ballots#confirmBallot'],
    ['already_voted', /^already_voted/, '/reference/errors#already_voted-409'],
    ['paid votes', /^Paid votes/, '/reference/paid-votes'],
    ['ballot.confirmed', /^ballot\.confirmed/, '/reference/webhook-messages#ballot.confirmed'],
  ])('finds "%s", and Enter leads there', async (words, title, address) => {
    const context = await browser.newContext({ viewport: DESK });
    const page = await openSearch('/reference/polls', context);
    await page.keyboard.type(words);
    const first = page.getByRole('dialog').getByRole('link').first();
    await first.filter({ hasText: title }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(base + address);
    await context.close();
  });

  test('is worked by the keyboard: arrows walk the hits, Escape leads back to where the reader was', async () => {
    const context = await browser.newContext({ viewport: DESK });
    const page = await openAt('/reference/ballots', context);
    await page.getByRole('button', { name: 'Search' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('voter');
    const hits = page.getByRole('dialog').getByRole('link');
    await hits.nth(1).waitFor();
    await page.keyboard.press('ArrowDown');
    expect(await focused(page)).toBe(await hits.nth(0).textContent());
    await page.keyboard.press('ArrowDown');
    expect(await focused(page)).toBe(await hits.nth(1).textContent());
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe('Search');
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').isVisible()).toBe(false);
    expect(await focused(page)).toContain('Search');
    await context.close();
  });

  test('says how many hits there are, and when there are none', async () => {
    const context = await browser.newContext({ viewport: PHONE });
    const page = await openSearch('/reference', context);
    const status = page.getByRole('dialog').locator('[aria-live=polite]');
    await page.keyboard.type('already_voted');
    await status.filter({ hasText: /^\d+ hits?/ }).waitFor();
    await page.keyboard.type('qqq');
    await status.filter({ hasText: 'No hits' }).waitFor();
    expect(await page.getByRole('dialog').getByRole('link').count()).toBe(0);
    expect(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth')).toBe(true);
    await context.close();
  });

  test('says so while its index cannot be read, and reads it by itself as soon as it can be', async () => {
    const context = await browser.newContext({ viewport: DESK });
    const page = await openAt('/reference', context);
    const refusal = (route: Route): Promise<void> => route.fulfill({ status: 503, body: '' });
    await page.route('**/search.json', refusal);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('polls');
    await page.getByRole('dialog').getByText('The search cannot be read now.').waitFor();
    await page.unroute('**/search.json', refusal);
    await page.getByRole('dialog').getByRole('link').first().waitFor();
    await context.close();
  });
});

describe.runIf(hasBrowser)('a block of code', () => {
  test('is copied as it stands, and the reader hears of it', async () => {
    const context = await browser.newContext({ viewport: DESK, permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await openAt('/reference/ballots', context);
    const name = 'Copy: A call of confirmBallot';
    await page.getByRole('button', { name }).first().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor({ state: 'attached' });
    const code = await page.getByLabel('A call of confirmBallot', { exact: true }).first().textContent();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(code);
    expect(code).toMatch(/^curl -X POST/);
    await context.close();
  });
});

const PYTHON_CALL = 'A call of confirmBallot in Python';

describe.runIf(hasBrowser)('the samples', () => {
  test('are all shown in the language that a reader chose by the keyboard, on the next page, too', async () => {
    const context = await browser.newContext({ viewport: DESK });
    const page = await openAt('/reference/ballots', context);
    expect(await page.getByLabel(PYTHON_CALL, { exact: true }).isVisible()).toBe(false);
    const tabs = page.locator('#castBallot .tabs');
    await tabs.getByRole('radio', { name: 'curl' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await tabs.getByRole('radio', { name: 'Python' }).isChecked()).toBe(true);
    expect(await page.getByLabel(PYTHON_CALL, { exact: true }).isVisible()).toBe(true);
    expect(await page.getByLabel('A call of confirmBallot', { exact: true }).isVisible()).toBe(false);
    expect(await findViolations(page)).toEqual([]);
    const next = await openAt('/reference/voters', context);
    expect(await next.getByLabel('A call of listVoters in Python', { exact: true }).isVisible()).toBe(true);
    expect(await next.evaluate('document.documentElement.scrollWidth <= window.innerWidth')).toBe(true);
    await context.close();
  });

  test('are chosen one by one where no script runs', async () => {
    const context = await browser.newContext({ viewport: PHONE, javaScriptEnabled: false });
    const page = await openAt('/reference/ballots', context);
    await page.locator('#confirmBallot .tabs').getByText('Python').click();
    expect(await page.getByLabel(PYTHON_CALL, { exact: true }).isVisible()).toBe(true);
    expect(await page.getByLabel('A call of castBallot', { exact: true }).first().isVisible()).toBe(true);
    await context.close();
  });
});

describe.runIf(hasBrowser)('the contents of a page', () => {
  test('stand beside the text of a guide on a wide screen, and stay in view', async () => {
    const context = await browser.newContext({ viewport: { width: 1_200, height: 800 } });
    const page = await openAt('/reference/errors', context);
    const contents = page.getByRole('navigation', { name: 'On this page' });
    const text = await page.locator('main').boundingBox();
    const place = await contents.boundingBox();
    expect(place?.x).toBeGreaterThanOrEqual((text?.x ?? 0) + (text?.width ?? 0));
    await contents.getByRole('link', { name: 'Every reason' }).click();
    await page.waitForURL(/#reasons$/);
    // The head of the page is a hair higher than the place where they stick.
    expect(Math.abs(((await contents.boundingBox())?.y ?? 0) - (place?.y ?? 0))).toBeLessThan(4);
    const headings = await page.locator('main h2').allTextContents();
    expect(await contents.getByRole('link').allTextContents()).toEqual(headings);
    await context.close();
  });

  test.each([1_199, 390])('take no room at %d px', async (width) => {
    const context = await browser.newContext({ viewport: { width, height: 800 } });
    const page = await openAt('/reference/errors', context);
    expect(await page.getByRole('navigation', { name: 'On this page' }).isVisible()).toBe(false);
    await context.close();
  });
});

describe.runIf(hasBrowser)('without the script', () => {
  test('pages show neither the search nor buttons, and all of their text', async () => {
    const context = await browser.newContext({ viewport: DESK, javaScriptEnabled: false });
    for (const path of PAGES) {
      const page = await openAt(path, context);
      expect([path, await page.getByRole('button').count(), await page.getByRole('dialog').count()]).toEqual([
        path,
        0,
        0,
      ]);
      expect(await page.getByRole('heading', { level: 1 }).isVisible()).toBe(true);
      await page.close();
    }
    await context.close();
  });
});

test.runIf(hasBrowser).each([
  ['1280', DESK],
  ['390', PHONE],
])('at %s px axe-core finds nothing wrong in light and in dark colours', async (_width, viewport) => {
  const context = await browser.newContext({ viewport });
  const expectNothing = async (path: string, page: Page): Promise<void> => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect([path, colorScheme, await findViolations(page)]).toEqual([path, colorScheme, []]);
    }
  };
  for (const path of PAGES) {
    const page = await openAt(path, context);
    await page.getByRole('button', { name: 'Search' }).waitFor();
    await expectNothing(path, page);
    await page.close();
  }
  const page = await openSearch('/reference', context);
  await page.keyboard.type('vote');
  await page.getByRole('dialog').getByRole('link').first().waitFor();
  await expectNothing('the search', page);
  await context.close();
});
