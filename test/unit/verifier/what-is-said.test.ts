import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { logOrigin } from '#src/ballot-log/checkpoint.ts';
import { hashLeaf } from '#src/ballot-log/merkle-tree.ts';
import { signLogPromise } from '#src/ballot-log/promise-leaf.ts';
import { createNoteSigner } from '#src/ballot-log/signed-note.ts';
import { keyOf } from '#test/harness/witness.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { readWitnessKey } from '../../../verifier/note.ts';
import type { Read } from '../../../verifier/read-service.ts';
import { lastWords, type VerifyOptions, verifyLog } from '../../../verifier/verify-log.ts';
import {
  CLOSED_AT,
  EVENT,
  leafOf,
  lying,
  reply,
  SIGNER,
  serve,
  signHead,
  someBallot,
  someBallots,
  storeLog,
  unclosed,
} from './stored-log.ts';

// Red is for what the service served or signed. What a voter typed, and what something else on the way answered, is not.

const below = createRandom(21);
const ballots = someBallots(below, 5);
const log = storeLog(ballots);
const [ballot = someBallot(below)] = ballots;
const promise = signLogPromise(logOrigin(SIGNER.name, EVENT), hashLeaf(leafOf(ballot)), SIGNER, Date.UTC(2200, 0, 1));

const otherService = createNoteSigner('vote.example.net', randomBytes(32));

async function check(more: Partial<VerifyOptions>, read: Read = serve(log)) {
  const { verified, checks, yourBallot } = await verifyLog({ read, event: EVENT, ...more });
  return { verified, yourBallot, find: (name: string) => checks.find((one) => one.name === name) };
}

test.each([
  ['one line of it', promise.split('\n')[0] ?? ''],
  ['without its signature', `${promise.slice(0, promise.indexOf('\n\n'))}\n`],
  ['cut off within its signature', `${promise.slice(0, -20)}\n`],
  ['with a letter changed', promise.replace('will be', 'will bee')],
  ['of another service', signLogPromise('vote.example.net/evt_other', randomBytes(32), otherService, 1)],
  ['any text', 'Thank you for voting!\n'],
])('a promise that was pasted wrongly is no fraud: %s', async (_what, pasted) => {
  const { verified, find } = await check({ promise: pasted });
  expect([verified, find('promise')]).toMatchObject([
    'partial',
    { status: 'left_out', detail: expect.stringContaining('no whole promise') },
  ]);
});

const [origin = '', words, leaf = '', until, , signature = ''] = promise.split('\n');
test.each([
  ['in one line', promise.replaceAll('\n', ' ')],
  ['with the line ends of Windows', promise.replaceAll('\n', '\r\n')],
  ['without its last line end', promise.trimEnd()],
  ['quoted in an answer', promise.replaceAll(/^/gm, '> ')],
  ['indented', promise.replaceAll(/^/gm, '    ')],
  [
    'broken within leaf and signature',
    promise.replaceAll(/(\S{30})(?=\S)/g, (run) => `${run}\n`).replace(/^.*this/s, `${origin}\nthis`),
  ],
  ['with two hyphens for its dash', promise.replace('—', '--')],
  ['without its empty line', [origin, words, leaf, until, signature].join('\n')],
  ['among other lines of a receipt', `The board\nConfirmation code: 123\nChair: Ada\n\n${promise}\n`],
])('a promise is read %s', async (_what, pasted) => {
  const { find, yourBallot } = await check({ promise: pasted });
  expect([find('promise kept')?.status, yourBallot]).toEqual(['verified', { answer: 'in', until: null }]);
});

test('a promise or checkpoint that was mistyped is named, and the answer is about what was given', async () => {
  expect((await check({ promise: promise.slice(0, -20) })).yourBallot).toEqual({ answer: 'no_promise', until: null });
  const another = signLogPromise(logOrigin(SIGNER.name, 'evt_another'), randomBytes(32), SIGNER, 1);
  const unread = { verified: 'partial', yourBallot: { answer: 'no_promise' } };
  expect(await check({ promise: another })).toMatchObject(unread);
  const since = signHead(log.entries.slice(0, 3));
  for (const pasted of [since.slice(0, -20), since.replace('confirmed 2', 'confirmed 3'), 'checkpoint']) {
    const { verified, find } = await check({ since: pasted });
    expect([verified, find('earlier checkpoint')?.status]).toEqual(['partial', 'left_out']);
  }
});

test('the one answer to a voter: in, not yet, not there, or removed', async () => {
  const open = log.entries.slice(0, -1);
  const reading = (entries: Buffer[], confirmed: number) => serve(unclosed(log, entries, confirmed));
  const code = randomBytes(13).toString('hex').toUpperCase();
  expect((await check({})).yourBallot).toBeNull();
  // A promise that holds says nothing of another ballot's code, nor of what is no code at all.
  expect((await check({ code, promise })).yourBallot).toEqual({ answer: 'not_there', until: null });
  expect((await check({ code: 'ABC' }, reading(open, 6))).yourBallot).toEqual({ answer: 'not_there', until: null });
  expect((await check({ code })).yourBallot).toEqual({ answer: 'not_there', until: null });
  expect((await check({ code }, reading(open, 5))).yourBallot?.answer).toBe('not_there');
  expect((await check({ code }, reading(open, 6))).yourBallot).toEqual({ answer: 'not_yet', until: CLOSED_AT });
  const later = signLogPromise(logOrigin(SIGNER.name, EVENT), randomBytes(32), SIGNER, Date.UTC(2200, 0, 1));
  const waiting = { answer: 'not_yet', until: Date.UTC(2200, 0, 1) };
  expect(await check({ code, promise: later }, reading(open, 6))).toMatchObject({ yourBallot: waiting });
  expect(await check({ promise: later })).toMatchObject({ verified: 'no', yourBallot: { answer: 'removed' } });
});

test('a promise in the name of the service that another key signed is wrong: the service has changed its key', async () => {
  const other = createNoteSigner(SIGNER.name, randomBytes(32));
  const forged = signLogPromise(logOrigin(SIGNER.name, EVENT), hashLeaf(leafOf(ballot)), other, 1);
  expect((await check({ promise: forged })).find('promise')?.status).toBe('failed');
  expect((await check({ promise })).find('promise kept')?.status).toBe('verified');
});

test('a code that is nowhere is said to be mistyped where no ballot waits, and may wait where one does', async () => {
  const code = randomBytes(13).toString('hex').toUpperCase();
  const seen = async (confirmed: number) =>
    (await check({ code }, serve(unclosed(log, undefined, confirmed)))).find('your ballot');
  const again = expect.stringContaining('look at the code again');
  expect(await seen(5)).toMatchObject({ status: 'left_out', detail: again });
  expect((await seen(5))?.detail).not.toContain('wait');
  expect((await seen(6))?.detail).toContain('1 ballot waits');
});

test.each([/voting-log-key$/, /checkpoint$/])(
  'a page of a proxy in the place of %s is nothing that the service signed',
  async (address) => {
    const html = '<!doctype html>\n<html>\n\n<body>Bad gateway</body>\n</html>\n';
    const read = lying(log, address, () => reply(200, html));
    const { verified, find } = await check({}, read);
    expect([verified, find('reading')?.status]).toEqual(['partial', 'left_out']);
    expect(lastWords(await verifyLog({ read, event: EVENT }), 'page')).toContain('says nothing for or against the log');
  },
);

const since = signHead(log.entries.slice(0, 3));
const witnesses = { keys: [readWitnessKey(keyOf('witness.example').verifierKey)], quorum: 1 };

async function statusesOf(more: Partial<VerifyOptions> = {}, stored = log) {
  const { verified, checks } = await verifyLog({ read: serve(stored), event: EVENT, ...more });
  const named = (status: string): string[] => checks.flatMap((one) => (one.status === status ? one.name : []));
  return { verified, notAsked: named('not_asked'), leftOut: named('left_out') };
}

test('a log with everything published is right, and what nobody asked for is listed as such', async () => {
  const notAsked = ['consistency', 'your ballot', 'promise kept', 'witnesses'];
  expect(await statusesOf()).toEqual({ verified: 'yes', notAsked, leftOut: [] });
  expect(await statusesOf({ since })).toEqual({ verified: 'yes', notAsked: notAsked.slice(1), leftOut: [] });
});

test('what was asked for and could not run is left out, and the log is right as far as it goes', async () => {
  const asked = await statusesOf({ witnesses });
  expect(asked).toMatchObject({ verified: 'partial', leftOut: ['service log'] });
  expect(asked.notAsked).not.toContain('witnesses');
  const code = randomBytes(13).toString('hex').toUpperCase();
  expect(await statusesOf({ code })).toMatchObject({ verified: 'partial', leftOut: ['your ballot'] });
});

test('what the rules of the log demand and could not run is left out, whether it was asked for or not', async () => {
  expect(await statusesOf({}, unclosed(log))).toMatchObject({ verified: 'partial', leftOut: ['close', 'recount'] });
});
