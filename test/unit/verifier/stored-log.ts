import { createHash, randomBytes } from 'node:crypto';
import { logOrigin, signCheckpoint } from '#src/ballot-log/checkpoint.ts';
import {
  ballotCommitment,
  ballotLeaf,
  ballotOpening,
  type CloseContent,
  type CommittedVote,
  closeCommitment,
  encodeLeaf,
  hashOfJson,
} from '#src/ballot-log/leaf.ts';
import { hashLeaf } from '#src/ballot-log/merkle-tree.ts';
import { createNoteSigner, type NoteSigner } from '#src/ballot-log/signed-note.ts';
import { encodeBundle, parseTilePath, TILE_WIDTH } from '#src/ballot-log/tiles.ts';
import { MICRO, microToDecimal } from '#src/platform/decimal.ts';
import { startCount } from '#src/tally/start-count.ts';
import type { TallyPosition } from '#src/tally/types.ts';
import { naiveRoot } from '#test/unit/ballot-log/naive-tree.ts';
import type { Read, Reply } from '../../../verifier/read-service.ts';

export const EVENT = 'evt_stored';
export const SIGNER = createNoteSigner('vote.example.org', createHash('sha256').update('a signing key').digest());

const CANDIDATES = ['cnd_a', 'cnd_b', 'cnd_c'];
const POSITIONS = [
  { id: 'pos_1', title: 'Chair', votingMethod: 'plurality', seats: 1, tieBreak: 'lot' },
  { id: 'pos_2', title: 'Board', votingMethod: 'ranked_choice', seats: 2, tieBreak: 'joint' },
] as const;

export interface StoredBallot {
  votes: CommittedVote[];
  weightMicro: bigint;
  salt: Buffer;
  codeTag: Buffer;
}

/** What an attacker who holds the database and the web server may change at will. */
export interface StoredLog {
  entries: Buffer[];
  /** By leaf. */
  openings: { index: number; votes: readonly CommittedVote[]; weight: string; salt: string }[];
  results: Counted & { log: { close: unknown } };
  checkpoint: string;
  tieSeed: string;
  configuration: unknown;
}

const configuration = {
  v: 2,
  positions: POSITIONS.map((position) => ({
    ...position,
    ...{ groupId: null, rules: null, majorityRequired: null, minSelections: 1 },
    maxSelections: position.votingMethod === 'plurality' ? 1 : 3,
  })),
  candidates: CANDIDATES.map((id, sortOrder) => ({
    id,
    name: id,
    positionIds: ['pos_1', 'pos_2'],
    referendumRole: null,
    status: 'approved',
    sortOrder,
  })),
};

export function someBallot(below: (limit: number) => number): StoredBallot {
  const first = below(3);
  const second = (first + 1 + below(2)) % 3;
  return {
    votes: [
      { positionId: 'pos_1', candidateId: CANDIDATES[below(3)] ?? '' },
      { positionId: 'pos_2', candidateId: CANDIDATES[first] ?? '', rank: 1 },
      { positionId: 'pos_2', candidateId: CANDIDATES[second] ?? '', rank: 2 },
    ],
    weightMicro: MICRO * BigInt(1 + below(3)),
    salt: randomBytes(32),
    codeTag: randomBytes(32),
  };
}

export function leafOf(ballot: StoredBallot): Buffer {
  const commitment = ballotCommitment(ballot.salt, ballotOpening(ballot.votes, ballot.weightMicro));
  return encodeLeaf(ballotLeaf(EVENT, commitment, ballot.codeTag));
}

export function openingAt(index: number, ballot: StoredBallot) {
  const { votes, weight } = ballotOpening(ballot.votes, ballot.weightMicro);
  return { index, votes, weight, salt: ballot.salt.toString('base64') };
}

/** The results as the service publishes them. */
export function countResults(ballots: readonly StoredBallot[], seed: string) {
  const root = naiveRoot([openLeaf(seed), ...ballots.map(leafOf)]).toString('hex');
  const positions = POSITIONS.map((position) => {
    const tally: TallyPosition = {
      ...position,
      rules: null,
      candidates: CANDIDATES.map((id, sortOrder) => ({
        ...{ id, name: id, sortOrder, withdrawn: false, referendumRole: null },
      })),
    };
    const count = startCount(tally);
    for (const { votes, weightMicro } of ballots) {
      const own = votes.filter(({ positionId }) => positionId === position.id);
      const candidates = own.map(({ candidateId }) => CANDIDATES.indexOf(candidateId));
      count.add({ length: own.length, candidates, values: own.map(({ rank }) => rank ?? 1) }, weightMicro);
    }
    return count.report({ lot: { seed, root }, electorateMicro: null, wholeWeights: true, unitWeights: false });
  });
  const figures = { ballots: ballots.length, abstentions: 0, identityChanges: 0, rollChanges: 0 };
  return {
    title: 'The board',
    stats: { ...figures, electorate: null, turnout: null },
    positions: JSON.parse(JSON.stringify(positions)),
  };
}
type Counted = ReturnType<typeof countResults>;

function openLeaf(tieSeed: string): Buffer {
  const seed = createHash('sha256').update(Buffer.from(tieSeed, 'hex')).digest('hex');
  return encodeLeaf({ v: 2, t: 'open', e: EVENT, at: 1, config: hashOfJson(configuration), seed, roll: null });
}

/** The versions of the log: the first has the figures of its close in clear. */
export type LogVersion = 1 | 2;

/** The leaves of a finished event with these ballots, and what opens the close. */
export function leavesOf(ballots: readonly StoredBallot[], tieSeed: string, results: Counted) {
  const weight = microToDecimal(ballots.reduce((sum, ballot) => sum + ballot.weightMicro, 0n));
  const result = hashOfJson(results.positions);
  const salt = randomBytes(32);
  const { title, stats } = results;
  const content: CloseContent = {
    ...{ title, config: hashOfJson(configuration), ballots: ballots.length, weight, abstentions: 0 },
    ...{ participants: null, electorate: null, result },
    ...{ identityChanges: stats.identityChanges, rollChanges: stats.rollChanges },
  };
  const c = closeCommitment(salt, content).toString('hex');
  const close = encodeLeaf({ v: 2, t: 'close', e: EVENT, at: 2, c });
  const entries = [openLeaf(tieSeed), ...ballots.map(leafOf), close];
  return { entries, opening: { salt: salt.toString('base64'), ...content } };
}

/** The head of a log whose ballots are all in it. */
export function signHead(entries: readonly Buffer[], signer: NoteSigner = SIGNER): string {
  const head = { origin: logOrigin(signer.name, EVENT), size: entries.length, rootHash: naiveRoot(entries) };
  const confirmed = entries.filter((entry) => entry.includes('"t":"ballot"')).length;
  return signCheckpoint({ ...head, confirmed }, signer);
}

/** A whole log, consistent in itself: what an honest service stores, or an attacker who recomputes everything. */
export function storeLog(ballots: readonly StoredBallot[], tieSeed: string): StoredLog {
  const results = countResults(ballots, tieSeed);
  const { entries, opening } = leavesOf(ballots, tieSeed, results);
  return {
    entries,
    openings: ballots.map((ballot, index) => openingAt(index + 1, ballot)),
    results: { ...results, log: { close: opening } },
    checkpoint: signHead(entries),
    tieSeed,
    configuration,
  };
}

const reply = (status: number, body: Buffer | string = ''): Reply => ({ status, bytes: Buffer.from(body) });
const json = (body: unknown): Reply => reply(200, JSON.stringify(body));

/** Serves a stored log as the service does. Tiles are computed from the entries, as an attacker would. */
export function serve(log: StoredLog): Read {
  const base = `/public/voting-events/${EVENT}`;
  return async (path) => {
    if (path === '/.well-known/voting-log-key') return reply(200, `${SIGNER.verifierKey}\n`);
    if (path === `${base}/results`) return json({ data: log.results });
    if (path === `${base}/log/checkpoint`) return reply(200, log.checkpoint);
    const openings = /\/openings\?fromIndex=(\d+)&limit=(\d+)$/.exec(path);
    if (openings !== null) {
      const rows = log.openings.filter(({ index }) => index >= Number(openings[1]));
      const limit = Math.min(Number(openings[2]), 200);
      const nextIndex = rows[limit]?.index ?? null;
      const { tieSeed, configuration: config } = log;
      const { close } = log.results.log;
      return json({ data: rows.slice(0, limit), nextIndex, tieSeed, close, configuration: config });
    }
    const tile = parseTilePath(path.slice(`${base}/log/tile/`.length));
    if (tile === undefined) return reply(404);
    const from = tile.index * TILE_WIDTH;
    const entries = log.entries.slice(from, from + tile.width);
    if (entries.length !== tile.width) return reply(404);
    return reply(200, tile.level === 'entries' ? encodeBundle(entries) : Buffer.concat(entries.map(hashLeaf)));
  };
}
