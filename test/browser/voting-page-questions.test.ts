import { fileURLToPath } from 'node:url';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hasBrowser, useBrowser } from './chromium.ts';

// Guarantee: a question of the example page says what may be entered, and its buttons begin where an untouched candidate stands.

const SCRIPT = fileURLToPath(new URL('../../examples/voting-page/ballot.js', import.meta.url));
const browser = await useBrowser();

/** A page with the script of the questions, and no service. */
async function openPage(): Promise<Page> {
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  await page.route('**', (route) =>
    route.request().url().endsWith('/ballot.js')
      ? route.fulfill({ path: SCRIPT })
      : route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Questions</title>' }),
  );
  await page.goto('http://page.test/');
  return page;
}

/** A question of three candidates as the page draws it: its hint, and its buttons to press. */
async function drawQuestion(page: Page, settings: Readonly<Record<string, unknown>>): Promise<Locator> {
  const position = { id: 'pos_own', title: 'Own', minSelections: 0, maxSelections: 3, seats: 1, ...settings };
  const names = JSON.stringify(['Ada', 'Bea', 'Cy'].map((name) => ({ id: `cnd_${name}`, name })));
  await page.evaluate(`import('/ballot.js').then(({ question }) => {
    const given = { saved: [], mayAbstain: true, shop: [] };
    const { element, read } = question(${JSON.stringify(position)}, ${names}, given);
    document.body.replaceChildren(element);
    globalThis.readOwn = read;
  })`);
  return page.getByRole('group', { name: 'Own' });
}

describe.runIf(hasBrowser)('a question of the voting page', () => {
  test.each([
    ['score', { scoreMin: 0, scoreMax: 5 }, 1, 0],
    ['score', { scoreMin: -2, scoreMax: 2 }, 1, -1],
    ['score', { scoreMin: 1, scoreMax: 4 }, 3, 1],
    ['score', { scoreMin: -5, scoreMax: -1 }, -2, -4],
    ['cumulative', { cumulativePointBudget: 10 }, 1, 0],
    ['quadratic', { quadraticBaseCreditBudget: 100 }, 1, 0],
  ])('steps from 0, or the middle, of a question by %s of %o', async (votingMethod, settings, more, less) => {
    const page = await openPage();
    const own = await drawQuestion(page, { votingMethod, ...settings });
    await own.getByRole('button', { name: 'More for Ada' }).click();
    await own.getByRole('button', { name: 'Less for Bea' }).click();
    expect(await own.getByLabel('Ada', { exact: true }).inputValue()).toBe(String(more));
    expect(await own.getByLabel('Bea', { exact: true }).inputValue()).toBe(String(less));
    if (votingMethod === 'score') expect(await own.innerText()).toContain('One left empty counts 0.');
    // No points, and no votes, are no entry; a score of 0 is one.
    const given = [more, less].filter((value) => value !== 0 || votingMethod === 'score');
    expect(await page.evaluate('readOwn().map(({ value }) => value)')).toEqual(given);
  });

  test('says of each question how many a voter has to name, and may', async () => {
    const page = await openPage();
    const hints: string[] = [];
    for (const votingMethod of ['ranked_choice', 'approval', 'score', 'cumulative', 'quadratic']) {
      for (const [minSelections, maxSelections] of [
        [1, 3],
        [2, 3],
        [1, 2],
        [2, 2],
      ]) {
        const bounds = { scoreMin: 0, scoreMax: 5, minSelections, maxSelections };
        const own = await drawQuestion(page, { votingMethod, ...bounds });
        hints.push((await own.locator('.hint').first().textContent()) ?? '');
      }
    }
    const credits = 'Each vote costs its square: 1 vote costs 1 credit, 2 cost 4, 3 cost 9.';
    expect(hints).toEqual([
      'Rank whom you like best first. You need not rank all.',
      ...['2 to 3', 'up to 2', '2'].map((bounds) => `Rank whom you like best first. Rank ${bounds}.`),
      'Choose as many as you like.',
      ...['2 to 3', 'up to 2', '2'].map((bounds) => `Choose ${bounds}.`),
      'Give each of them 0 to 5 points. One left empty counts 0.',
      ...['2 to 3', 'up to 2', '2'].map((bounds) => `Give ${bounds} of them 0 to 5 points. One left empty counts 0.`),
      'Share your points out as you like.',
      ...['2 to 3', 'up to 2', '2'].map((bounds) => `Share your points out as you like. Give points to ${bounds}.`),
      credits,
      ...['2 to 3', 'up to 2', '2'].map((bounds) => `${credits} Vote for ${bounds}.`),
    ]);
  });
});
