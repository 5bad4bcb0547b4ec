import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { afterAll } from 'vitest';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath = PLACES.find((place) => existsSync(place));

/** Pages are tested where there is a browser. Where one is demanded, its absence is a fault and not a reason to pass over. */
export const hasBrowser = executablePath !== undefined || process.env['REQUIRE_BROWSER'] === '1';
if (!hasBrowser) console.info('browser: none is installed, pages are passed over (apt-get install chromium)');

/** A real browser. @throws Error that names the package where there is none @param args more of its switches */
export async function openBrowser(...args: readonly string[]): Promise<Browser> {
  if (executablePath === undefined) throw new Error('these tests need a browser: apt-get install chromium');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', ...args] });
}

export type Pages = Pick<Browser, 'newPage' | 'newContext'>;

/** A browser for the tests of this file, closed after the last of them. Where there is none, they are passed over. */
export async function useBrowser(...args: readonly string[]): Promise<Pages> {
  const none = () => Promise.reject(new Error('there is no browser'));
  if (!hasBrowser) return { newPage: none, newContext: none };
  const browser = await openBrowser(...args);
  afterAll(() => browser.close());
  return browser;
}
