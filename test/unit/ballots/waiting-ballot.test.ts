import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import { packList } from '#src/ballots/block-encoding.ts';
import { BlockSpoilt, splitBlock } from '#src/ballots/box.ts';
import {
  codeTagOf,
  generateConfirmationCode,
  openBallot,
  openTimes,
  openWaiting,
  openWaitingTime,
  sealEntries,
  sealSecretBallot,
  sealTimes,
  sealWaitingTime,
  waitingTag,
} from '#src/ballots/waiting-ballot.ts';
import { createSecrets } from '#src/platform/secrets.ts';

const [older, newer] = [randomBytes(32), randomBytes(32)];
const before = createSecrets([older]);
const rotated = createSecrets([newer, older]);
const ELECTION = { id: 'evt_1', type: 'election' } as const;
const POLL = { id: 'evt_1', type: 'poll' } as const;
const weightMicro = 1_000_000n;
const voter = randomBytes(16);
const code = generateConfirmationCode();
const codeTag = codeTagOf(code);
const packed = packEntries([{ position: 1, entries: [{ candidate: 2, value: 1 }] }]);

describe('a ballot of an election that waits', () => {
  test('is found by a tag that tells nothing of the one in the log, and is another one in another event', () => {
    const tag = waitingTag(before, ELECTION, code);
    const elsewhere = waitingTag(before, { ...ELECTION, id: 'evt_2' }, code);
    expect(tag).toHaveLength(32);
    expect(new Set([tag, elsewhere, codeTag].map((one) => one.toString('hex'))).size).toBe(3);
  });

  test('brings its entries, its weight and its times along', () => {
    const tag = waitingTag(before, ELECTION, code);
    const stored = sealSecretBallot(before, 'evt_1', tag, {
      codeTag,
      packed,
      room: 64,
      weightMicro: 7_250_000n,
      voter,
    });
    expect(openWaiting(before, ELECTION, tag, stored)).toMatchObject({
      entries: packed,
      sealed: { codeTag, weightMicro: 7_250_000n, voter },
    });
    const times = { confirmedMs: 1_234, promisedMs: 5_678 };
    const time = sealWaitingTime(before, 'evt_1', tag, sealTimes(code, times), 4_321);
    const opened = openWaitingTime(before, 'evt_1', tag, time);
    expect([openTimes(code, opened.masked), opened.dueMs]).toEqual([times, 4_321]);
  });

  test('brings a salt of its own, and an ID that is the same each time it is opened', () => {
    const stored = [0, 1].map(() =>
      sealSecretBallot(before, 'evt_1', codeTag, { codeTag, packed, room: 64, weightMicro, voter }),
    );
    const opened = stored.map((one) => openWaiting(before, ELECTION, codeTag, one).sealed);
    expect(opened[0]?.salt.equals(opened[1]?.salt ?? Buffer.alloc(0))).toBe(false);
    expect(opened[0]?.id).not.toBe(opened[1]?.id);
    expect(openWaiting(before, ELECTION, codeTag, stored[0] ?? Buffer.alloc(0)).sealed).toEqual(opened[0]);
    expect(opened[0]?.id).toMatch(/^bal_[0-9a-z]{26}$/);
  });

  test('is as long as any other of about its size, whatever is chosen', () => {
    const lengths = [0, 1, 5, 12].map((entries) => {
      const chosen = Array.from({ length: entries }, (_, at) => ({ candidate: at + 1, value: at + 1 }));
      const ballot = packEntries([{ position: 1, entries: chosen }]);
      return sealSecretBallot(before, 'evt_1', codeTag, { codeTag, packed: ballot, room: 64, weightMicro, voter })
        .length;
    });
    expect(new Set(lengths).size).toBe(1);
  });

  test('does not open when it was changed, or put in the place of another one', () => {
    const stored = sealSecretBallot(before, 'evt_1', codeTag, { codeTag, packed, room: 64, weightMicro, voter });
    for (const byte of [5, 20, stored.length - 1]) {
      const changed = Buffer.from(stored);
      changed[byte] = (changed[byte] ?? 0) ^ 1;
      expect(() => openWaiting(before, ELECTION, codeTag, changed)).toThrow();
    }
    expect(() => openWaiting(before, ELECTION, randomBytes(32), stored)).toThrow();
    expect(() => openWaiting(before, { ...ELECTION, id: 'evt_2' }, codeTag, stored)).toThrow();
    expect(() => openWaiting(createSecrets([newer]), ELECTION, codeTag, stored)).toThrow();
  });
});

test('a waiting ballot opens in the one form of its event: neither in clear, nor as one of the other kind', () => {
  const ofElection = sealSecretBallot(before, 'evt_1', codeTag, { codeTag, packed, room: 64, weightMicro, voter });
  const ofPoll = sealEntries(before, 'evt_1', codeTag, packed);
  for (const [event, stored] of [
    [ELECTION, packed],
    [ELECTION, ofPoll],
    [POLL, packed],
    [POLL, ofElection],
  ] as const)
    expect(() => openWaiting(before, event, codeTag, stored)).toThrow('another form');
});

test('a poll’s ballot is found by the tag of the log, and opens to its entries also after the secret key was rotated', () => {
  expect(waitingTag(rotated, POLL, code)).toEqual(codeTag);
  const stored = sealEntries(before, 'evt_1', codeTag, packed);
  expect(openWaiting(rotated, POLL, codeTag, stored)).toEqual({ entries: packed, sealed: undefined });
});

test('a ballot of the box is in clear', () => {
  expect(openBallot(before, ELECTION, codeTag, packed)).toEqual({ entries: packed, sealed: undefined });
});

const tags = Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32, 2)]);
const entries = packList([Buffer.from('one'), Buffer.from('two')]);

test('gives each ballot of a block its entries, its tag and its weight, or the one that all of them share', () => {
  const shown = (weights: string[]) =>
    splitBlock(7, { entries, weights, tags }).map((ballot) => [
      ...[ballot.entries.toString(), ballot.codeTag[0], ballot.codeTag.length, ballot.weightMicro],
    ]);
  expect(shown(['5'])).toEqual([
    ['one', 1, 32, 5n],
    ['two', 2, 32, 5n],
  ]);
  expect(shown(['5', '6'])).toEqual([
    ['one', 1, 32, 5n],
    ['two', 2, 32, 6n],
  ]);
});

test.each([
  ['a list of entries that ends within one', { entries: entries.subarray(0, -1), weights: ['5'], tags }],
  ['fewer tags than entries', { entries, weights: ['5'], tags: tags.subarray(0, 32) }],
  ['a tag that is cut off', { entries, weights: ['5'], tags: Buffer.concat([tags, Buffer.alloc(5)]) }],
  ['more weights than ballots', { entries, weights: ['5', '6', '7'], tags }],
])('refuses a block with %s, and names its first leaf', (_what, block) => {
  expect(() => splitBlock(7, block)).toThrow(BlockSpoilt);
  expect(() => splitBlock(7, block)).toThrow('the block of ballots at 7 cannot be read');
});
