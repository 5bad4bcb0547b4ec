import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { keyOf } from '#test/harness/witness.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { readWitnessKey } from '../../../verifier/note.ts';
import { type VerifyOptions, verifyLog } from '../../../verifier/verify-log.ts';
import { EVENT, serve, signHead, someBallot, storeLog } from './stored-log.ts';

const below = createRandom(5);
const log = storeLog(
  Array.from({ length: 5 }, () => someBallot(below)),
  '00'.repeat(32),
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
  const entries = log.entries.slice(0, -1);
  const results = { ...log.results, final: false, log: { ...log.results.log, size: entries.length, close: null } };
  const open = { ...log, results, entries, checkpoint: signHead(entries) };
  expect(await statusesOf({}, open)).toMatchObject({ verified: 'partial', leftOut: ['close', 'recount'] });
});
