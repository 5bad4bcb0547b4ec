import { describe, expect, test } from 'vitest';
import { eventually, useService } from '#test/harness/test-service.ts';
import { hasBrowser, useBrowser } from './chromium.ts';
import { FAINT_TEXTS } from './faint-texts.ts';

// The network is closed: no name can be looked up, and only this machine answers.
const CLOSED = ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', '--proxy-server=direct://'];
const browser = await useBrowser(...CLOSED);
const service = await useService();

const FIRST_PAGES = ['/reference', '/reference/first-vote', '/reference/paid-votes', '/reference/ballots'];

/** Every page that the contents name. */
const PAGES = `[...new Set([...document.querySelectorAll('nav a')].map((link) => link.pathname))]`;

describe.runIf(hasBrowser).each([
  ['a desk', { width: 1_440, height: 900 }],
  ['a phone', { width: 360, height: 740 }],
])('the reference on %s', (_where, viewport) => {
  test('shows every page without asking anybody outside, without a fault, and within the width', async () => {
    const page = await browser.newPage({ viewport });
    const base = `http://127.0.0.1:${service.port}`;
    const outside: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(base) && !request.url().startsWith('data:')) outside.push(request.url());
    });
    const faults: string[] = [];
    page.on('console', (message) => faults.push(message.text()));
    page.on('pageerror', (fault) => faults.push(fault.message));
    let isPutOff = false;
    page.on('response', (response) => {
      isPutOff ||= response.headers()['retry-after'] !== undefined;
    });
    await page.goto(`${base}/reference`);
    const paths = await page.evaluate<string[]>(PAGES);
    expect(paths.length).toBeGreaterThan(20);
    for (const path of paths) {
      const before = faults.length;
      // One address may read 20 pages a second, and this reader is faster than people are. A service under load puts it off as well.
      const status = await eventually(async () => {
        faults.length = before;
        isPutOff = false;
        const answer = await page.goto(base + path);
        return isPutOff ? undefined : answer?.status();
      });
      expect([path, status]).toEqual([path, 200]);
      expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
      expect(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth')).toBe(true);
    }
    expect([outside, faults]).toEqual([[], []]);
    await page.close();
  });

  test.each(['light', 'dark'] as const)(
    'can be read in %s colours: at least 4.5 to 1 everywhere',
    async (colorScheme) => {
      const page = await browser.newPage({ viewport, colorScheme });
      for (const path of FIRST_PAGES) {
        await page.goto(`http://127.0.0.1:${service.port}${path}`);
        expect([path, await page.evaluate(FAINT_TEXTS)]).toEqual([path, []]);
      }
      await page.close();
    },
  );

  test('leads from the overview to an operation, and to the contents from anywhere', async () => {
    const page = await browser.newPage({ viewport });
    await page.goto(`http://127.0.0.1:${service.port}/reference`);
    await page.getByRole('link', { name: /Cast a ballot/ }).click();
    await page.waitForURL(/\/reference\/ballots#castBallot$/);
    expect(await page.getByRole('heading', { name: 'Cast a ballot' }).isVisible()).toBe(true);
    const contents = page.getByRole('link', { name: 'Contents', exact: true });
    if (await contents.isVisible()) await contents.click();
    await page.getByRole('navigation').getByRole('link', { name: 'Paid votes' }).click();
    await page.waitForURL(/\/reference\/paid-votes$/);
    expect(await page.locator('figure svg').isVisible()).toBe(true);
    await page.close();
  });

  test('needs no script', async () => {
    const context = await browser.newContext({ viewport, javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${service.port}/reference/ballots`);
    await page.locator('#castBallot summary', { hasText: 'Refusals' }).click();
    expect(await page.locator('#castBallot').getByText('already_voted').isVisible()).toBe(true);
    await context.close();
  });
});
