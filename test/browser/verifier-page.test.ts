import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { signCheckpoint } from '#src/ballot-log/checkpoint.ts';
import { signLogPromise } from '#src/ballot-log/promise-leaf.ts';
import { createObserverKey } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, sealBallots, type TestEvent, visitor } from '#test/harness/elections.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { OLD_FORMS, PRESENT_FORM } from '#test/unit/verifier/old-forms.ts';
import { EVENT, type StoredLog, serve } from '#test/unit/verifier/stored-log.ts';
import { findViolations } from './axe.ts';
import { hasBrowser, useBrowser } from './chromium.ts';
import { FAINT_TEXTS } from './faint-texts.ts';

const PHONE = { width: 390, height: 844 };
const base = () => `http://127.0.0.1:${service.port}`;

const { service, account } = await useAccount({ worker: false });
const browser = await useBrowser();

/** A poll with ballots in its log, and what its last voter was given. */
async function pollWithReceipt(
  ballots: number,
  more: Readonly<Record<string, unknown>> = {},
): Promise<{ event: TestEvent; code: string; promise: string }> {
  const settings = { ...more, ballot: { opening: 'public' }, results: { visibility: 'live' }, log: { open: true } };
  const event = await account.event(settings);
  const call = (what: string, body: object) => account.page(event, `ballot/${what}`, body);
  let receipt = { code: '', promise: '' };
  for (let place = 0; place < ballots; place += 1) {
    const [position] = event.positions;
    const votes = [{ positionId: position?.id, candidateId: position?.candidates[place % 2] }];
    const { confirmationCode } = demand(await call('cast', { visitorId: visitor(), votes }), 201);
    const { logPromise } = demand(await call('confirm', { confirmationCode }), 200);
    receipt = { code: confirmationCode, promise: logPromise };
  }
  await sealBallots(service, event.id);
  return { event, ...receipt };
}

/** One old form for each check that finds one: the unit tests go through all of them. */
const ONE_OF_EACH = new Map(Object.entries(OLD_FORMS).map((entry) => [entry[1].fails, entry])).values().toArray();

const unfold = async (page: Page, name: string): Promise<void> => {
  const details = page.locator(`#${name}`);
  if ((await details.getAttribute('open')) === null) await details.locator('summary').click();
};

/** The answer (the class of the one that is shown) and the marks of all checks by their names, once the page has come to its end. */
async function outcomeOf(page: Page) {
  await page.locator('#answer h2').waitFor();
  const answer = await page.locator('#answer').getAttribute('class');
  const verified = await page.locator('#outcome').getAttribute('class');
  const lines = await page.locator('#checks li').all();
  const marks: Record<string, string> = {};
  for (const line of lines)
    marks[(await line.locator('strong').textContent()) ?? ''] = (await line.locator('span').textContent()) ?? '';
  return { verified, answer, marks };
}

const linkOf = (fields: Record<string, string>): string => `${base()}/verify#${new URLSearchParams(fields)}`;

describe.runIf(hasBrowser)('the page that verifies', () => {
  test('finds a voter’s ballot from the receipt alone in an open log, and sends code and promise nowhere', async () => {
    const { event, code, promise } = await pollWithReceipt(3);
    const page = await browser.newPage();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
    const faults: string[] = [];
    page.on('console', (message) => {
      // What the page may not read is refused, which the browser notes.
      if (message.type() === 'error' && !/status of 40[13]/.test(message.text())) faults.push(message.text());
    });
    await page.goto(linkOf({ event: event.id, code: code.toLowerCase(), promise }));
    const { verified, marks } = await outcomeOf(page);
    expect(verified).toBe('partial');
    expect(marks).toMatchObject({ signature: '✓', root: '✓', 'your ballot': '✓', 'promise kept': '✓', close: '○' });
    expect(sent.filter((request) => !request.startsWith(base()) && !request.startsWith('data:'))).toEqual([]);
    expect(sent.filter((request) => request.toLowerCase().includes(code.toLowerCase()))).toEqual([]);
    expect(faults).toEqual([]);
    await page.close();
  });

  test('says that everything is right once the result is final, and sees a log that was rewritten since', async () => {
    const { event, code } = await pollWithReceipt(3);
    const page = await browser.newPage();
    const key = await createObserverKey(service, account, event.id);
    await page.goto(linkOf({ event: event.code, key, code }));
    await outcomeOf(page);
    const kept = decodeURIComponent((await page.locator('#keep').getAttribute('href')) ?? '').replace(/^[^,]*,/, '');
    expect(kept).toContain('confirmed 3');
    await finishEvent(service, event.id);
    await unfold(page, 'observers');
    await page.getByLabel('Earlier checkpoint').fill(kept);
    await page.getByRole('button', { name: 'Check with it' }).click();
    await page.locator('#outcome.yes').waitFor();
    expect((await outcomeOf(page)).marks).toMatchObject({ consistency: '✓', recount: '✓', 'your ballot': '✓' });
    // One that was mistyped is none; another one that the service signed is the proof of a second log.
    await page.getByLabel('Earlier checkpoint').fill(kept.replace(/^confirmed 3$/m, 'confirmed 2'));
    await page.getByRole('button', { name: 'Check with it' }).click();
    await page.locator('#outcome.partial').waitFor();
    expect((await outcomeOf(page)).marks).toMatchObject({ 'earlier checkpoint': '○' });
    const origin = kept.slice(0, kept.indexOf('\n'));
    const other = { origin, size: 3, rootHash: Buffer.alloc(32, 7), confirmed: 1 };
    await page.getByLabel('Earlier checkpoint').fill(signCheckpoint(other, service.deps.logKey));
    await page.getByRole('button', { name: 'Check with it' }).click();
    await page.locator('#outcome.no').waitFor();
    expect([(await outcomeOf(page)).answer, await page.locator('#keep').isVisible()]).toEqual(['no', false]);
    await page.close();
  });

  test('calls nothing wrong that is only unknown: another code, another event', async () => {
    const { event, code } = await pollWithReceipt(2);
    const page = await browser.newPage();
    const other = `${code.startsWith('0') ? '1' : '0'}${code.slice(1)}`;
    await page.goto(linkOf({ event: event.id, code: other }));
    expect(await outcomeOf(page)).toMatchObject({ answer: 'not_there', marks: { 'your ballot': '○' } });
    await unfold(page, 'by-hand');
    await page.getByLabel('Voting event').fill('NOSUCH');
    await page.getByRole('button', { name: 'Check' }).first().click();
    await page.locator('#answer.unreadable').waitFor();
    expect((await outcomeOf(page)).verified).toBe('partial');
    await page.close();
  });

  test('gives one plain answer and one sentence, in the language of the event, from a link or a receipt', async () => {
    const { event, code, promise } = await pollWithReceipt(3, { language: 'de', title: 'Der Vorstand' });
    const page = await browser.newPage({ viewport: PHONE });
    const read = async () => {
      await page.locator('#answer h2').waitFor();
      return [await page.locator('#answer').getAttribute('class'), await page.locator('#answer h2').textContent()];
    };
    await page.goto(linkOf({ event: event.id, code, promise }));
    expect(await read()).toEqual(['in', 'Ihre Stimme ist im Protokoll.']);
    expect(await page.locator('h1').textContent()).toBe('Ist meine Stimme dabei?');
    expect(await page.locator('#about').textContent()).toBe('Der Vorstand');
    expect(await page.locator('html').getAttribute('lang')).toBe('de');
    expect([await page.locator('#answer p').count(), await page.locator('#checks').isVisible()]).toEqual([1, false]);
    // Receipts as people keep them: the file of a voting page, a promise that a mail has broken, a code alone.
    const receipts: [string, string][] = [
      [`Der Vorstand\nCode: ${code}\n${linkOf({ event: event.id, code, promise })}\n\n${promise}`, 'in'],
      [promise.replaceAll('\n', ' '), 'in'],
      [promise.replaceAll(/(\S{40})(?=\S)/g, '$1\n').replaceAll(/^/gm, '> '), 'in'],
      [`${linkOf({ event: event.id, promise: promise.slice(0, 60) })}\n`, 'no_promise'],
      [code, 'partial'],
      ['Einkaufsliste: Brot', 'partial'],
    ];
    for (const [text, answer] of receipts) {
      await page.goto(`${base()}/reference/verifying-a-ballot`);
      await page.goto(`${base()}/verify`);
      await page
        .locator('#receipt')
        .setInputFiles({ name: 'receipt.txt', mimeType: 'text/plain', buffer: Buffer.from(text) });
      expect([text, (await read())[0]]).toEqual([text, answer]);
    }
    await page.close();
  });

  test('says when to look again while the ballot waits, and has red for what the service served alone', async () => {
    const { event, code, promise } = await pollWithReceipt(0);
    const [position] = event.positions;
    const votes = [{ positionId: position?.id, candidateId: position?.candidates[0] }];
    const cast = demand(await account.page(event, 'ballot/cast', { visitorId: visitor(), votes }), 201);
    const confirmed = demand(
      await account.page(event, 'ballot/confirm', { confirmationCode: cast.confirmationCode }),
      200,
    );
    expect([code, promise]).toEqual(['', '']);
    const colours = new Map<string, string>();
    const page = await browser.newPage({ viewport: PHONE });
    const show = async (given: Record<string, string>) => {
      await page.goto(`${base()}/reference/verifying-a-ballot`);
      await page.goto(linkOf({ event: event.id, ...given }));
      const outcome = await outcomeOf(page);
      colours.set(
        outcome.answer ?? '',
        await page.evaluate<string>("getComputedStyle(document.querySelector('#answer')).color"),
      );
      expect([outcome.answer, await findViolations(page)]).toEqual([outcome.answer, []]);
      return { ...outcome, text: (await page.locator('#answer').textContent()) ?? '' };
    };
    const waiting = await show({ promise: confirmed.logPromise });
    expect(waiting).toMatchObject({
      answer: 'not_yet',
      text: expect.stringMatching(/Look again after \w+ \d+, \d{4}/),
    });
    // The head that is signed within a minute counts it.
    await sealBallots(service, event.id, 5);
    expect((await show({ code: cast.confirmationCode })).answer).toBe('not_yet');
    await sealBallots(service, event.id);
    expect((await show({ code: cast.confirmationCode })).answer).toBe('in');
    expect((await show({ code: 'Z'.repeat(26) })).answer).toBe('not_there');
    expect((await show({ promise: 'localhost' })).answer).toBe('no_promise');
    const origin = String(confirmed.logPromise).split('\n', 1)[0] ?? '';
    const broken = signLogPromise(origin, Buffer.alloc(32, 7), service.deps.logKey, 1);
    expect((await show({ promise: broken })).answer).toBe('removed');
    const red = colours.get('removed');
    expect([...colours].filter(([, colour]) => colour === red).map(([answer]) => answer)).toEqual(['removed']);
    await page.close();
  });

  test('takes no form but the present one, and shows apart what was not asked for', async () => {
    const show = async (log: StoredLog, given: Record<string, string>) => {
      const page = await browser.newPage();
      const read = serve(log);
      await page.route(/\/public\/|voting-log-key/, async (route) => {
        const { pathname, search } = new URL(route.request().url());
        const { status, bytes } = await read(`${pathname}${search}`, 0);
        await route.fulfill({ status, body: bytes });
      });
      await page.goto(linkOf({ event: EVENT, ...given }));
      const outcome = await outcomeOf(page);
      await page.close();
      return outcome;
    };
    const { log, ...given } = PRESENT_FORM;
    const right = await show(log, given);
    expect(right).toMatchObject({ verified: 'yes', marks: { recount: '✓', witnesses: '–', 'your ballot': '–' } });
    for (const [what, { log: old, fails, ...more }] of ONE_OF_EACH) {
      const { verified, marks } = await show(old, more);
      expect([what, verified, marks[fails]]).toEqual([what, 'no', '✗']);
    }
  });

  test.each([
    ['a desk', { width: 1_280, height: 800 }],
    ['a phone', PHONE],
  ])('shows its findings across the width of %s', async (_where, viewport) => {
    const { event } = await pollWithReceipt(1);
    const page = await browser.newPage({ viewport });
    await page.goto(linkOf({ event: event.id }));
    await outcomeOf(page);
    await unfold(page, 'observers');
    // A text in a column of one letter is ten times as high.
    for (const finding of await page.locator('#checks li').all())
      expect((await finding.boundingBox())?.height).toBeLessThan(260);
    await page.close();
  });

  test.each([
    ['a desk', { width: 1_280, height: 800 }],
    ['a phone', PHONE],
  ])('fits %s, can be read, and has a name for every field', async (_where, viewport) => {
    const page = await browser.newPage({ viewport });
    await page.goto(`${base()}/verify`);
    expect(await findViolations(page)).toEqual([]);
    for (const name of ['by-hand', 'observers']) await unfold(page, name);
    expect(await findViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')).toBe(false);
    expect(await page.evaluate(FAINT_TEXTS)).toEqual([]);
    expect(await page.locator('input:not(label *), textarea:not(label *)').count()).toBe(0);
    expect((await page.locator('#check').boundingBox())?.height ?? 0).toBeGreaterThanOrEqual(44);
    await page.close();
  });
});

test('the verifier is served as one file that runs by itself, with the SHA-256 that page and guide name', async () => {
  const { event } = await pollWithReceipt(3);
  const key = await createObserverKey(service, account, event.id);
  await finishEvent(service, event.id);
  const { body } = await service.call('GET', '/verify/voting-verifier.mjs');
  const hash = createHash('sha256').update(body).digest('hex');
  for (const target of ['/verify', '/reference/verifying-a-ballot'])
    expect((await service.call('GET', target)).body).toContain(hash);
  const folder = mkdtempSync(path.join(tmpdir(), 'one-file-'));
  try {
    writeFileSync(path.join(folder, 'voting-verifier.mjs'), body);
    const words = [
      'voting-verifier.mjs',
      '--base-url',
      base(),
      '--event',
      event.id,
      '--save',
      'checkpoint.txt',
      '--json',
    ];
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: folder, env: { VOTING_KEY: key } });
    expect(JSON.parse(stdout).verified).toBe('yes');
    expect(readFileSync(path.join(folder, 'checkpoint.txt'), 'utf8')).toContain('confirmed 3');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
