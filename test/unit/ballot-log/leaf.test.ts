import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  ballotCommitment,
  ballotLeaf,
  ballotOpening,
  closeCommitment,
  encodeLeaf,
  hashOfJson,
  voidLeaf,
} from '#src/ballot-log/leaf.ts';
import { codeTagOf } from '#src/ballots/waiting-ballot.ts';

const sha256 = (...parts: (string | Uint8Array)[]): string =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex');

const salt = Buffer.alloc(32, 3);
const votes = [
  { positionId: 'pos_b', candidateId: 'cnd_1', rank: 2 },
  { positionId: 'pos_a', candidateId: 'cnd_2' },
  { positionId: 'pos_a', candidateId: 'cnd_1', value: 5 },
];

test('a commitment is the hash of "ballot", the salt, and the sorted votes with their weight', () => {
  const json =
    '{"votes":[{"candidateId":"cnd_1","positionId":"pos_a","value":5},{"candidateId":"cnd_2","positionId":"pos_a"},' +
    '{"candidateId":"cnd_1","positionId":"pos_b","rank":2}],"weight":"1.5"}';
  expect(ballotCommitment(salt, ballotOpening(votes, 1_500_000n)).toString('hex')).toBe(sha256('ballot', salt, json));
});

test('the order in which votes were sent does not change the commitment', () => {
  const commitment = ballotCommitment(salt, ballotOpening(votes, 1_000_000n));
  expect(ballotCommitment(salt, ballotOpening(votes.toReversed(), 1_000_000n)).equals(commitment)).toBe(true);
});

test('another vote, value, weight or salt gives another commitment', () => {
  const all = [
    ballotCommitment(salt, ballotOpening(votes, 1_000_000n)),
    ballotCommitment(salt, ballotOpening(votes.slice(1), 1_000_000n)),
    ballotCommitment(
      salt,
      ballotOpening(votes.with(0, { positionId: 'pos_b', candidateId: 'cnd_1', rank: 1 }), 1_000_000n),
    ),
    ballotCommitment(salt, ballotOpening(votes, 1_000_001n)),
    ballotCommitment(Buffer.alloc(32, 4), ballotOpening(votes, 1_000_000n)),
  ];
  expect(new Set(all.map((each) => each.toString('hex'))).size).toBe(all.length);
  expect(() => ballotCommitment(salt.subarray(1), ballotOpening(votes, 1n))).toThrow(RangeError);
});

test('a ballot’s leaf is canonical JSON of the event, the commitment and the tag of the code, and nothing else', () => {
  const code = '0123456789ABCDEFGHJKMNPQRS';
  const [commitment, codeTag] = [Buffer.alloc(32, 0xaa), codeTagOf(code)];
  expect(codeTag.toString('hex')).toBe(sha256('code', code));
  expect(encodeLeaf(ballotLeaf('evt_1', commitment, codeTag)).toString()).toBe(
    `{"c":"${'aa'.repeat(32)}","e":"evt_1","h":"${codeTag.toString('hex')}","t":"ballot","v":2}`,
  );
  expect(() => ballotLeaf('evt_1', commitment.subarray(1), codeTag)).toThrow(RangeError);
  expect(() => ballotLeaf('evt_1', commitment, codeTag.subarray(1))).toThrow(RangeError);
});

test('the other leaves are canonical JSON of their fields', () => {
  const hash = 'ab'.repeat(32);
  const written = (text: string): string => text.replaceAll('HASH', hash);
  const opened = encodeLeaf({
    ...{ v: 2, t: 'open', e: 'evt_1', at: 5, config: hash, end: null, closeDue: null, seed: hash },
    roll: { heads: 3, weight: '3.5' },
    letters: 4,
  });
  expect(opened.toString()).toBe(
    written(
      '{"at":5,"closeDue":null,"config":"HASH","e":"evt_1","end":null,"letters":4,"roll":{"heads":3,"weight":"3.5"},"seed":"HASH","t":"open","v":2}',
    ),
  );
  const changed = { heads: 3, weight: '3.5', identityChanges: 1, rollChanges: 2, seq: 1 };
  expect(encodeLeaf({ v: 2, t: 'roll', e: 'evt_1', at: 5, ...changed }).toString()).toBe(
    '{"at":5,"e":"evt_1","heads":3,"identityChanges":1,"rollChanges":2,"seq":1,"t":"roll","v":2,"weight":"3.5"}',
  );
  expect(encodeLeaf({ v: 2, t: 'letters', e: 'evt_1', n: 7 }).toString()).toBe(
    '{"e":"evt_1","n":7,"t":"letters","v":2}',
  );
  const config = encodeLeaf({
    ...{ v: 2, t: 'config', e: 'evt_1', at: 5, config: hash, end: 6, closeDue: 7, confirmed: 8, seq: 1 },
  });
  expect(config.toString()).toBe(
    written('{"at":5,"closeDue":7,"config":"HASH","confirmed":8,"e":"evt_1","end":6,"seq":1,"t":"config","v":2}'),
  );
  const committed = encodeLeaf({ v: 2, t: 'close', e: 'evt_1', at: 5, c: hash });
  expect(committed.toString()).toBe(written('{"at":5,"c":"HASH","e":"evt_1","t":"close","v":2}'));
  const voided = encodeLeaf(voidLeaf('evt_1', Buffer.alloc(32, 0xab), 7));
  expect(voided.toString()).toBe(written('{"e":"evt_1","h":"HASH","index":7,"t":"void","v":2}'));
});

test('a close is committed to under a salt: SHA-256 of "close", salt and canonical JSON', () => {
  const content = {
    ...{ title: 'T', config: 'c', ballots: 2, weight: '2.5', abstentions: 0, participants: 2 },
    ...{ electorate: { heads: 3, weight: '3' }, identityChanges: 0, rollChanges: 1, byGroup: [], result: 'r' },
  };
  const salt = Buffer.alloc(32, 7);
  const written =
    '{"abstentions":0,"ballots":2,"byGroup":[],"config":"c","electorate":{"heads":3,"weight":"3"},"identityChanges":0,"participants":2,"result":"r","rollChanges":1,"title":"T","weight":"2.5"}';
  expect(closeCommitment(salt, content).toString('hex')).toBe(sha256('close', salt, written));
  expect(() => closeCommitment(salt.subarray(1), content)).toThrow(RangeError);
});

test('the hash of a configuration or result is that of its canonical JSON', () => {
  expect(hashOfJson({ b: [1.0, 'x'], a: null })).toBe(sha256('{"a":null,"b":[1,"x"]}'));
});
