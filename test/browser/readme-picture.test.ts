import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createDemo } from '#src/demo/create-demo.ts';
import { voteInDemo } from '#src/demo/vote-in-demo.ts';
import { finishEvent, sealBallots } from '#test/harness/elections.ts';
import { usePaidService } from '#test/harness/payments.ts';
import { readMails } from '#test/harness/read-mail.ts';
import { eventually } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';
import { startVotingPage } from '#test/harness/voting-page.ts';
import { hasBrowser, useBrowser } from './chromium.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const PICTURE = 'docs/pictures/ballot-receipt-report.jpg';
const MAX_BYTES = 150_000;
/** `README_PICTURE=write` makes the picture again, with `pdftoppm` of poppler-utils for the page of the report. */
const isMade = hasBrowser && process.env['README_PICTURE'] === 'write';

const paid = await usePaidService();
const browser = await useBrowser();
const folder = useFolder('voting-picture-');

/** Two screens of a phone: the ballot, and the check of its receipt. */
async function pictureVote(page: Page): Promise<Buffer[]> {
  const voting = await startVotingPage(paid.service);
  try {
    await page.goto(voting.election);
    await page.getByLabel('E-mail address').fill('vera@club.example');
    await page.getByRole('button', { name: 'Mail me a key' }).click();
    await page.getByText('is on its way').waitFor();
    const { text } = await eventually(() => readMails(paid.service).findLast((mail) => mail.to.includes('vera@')));
    const [link = ''] = /https:\/\/vote\.club\.example\S+/.exec(text) ?? [];
    await page.goto('about:blank');
    await page.goto(link.replace(/^https:\/\/[^/]+\/\w+/, voting.election));
    for (const name of ['Nguyễn Minh', 'Greta Lind']) await page.getByRole('button', { name: `Rank ${name}` }).click();
    await page.getByRole('group', { name: 'Treasurer' }).getByLabel('Amir Haddad').check();
    await page.getByRole('group', { name: 'Shall the club move?' }).getByLabel('Yes').check();
    await page.evaluate('scrollTo(0, 0)');
    const ballot = await page.screenshot();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Confirm my vote' }).click();
    await page.getByRole('heading', { name: 'Your vote counts' }).waitFor();
    const key = { key: voting.demo.readKey };
    const { body } = await paid.service.call('GET', `/voting-events/${voting.demo.event}`, undefined, key);
    await sealBallots(paid.service, body.data.id);
    await page.getByRole('link', { name: 'Check my ballot' }).click();
    await page.locator('#answer.in').waitFor();
    return [ballot, await page.screenshot()];
  } finally {
    await voting.stop();
  }
}

/** A page of the report about the demo's election. */
async function pictureReport(): Promise<Buffer> {
  const { service } = paid;
  const demo = await createDemo(service.deps, false, 'https://vote.club.example');
  await voteInDemo(service.deps, demo, (eventId) => sealBallots(service, eventId));
  const key = { key: demo.readKey };
  const { id } = (await service.call('GET', `/voting-events/${demo.event}`, undefined, key)).body.data;
  await finishEvent(service, id);
  const { headers } = await service.call('GET', `/voting-events/${demo.event}/results/pdf`, undefined, key);
  const address = (headers.get('location') ?? '').slice(service.deps.config.baseUrl.length);
  const file = await fetch(`http://127.0.0.1:${service.port}${address}`);
  writeFileSync(path.join(folder, 'report.pdf'), Buffer.from(await file.arrayBuffer()));
  const words = ['-png', '-r', '110', '-f', '2', '-l', '2', '-singlefile', 'report.pdf', 'report'];
  execFileSync('pdftoppm', words, { cwd: folder });
  return readFileSync(path.join(folder, 'report.png'));
}

const shown = (picture: Buffer, kind: string): string =>
  `<img class="${kind}" alt="" src="data:image/png;base64,${picture.toString('base64')}">`;

test.runIf(isMade)('the picture of the README is made of the pages that voters and organizers see', async () => {
  // So high that all names on it are in letters for which every machine has a font.
  const phone = await browser.newContext({ viewport: { width: 390, height: 655 }, deviceScaleFactor: 1.5 });
  const [ballot, receipt] = await pictureVote(await phone.newPage());
  if (ballot === undefined || receipt === undefined) throw new Error('two screens were pictured');
  const page = await browser.newPage({ viewport: { width: 1_200, height: 640 } });
  await page.setContent(`<style>
    body { margin: 0; height: 640px; display: flex; align-items: center; justify-content: space-evenly; background: #eef1f5 }
    img { box-shadow: 0 6px 28px #0003; background: #fff }
    .phone { height: 560px; border: 8px solid #1c2430; border-radius: 30px }
    .page { height: 590px }
  </style>${shown(ballot, 'phone')}${shown(receipt, 'phone')}${shown(await pictureReport(), 'page')}`);
  await page.screenshot({ path: path.join(ROOT, PICTURE), type: 'jpeg', quality: 82 });
});

test('the README begins with a small picture of the ballot, the receipt and the report', () => {
  const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
  const [, words = ''] = new RegExp(`!\\[([^\\]]+)\\]\\(${PICTURE}\\)`).exec(readme) ?? [];
  expect(words).toMatch(/phone.*receipt.*report/);
  expect(readme.split('\n').length).toBeLessThanOrEqual(110);
  expect(statSync(path.join(ROOT, PICTURE)).size).toBeLessThanOrEqual(MAX_BYTES);
});
