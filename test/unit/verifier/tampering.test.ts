import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { logOrigin } from '#src/ballot-log/checkpoint.ts';
import { encodeLeaf, type Leaf, voidLeaf } from '#src/ballot-log/leaf.ts';
import { hashLeaf } from '#src/ballot-log/merkle-tree.ts';
import { signLogPromise } from '#src/ballot-log/promise-leaf.ts';
import { createNoteSigner } from '#src/ballot-log/signed-note.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { sortedJson } from '../../../verifier/json.ts';
import { verifyLog } from '../../../verifier/verify-log.ts';
import {
  CLOSED_AT,
  ENDS,
  EVENT,
  failedOf,
  leafOf,
  openingAt,
  SIGNER,
  type StoredBallot,
  type StoredLog,
  serve,
  signHead,
  someBallot,
  someBallots,
  storeLog,
  type Type,
} from './stored-log.ts';

const SEED = Number(process.env['TAMPER_SEED'] ?? 1);
/** `npm run tamper` runs ten thousand. */
const TAMPERINGS = Number(process.env['TAMPERINGS'] ?? 2_500);
const BALLOTS = 12;

type Below = (limit: number) => number;

/** An event's ballots, its log, and a checkpoint that an observer kept while it was open. */
function honestLog(below: Below, count = BALLOTS) {
  const ballots = someBallots(below, count);
  const log = storeLog(ballots);
  const kept = 2 + below(count);
  return { ballots, log, since: signHead(log.entries.slice(0, kept)), kept };
}
type Honest = ReturnType<typeof honestLog>;

async function verify(log: StoredLog, since?: string) {
  return verifyLog({ read: serve(log), event: EVENT, ...(since === undefined ? {} : { since }) });
}

const at = <T>(values: readonly T[], index: number): T => {
  const value = values[index];
  if (value === undefined) throw new Error(`there is no value ${index}`);
  return value;
};

/** The first change of the configuration unless said otherwise. */
const configLeaf = (fields: { at: number; config: string; confirmed: number; seq?: number }): Buffer =>
  encodeLeaf({ v: 2, t: 'config', e: EVENT, ...ENDS, seq: 1, ...fields });

/** Another choice than a ballot has. */
function changed(ballot: StoredBallot, below: Below): StoredBallot {
  const other = ['cnd_a', 'cnd_b', 'cnd_c'].filter((id) => id !== ballot.votes[0]?.candidateId);
  const [, ...rest] = ballot.votes;
  return { ...ballot, votes: [{ positionId: 'pos_1', candidateId: at(other, below(2)) }, ...rest] };
}

/** Ways to change what ballots say, done thoroughly: openings and results go along, only the signature cannot. */
const REWRITES: Readonly<Record<string, (ballots: StoredBallot[], below: Below, index: number) => StoredBallot[]>> = {
  'changes a ballot': (ballots, below, index) => ballots.with(index, changed(at(ballots, index), below)),
  'drops a ballot': (ballots, _, index) => ballots.toSpliced(index, 1),
  'adds a ballot': (ballots, below, index) => ballots.toSpliced(index, 0, someBallot(below)),
  'swaps two ballots': (ballots, below, index) => {
    const other = (index + 1 + below(ballots.length - 1)) % ballots.length;
    return ballots.with(index, at(ballots, other)).with(other, at(ballots, index));
  },
  'weighs a ballot otherwise': (ballots, _, index) =>
    ballots.with(index, { ...at(ballots, index), weightMicro: at(ballots, index).weightMicro + 1_000_000n }),
  'counts a ballot twice': (ballots, below, index) => ballots.toSpliced(below(ballots.length), 0, at(ballots, index)),
};

/** Ways to tamper with parts of a stored log. Each leaves the signed head as it was. */
const PATCHES: Readonly<Record<string, (log: StoredLog, below: Below, ballots: readonly StoredBallot[]) => void>> = {
  'flips a bit of an entry': (log, below) => {
    const index = below(log.entries.length);
    const entry = Buffer.from(at(log.entries, index));
    const byte = below(entry.length);
    entry[byte] = (entry[byte] ?? 0) ^ (1 << below(8));
    log.entries = log.entries.with(index, entry);
  },
  'opens a ballot with another choice': (log, below, ballots) => {
    const index = below(ballots.length);
    log.openings = log.openings.with(index, openingAt(index + 1, changed(at(ballots, index), below)));
  },
  'opens a ballot with another weight': (log, below) => {
    const index = below(log.openings.length);
    log.openings = log.openings.with(index, { ...at(log.openings, index), weight: '7' });
  },
  'opens a ballot with another salt': (log, below) => {
    const index = below(log.openings.length);
    log.openings = log.openings.with(index, { ...at(log.openings, index), salt: randomBytes(32).toString('base64') });
  },
  'leaves an opening out': (log, below) => {
    log.openings = log.openings.toSpliced(below(log.openings.length), 1);
  },
  'opens a ballot twice': (log, below) => {
    const index = below(log.openings.length);
    log.openings = log.openings.toSpliced(index, 0, at(log.openings, index));
  },
  'opens a ballot as another one': (log, below) => {
    const index = below(log.openings.length - 1);
    const [one, other] = [at(log.openings, index), at(log.openings, index + 1)];
    log.openings = log.openings
      .with(index, { ...other, index: one.index })
      .with(index + 1, { ...one, index: other.index });
  },
  'publishes another figure': (log, below) => {
    const results = structuredClone(log.results);
    const row = at<{ votesWon: number }>(
      at<{ candidates: { votesWon: number }[] }>(results.positions, below(2)).candidates,
      below(3),
    );
    row.votesWon += 1;
    log.results = results;
  },
  'publishes another winner': (log, below) => {
    const results = structuredClone(log.results);
    const position = at<{ winners: string[] }>(results.positions, below(2));
    position.winners = position.winners.length > 1 ? position.winners.slice(1) : [...position.winners, 'cnd_x'];
    log.results = results;
  },
  'opens the close to another figure': (log, below) => {
    const close = log.results.log.close as Record<string, unknown>;
    const name = at(['ballots', 'weight', 'abstentions', 'config', 'result', 'title', 'salt', 'electorate'], below(8));
    log.results = { ...log.results, log: { ...log.results.log, close: { ...close, [name]: 'AAAA' } } };
  },
  'publishes another title or other figures of the event': (log, below) => {
    const results = structuredClone(log.results);
    const changes: readonly (() => void)[] = [
      () => Object.assign(results, { title: 'Another board' }),
      () => Object.assign(results.stats, { abstentions: 1 }),
      () => Object.assign(results.stats, { electorate: 100 }),
      () => Object.assign(results.stats, { turnout: 0.5 }),
      () => Object.assign(results.stats, { identityChanges: 1 }),
    ];
    at(changes, below(changes.length))();
    log.results = results;
  },
  'draws the lot with another seed': (log) => {
    log.tieSeed = createHash('sha256').update(log.tieSeed).digest('hex');
  },
  'says that a ballot is void': (log, below) => {
    const index = 1 + below(log.openings.length);
    const leaf = JSON.parse(at(log.entries, index).toString());
    log.entries = log.entries.toSpliced(-1, 0, encodeLeaf(voidLeaf(EVENT, Buffer.from(leaf.h, 'hex'), index)));
  },
  'changes the signed text': (log, below) => {
    const byte = below(log.checkpoint.indexOf('\n\n'));
    log.checkpoint = `${log.checkpoint.slice(0, byte)}${log.checkpoint[byte] === '1' ? '2' : '1'}${log.checkpoint.slice(byte + 1)}`;
  },
  'signs with a key of its own': (log, below) => {
    log.entries = log.entries.toSpliced(1 + below(log.openings.length), 1);
    log.checkpoint = signHead(log.entries, createNoteSigner('vote.example.org', randomBytes(32)));
  },
};

/** Ways to tamper for one who has stolen the signing key: only a checkpoint that was kept shows them. */
const FORKS: Readonly<Record<string, (honest: Honest, below: Below) => StoredLog>> = {
  'signs an old head again, over other content': ({ ballots, kept }, below) => {
    // Something that stood in the log already when the observer looked.
    const index = below(kept - 1);
    return storeLog(ballots.with(index, changed(at(ballots, index), below)));
  },
  'forks the log': ({ ballots, kept }, below) => {
    const index = below(kept - 1);
    return storeLog([...ballots.slice(0, index), ...someBallots(below, BALLOTS)]);
  },
  'goes back to an older state': ({ ballots, kept, log }) => {
    const entries = log.entries.slice(0, kept - 1);
    return { ...log, entries, openings: log.openings.slice(0, ballots.length), checkpoint: signHead(entries) };
  },
};

describe('the verifier', () => {
  test('finds nothing wrong with honest logs, of any size, whenever the earlier checkpoint was kept', async () => {
    const below = createRandom(SEED);
    for (const count of [1, 2, 3, 12, 254, 255, 256, 300, 700]) {
      const { log, since } = honestLog(below, count);
      expect(await verify(log, since)).toMatchObject({ verified: 'yes', size: count + 2 });
      const { checks } = await verify(log, since);
      expect(checks.map(({ status }) => status)).not.toContain('left_out');
    }
  });

  test(`finds every one of ${TAMPERINGS} random tamperings of a stored log`, { timeout: 300_000 }, async () => {
    const below = createRandom(SEED);
    const seen = new Map<string, number>();
    const missed: string[] = [];
    const kinds = Object.keys({ ...REWRITES, ...PATCHES, ...FORKS });
    let honest = honestLog(below);
    for (let round = 0; round < TAMPERINGS; round += 1) {
      if (round % kinds.length === 0) honest = honestLog(below);
      const { ballots, log, since } = honest;
      const kind = at(kinds, round % kinds.length);
      let tampered = structuredCloneLog(log);
      const rewrite = REWRITES[kind];
      const fork = FORKS[kind];
      if (rewrite !== undefined) {
        const rewritten = storeLog(rewrite([...ballots], below, below(ballots.length)));
        tampered = { ...rewritten, checkpoint: log.checkpoint };
      } else if (fork !== undefined) tampered = fork(honest, below);
      else PATCHES[kind]?.(tampered, below, ballots);
      const { verified } = await verify(tampered, fork === undefined ? undefined : since);
      if (verified !== 'no') missed.push(`${kind} in round ${round}`);
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
    }
    expect(missed).toEqual([]);
    expect(seen.size).toBe(kinds.length);
    expect(Math.min(...seen.values())).toBeGreaterThan(TAMPERINGS / 25);
  });

  test('cannot find a fork that was signed with the stolen key when nobody kept a checkpoint: that is what they are for', async () => {
    const below = createRandom(SEED);
    const honest = honestLog(below);
    const fork = at(Object.values(FORKS), 1)(honest, below);
    expect((await verify(fork)).verified).toBe('yes');
    expect((await verify(fork, honest.since)).verified).toBe('no');
  });

  test('knows a void ballot of a poll by its leaf, and does not count it; an election takes none back', async () => {
    const below = createRandom(SEED);
    const failed = (type: Type) => failedOf(storeLog(someBallots(below, BALLOTS, type), { type, voided: [4] }));
    expect([await failed('poll'), await failed('election')]).toEqual([[], ['openings']]);
  });

  test('holds the weight of a ballot in a poll to 1', async () => {
    const below = createRandom(SEED);
    const ballots = someBallots(below, BALLOTS, 'poll');
    expect(await verify(storeLog(ballots, { type: 'poll' }))).toMatchObject({ verified: 'yes' });
    const heavier = ballots.with(2, { ...at(ballots, 2), weightMicro: 2_000_000n });
    const { checks } = await verify(storeLog(heavier, { type: 'poll' }));
    expect(checks.at(-1)).toMatchObject({ name: 'openings', status: 'failed' });
  });

  test('refuses whatever stands behind the close but reversals, and a second close, though the service signs it', async () => {
    const below = createRandom(SEED);
    const { log } = honestLog(below);
    const config = configLeaf({ at: 3, config: '00'.repeat(32), confirmed: 99 });
    const last = at(log.entries, log.entries.length - 1);
    for (const extra of [leafOf(someBallot(below)), config, last]) {
      const longer = { ...log, entries: [...log.entries, extra] };
      const report = await verify({ ...longer, checkpoint: signHead(longer.entries) });
      expect(report.checks.at(-1)).toMatchObject({ name: 'leaves', status: 'failed' });
    }
  });

  test('holds a log to the end that it says: no close before it, one in time, and each end with its due date', async () => {
    const { log } = honestLog(createRandom(SEED));
    const [open, ...others] = log.entries.map((entry) => JSON.parse(String(entry)));
    const last = others.length - 1;
    const check = async (leaves: readonly object[], name: string, nowMs = 0) => {
      const entries = leaves.map((leaf) => encodeLeaf(leaf as Leaf));
      const results = { ...log.results, final: false };
      const stored = { ...log, results, entries, checkpoint: signHead(entries) };
      const { checks } = await verifyLog({ read: serve(stored), event: EVENT, nowMs });
      return checks.find((one) => one.name === name)?.status;
    };
    const leaves = (change: object, of = others) => check([{ ...open, ...change }, ...of], 'leaves');
    expect(await leaves({})).toBe('verified');
    const wrongEnds = [null, -1, String(ENDS.end)].map((end) => ({ end }));
    for (const wrong of [{ closeDue: null }, { closeDue: ENDS.closeDue + 1 }, ...wrongEnds])
      expect([wrong, await leaves(wrong)]).toEqual([wrong, 'failed']);
    // An end that was moved behind the close, or away, without a leaf of the close behind it.
    expect(await leaves({ end: null, closeDue: null })).toBe('failed');
    const later = { end: ENDS.end + 1, closeDue: ENDS.closeDue + 1 };
    expect(await leaves(later)).toBe('failed');
    const config = (more: object, seq = 1) => ({
      ...{ v: 2, t: 'config', e: EVENT, at: 2, config: open.config, ...later, confirmed: BALLOTS, seq, ...more },
    });
    const beforeClose = (...changes: object[]) => others.toSpliced(last, 0, ...changes);
    expect(await leaves({}, others.with(last, { ...others[last], at: CLOSED_AT - 1 }))).toBe('failed');
    expect(await leaves({}, beforeClose(config({})))).toBe('failed');
    expect(await leaves(later, beforeClose(config(ENDS)))).toBe('verified');
    expect(await leaves(later, beforeClose(config({ ...ENDS, confirmed: BALLOTS - 1 })))).toBe('failed');
    expect(await leaves(later, beforeClose(config({}), config({ ...ENDS, confirmed: 0 }, 2)))).toBe('failed');
    // More than are confirmed in the end.
    const more = beforeClose(config({ ...ENDS, confirmed: BALLOTS + 1 }));
    expect(await check([open, ...more], 'confirmed')).toBe('failed');
    const unclosed = [open, ...others.slice(0, -1)];
    expect(await check(unclosed, 'close', ENDS.closeDue)).toBe('left_out');
    expect(await check(unclosed, 'close', ENDS.closeDue + 1)).toBe('failed');
    expect(await check([{ ...open, end: null, closeDue: null }, ...unclosed.slice(1)], 'close', 9e15)).toBe('left_out');
  });

  test('holds the ballots against the roll, as it stood before each of them', async () => {
    const below = createRandom(SEED);
    const ballots = someBallots(below, 4).map(leafOf);
    const open = (roll: unknown) => encodeLeaf({ ...JSON.parse(String(at(storeLog([]).entries, 0))), roll });
    const roll = (heads: number, seq: number, more: object = {}) => {
      const figures = { heads, weight: String(heads), identityChanges: seq, rollChanges: 0 };
      return encodeLeaf({ ...{ v: 2, t: 'roll', e: EVENT, at: 2, ...figures, seq }, ...more });
    };
    const leavesCheck = async (...entries: Buffer[]) => {
      const stored = { ...storeLog([]), entries, checkpoint: signHead(entries) };
      return (await verify(stored)).checks.find(({ name }) => name === 'leaves')?.status;
    };
    const heads = (count: number) => ({ heads: count, weight: '9.5' });
    expect(await leavesCheck(open(heads(4)), ...ballots)).toBe('verified');
    expect(await leavesCheck(open(heads(3)), ...ballots)).toBe('failed');
    expect(await leavesCheck(open(heads(3)), roll(4, 1), ...ballots)).toBe('verified');
    expect(await leavesCheck(open(heads(3)), ...ballots, roll(4, 1))).toBe('failed');
    expect(await leavesCheck(open(heads(4)), ...ballots, roll(3, 1))).toBe('failed');
    expect(await leavesCheck(open(heads(9)), roll(8, 1), ...ballots, roll(4, 2))).toBe('verified');
    // Another number than the next, changes taken back, figures that are none, a roll of a poll.
    expect(await leavesCheck(open(heads(9)), roll(8, 2))).toBe('failed');
    expect(await leavesCheck(open(heads(9)), roll(8, 1), roll(8, 2, { identityChanges: 0 }))).toBe('failed');
    const wrongHeads = [-1, 1.5, '9'].map((heads) => ({ heads }));
    for (const wrong of [...wrongHeads, { weight: 9 }, { weight: '-9' }, { rollChanges: null }])
      expect([wrong, await leavesCheck(open(heads(9)), roll(9, 1, wrong))]).toEqual([wrong, 'failed']);
    // A poll becomes an election, and the other way round: before any ballot, behind a change of its configuration.
    const config = (seq: number) =>
      configLeaf({ at: 1, config: createHash('sha256').update(`${seq}`).digest('hex'), confirmed: 4, seq });
    const gone = { heads: null, weight: null };
    expect(await leavesCheck(open(null), config(1), roll(4, 1), ...ballots)).toBe('verified');
    expect(await leavesCheck(open(null), config(1), roll(3, 1), ...ballots)).toBe('failed');
    expect(await leavesCheck(open(heads(3)), config(1), roll(0, 1, gone), ...ballots)).toBe('verified');
    expect(await leavesCheck(open(heads(3)), config(1), roll(0, 1, gone), config(2), roll(4, 2), ...ballots)).toBe(
      'verified',
    );
    for (const wrong of [
      [open(null), roll(8, 1)],
      [open(null), config(1), ...ballots, roll(8, 1)],
      [open(null), config(1), roll(0, 1, gone)],
      [open(heads(3)), roll(0, 1, gone), ...ballots],
      [open(heads(4)), config(1), ...ballots, roll(0, 1, gone)],
      [open(heads(9)), config(1), roll(0, 1, { heads: null })],
      [open(heads(9)), config(1), roll(0, 1, { weight: null })],
      [open(heads(9)), config(1), roll(3, 1, { rollChanges: 1 }), roll(0, 2, gone)],
      [open(heads(9)), config(1), roll(0, 1, gone), roll(0, 2, gone)],
      [open(heads(9)), config(1), roll(0, 1, { ...gone, rollChanges: 2 }), config(2), roll(3, 2)],
    ])
      expect(await leavesCheck(...wrong)).toBe('failed');
    for (const wrong of [3, {}, { heads: 3 }, { heads: 3, weight: 'many' }])
      expect(await leavesCheck(open(wrong))).toBe('failed');
  });

  test('counts the letters that were printed, and takes no count that falls', async () => {
    const first = JSON.parse(String(at(storeLog([]).entries, 0)));
    const open = (letters: unknown) => encodeLeaf({ ...first, letters });
    const letters = (n: unknown, more: object = {}) =>
      Buffer.from(sortedJson({ v: 2, t: 'letters', e: EVENT, n, ...more }));
    const read = async (...entries: Buffer[]) => {
      const { checks, lettersPrinted } = await verify({ ...storeLog([]), entries, checkpoint: signHead(entries) });
      return [checks.find(({ name }) => name === 'leaves')?.status, lettersPrinted];
    };
    expect(await read(open(0))).toEqual(['verified', 0]);
    expect(await read(open(3), letters(5), letters(9))).toEqual(['verified', 9]);
    for (const wrong of [
      [open(-1)],
      [open('3')],
      [open(3), letters(2)],
      [open(3), letters(5), letters(4)],
      [open(3), letters('5')],
      [open(3), letters(5, { at: 1 })],
    ])
      expect(await read(...wrong)).toEqual(['failed', null]);
  });

  test('shows whether a promise to a voter was kept', async () => {
    const below = createRandom(SEED);
    const { ballots, log } = honestLog(below);
    const promiseFor = (ballot: StoredBallot, until: number) =>
      signLogPromise(logOrigin(SIGNER.name, EVENT), hashLeaf(leafOf(ballot)), SIGNER, until);
    const nowMs = Date.UTC(2026, 10, 22);
    const ask = async (stored: StoredLog, promise: string) => {
      const { checks } = await verifyLog({ read: serve(stored), event: EVENT, promise, nowMs });
      return checks.find(({ name }) => name === 'promise kept')?.status;
    };
    const open = { ...log, entries: log.entries.slice(0, -1) };
    open.checkpoint = signHead(open.entries);
    for (const until of [nowMs - 1, nowMs + 1]) {
      expect(await ask(log, promiseFor(at(ballots, 5), until))).toBe('verified');
      expect(await ask(open, promiseFor(at(ballots, 5), until))).toBe('verified');
      // Nothing comes behind the close, whatever the date.
      expect(await ask(log, promiseFor(someBallot(below), until))).toBe('failed');
    }
    expect(await ask(open, promiseFor(someBallot(below), nowMs + 1))).toBe('left_out');
    expect(await ask(open, promiseFor(someBallot(below), nowMs - 1))).toBe('failed');
  });

  test('refuses a key other than the one that is known', async () => {
    const { log } = honestLog(createRandom(SEED));
    const other = createNoteSigner('vote.example.org', randomBytes(32)).verifierKey;
    const report = await verifyLog({ read: serve(log), event: EVENT, logKey: other });
    expect(report.checks).toMatchObject([{ name: 'key', status: 'failed' }]);
  });
});

function structuredCloneLog(log: StoredLog): StoredLog {
  return { ...log, entries: [...log.entries], openings: [...log.openings] };
}
