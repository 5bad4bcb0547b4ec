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
  voidLeaf,
} from '#src/ballot-log/leaf.ts';
import { hashLeaf } from '#src/ballot-log/merkle-tree.ts';
import { createNoteSigner, type NoteSigner } from '#src/ballot-log/signed-note.ts';
import { encodeBundle, parseTilePath, TILE_WIDTH } from '#src/ballot-log/tiles.ts';
import { MICRO, microToDecimal, microToNumber, shareOf } from '#src/platform/decimal.ts';
import { startCount } from '#src/tally/start-count.ts';
import { naiveRoot } from '#test/unit/ballot-log/naive-tree.ts';
import type { Read, Reply } from '../../../verifier/read-service.ts';
import { verifyLog } from '../../../verifier/verify-log.ts';

export const EVENT = 'evt_stored';
export const SIGNER = createNoteSigner('vote.example.org', createHash('sha256').update('a signing key').digest());

const CANDIDATES = ['cnd_a', 'cnd_b', 'cnd_c'];
const OPTIONS = ['cnd_yes', 'cnd_no', 'cnd_abstain'];
const NOTHING = { rules: null, scoreMin: null, scoreMax: null, majorityRequired: null };
const MAJORITY = { numerator: 1, denominator: 2, inclusive: false };
const RULES = {
  threshold: { ...MAJORITY, base: 'yes_no' },
  turnoutQuorum: { ...MAJORITY, inclusive: true },
  approvalQuorum: { numerator: 1, denominator: 10, inclusive: true },
} as const;
const POSITIONS = [
  { id: 'pos_1', title: 'Chair', votingMethod: 'plurality', seats: 1, tieBreak: 'lot', ...NOTHING },
  { id: 'pos_2', title: 'Board', votingMethod: 'ranked_choice', seats: 2, tieBreak: 'joint', ...NOTHING },
  { id: 'pos_3', title: 'Rules', votingMethod: 'referendum', seats: 1, tieBreak: 'joint', ...NOTHING, rules: RULES },
  {
    id: 'pos_4',
    title: 'Colour',
    votingMethod: 'score',
    seats: 1,
    tieBreak: 'joint',
    ...NOTHING,
    scoreMin: 0,
    scoreMax: 5,
  },
] as const;

/** The candidates of a position, in their order. */
const candidatesOf = ({ id }: { readonly id: string }) =>
  (id === 'pos_3' ? OPTIONS : CANDIDATES).map((candidate, index) => ({
    ...{ id: candidate, name: `Name of ${candidate}`, sortOrder: index },
    referendumRole: id === 'pos_3' ? ((['yes', 'no', 'abstain'] as const)[index] ?? null) : null,
  }));

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
  results: Counted & { log: { size: number; rootHash: string; close: unknown } };
  checkpoint: string;
  tieSeed: string;
  /** By the leaf that each stands from. */
  configurations: { index: number; configuration: Fields }[];
}

export type Fields = Readonly<Record<string, unknown>>;

/** A poll's ballots weigh 1 and can be taken back; an election has a roll. */
export type Type = 'election' | 'poll';

export const configurationOf = (type: Type) => ({
  v: 2,
  type,
  title: 'The board',
  description: null,
  voter: { requireVoterId: false, selfRegistration: false, approval: 'automatic', saveVoterInfo: false },
  groups: [{ id: 'grp_1', name: 'North', description: null }],
  positions: POSITIONS.map((position, sortOrder) => ({
    ...{ ...position, description: null, groupId: null, sortOrder, minSelections: 1 },
    maxSelections: position.votingMethod === 'ranked_choice' || position.votingMethod === 'score' ? 3 : 1,
  })),
  candidates: POSITIONS.slice(1, 3)
    .flatMap(candidatesOf)
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    .map((candidate) => ({
      ...{ ...candidate, description: null, groupId: null, avatarUrl: null },
      positionIds: candidate.referendumRole === null ? ['pos_1', 'pos_2', 'pos_4'] : ['pos_3'],
      status: 'approved',
    })),
});

/** What the lots of these logs are drawn from. */
const tieSeed = '00'.repeat(32);

export const someBallots = (below: (limit: number) => number, count: number, type: Type = 'election'): StoredBallot[] =>
  Array.from({ length: count }, () => someBallot(below, type));

export function someBallot(below: (limit: number) => number, type: Type = 'election'): StoredBallot {
  const first = below(3);
  const second = (first + 1 + below(2)) % 3;
  const score = below(3);
  return {
    votes: [
      { positionId: 'pos_1', candidateId: CANDIDATES[below(3)] ?? '' },
      { positionId: 'pos_2', candidateId: CANDIDATES[first] ?? '', rank: 1 },
      { positionId: 'pos_2', candidateId: CANDIDATES[second] ?? '', rank: 2 },
      { positionId: 'pos_3', candidateId: OPTIONS[below(3)] ?? '' },
      { positionId: 'pos_4', candidateId: CANDIDATES[score] ?? '', value: 1 + below(5) },
    ],
    weightMicro: type === 'poll' ? MICRO : MICRO * BigInt(1 + below(3)),
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

const weightOf = (ballots: readonly StoredBallot[]): bigint =>
  ballots.reduce((sum, { weightMicro }) => sum + weightMicro, 0n);

/** One voter of weight 1 did not vote. */
function electorateOf(ballots: readonly StoredBallot[], type: Type) {
  const micro = weightOf(ballots) + MICRO;
  return type === 'poll' ? null : { heads: ballots.length + 1, weight: microToDecimal(micro), micro };
}

const hashOfSeed = (seed: string): string => createHash('sha256').update(Buffer.from(seed, 'hex')).digest('hex');

/** An event ends, 15 minutes later its log closes, and that is due a day later: long after any run of these tests. */
const END = Date.UTC(2100, 0, 1);
export const CLOSED_AT = END + 900_000;
export const ENDS = { end: END, closeDue: CLOSED_AT + 86_400_000 };

function openLeaf(ballots: readonly StoredBallot[], tieSeed: string, type: Type): Buffer {
  const { heads, weight } = electorateOf(ballots, type) ?? {};
  const roll = heads === undefined || weight === undefined ? null : { heads, weight };
  const config = hashOfJson(configurationOf(type));
  return encodeLeaf({ v: 2, t: 'open', e: EVENT, at: 1, config, ...ENDS, seed: hashOfSeed(tieSeed), roll, letters: 0 });
}

/** Of a log: its ballots, those among them that count, and the root before its close. */
interface Counting {
  readonly ballots: readonly StoredBallot[];
  readonly counted: readonly StoredBallot[];
  readonly seed: string;
  readonly root: string;
  readonly type: Type;
  /** Hash of the last one. */
  readonly config: string;
}

/** The results as the service publishes them, but for what they say of the log. */
function countResults({ ballots, counted, seed, root, type }: Counting) {
  const electorate = electorateOf(ballots, type);
  const reports = POSITIONS.map((position) => {
    const candidates = candidatesOf(position);
    const count = startCount({ ...position, candidates: candidates.map((one) => ({ ...one, withdrawn: false })) });
    for (const { votes, weightMicro } of counted) {
      const own = votes.filter(({ positionId }) => positionId === position.id);
      const places = own.map(({ candidateId }) => candidates.findIndex(({ id }) => id === candidateId));
      const values = own.map(({ rank, value }) => rank ?? value ?? 1);
      count.add({ length: own.length, candidates: places, values }, weightMicro);
    }
    const electorateMicro = electorate?.micro ?? null;
    return count.report({ lot: { seed, root }, electorateMicro, wholeWeights: true, unitWeights: type === 'poll' });
  });
  const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
  return {
    ...{ votingEventId: EVENT, title: 'The board', final: true, disputed: false, asOf: 5 },
    stats: {
      totalVotes: sum(reports.map(({ votingMethod, totalVotes }) => (votingMethod === 'score' ? 0 : totalVotes))),
      ...{ ballots: counted.length, entries: sum(counted.map(({ votes }) => votes.length)), abstentions: 0 },
      electorate: electorate === null ? null : microToNumber(electorate.micro),
      turnout: electorate === null ? null : shareOf(weightOf(counted), electorate.micro),
      ...{ identityChanges: 0, rollChanges: 0, lettersPrinted: 0, disclosure: null },
    },
    positions: JSON.parse(JSON.stringify(reports)),
    ...{ afterReversals: null, byGroup: [] as CloseContent['byGroup'] },
    lot: { seedHash: hashOfSeed(seed), seed, root },
  };
}
type Counted = ReturnType<typeof countResults>;

/** The last leaf, and what opens it. */
function closeOf({ ballots, counted, type, config }: Counting, { title, stats, positions, byGroup }: Counted) {
  const { heads, weight } = electorateOf(ballots, type) ?? {};
  const salt = randomBytes(32);
  const content: CloseContent = {
    ...{ title, config, ballots: counted.length, abstentions: 0 },
    weight: microToDecimal(weightOf(counted)),
    participants: type === 'poll' ? null : ballots.length,
    electorate: heads === undefined || weight === undefined ? null : { heads, weight },
    ...{
      identityChanges: stats.identityChanges,
      rollChanges: stats.rollChanges,
      byGroup,
      result: hashOfJson(positions),
    },
  };
  const c = closeCommitment(salt, content).toString('hex');
  const leaf = encodeLeaf({ v: 2, t: 'close', e: EVENT, at: CLOSED_AT, c });
  return { leaf, opening: { salt: salt.toString('base64'), ...content } };
}

/** The head of a log. @param confirmed ballots: those that are in it unless given */
export function signHead(
  entries: readonly Buffer[],
  signer: NoteSigner = SIGNER,
  confirmed = ballotsIn(entries),
): string {
  const head = { origin: logOrigin(signer.name, EVENT), size: entries.length, rootHash: naiveRoot(entries) };
  return signCheckpoint({ ...head, confirmed }, signer);
}

const ballotsIn = (entries: readonly Buffer[]): number =>
  entries.filter((entry) => entry.includes('"t":"ballot"')).length;

interface Making {
  readonly type?: Type;
  /** Leaves of the ballots that become void before the close. */
  readonly voided?: readonly number[];
  /** What the service makes of its results before it closes over them. */
  readonly change?: (results: Counted) => Counted;
  /** Changes while the event was open: those with 0 ballots confirmed stand before the ballots, the others behind them. */
  readonly changes?: readonly Change[];
}

export interface Change {
  readonly confirmed: number;
  readonly configuration: Fields;
}

const configLeaf = ({ confirmed, configuration }: Change, at: number): Buffer =>
  encodeLeaf({
    ...{ v: 2, t: 'config', e: EVENT, at: 2, config: hashOfJson(configuration), ...ENDS },
    ...{ confirmed, seq: at + 1 },
  });

/** A whole log, consistent in itself: what an honest service stores, or an attacker who recomputes everything. */
export function storeLog(
  ballots: readonly StoredBallot[],
  { type = 'election', voided = [], change = (results) => results, changes = [] }: Making = {},
): StoredLog {
  const early = changes.filter(({ confirmed }) => confirmed === 0).length;
  const first = 1 + early;
  const voids = ballots.flatMap(({ codeTag }, at) =>
    voided.includes(at + first) ? encodeLeaf(voidLeaf(EVENT, codeTag, at + first)) : [],
  );
  const leaves = changes.map(configLeaf);
  const before = [
    ...[openLeaf(ballots, tieSeed, type), ...leaves.slice(0, early)],
    ...[...ballots.map(leafOf), ...voids, ...leaves.slice(early)],
  ];
  const counted = ballots.filter((_, at) => !voided.includes(at + first));
  const config = hashOfJson(changes.at(-1)?.configuration ?? configurationOf(type));
  const counting = { ballots, counted, seed: tieSeed, root: naiveRoot(before).toString('hex'), type, config };
  const results = change(countResults(counting));
  const { leaf, opening } = closeOf(counting, results);
  const entries = [...before, leaf];
  const rootHash = naiveRoot(entries).toString('base64');
  return {
    entries,
    openings: ballots.map((ballot, index) => openingAt(index + first, ballot)),
    results: { ...results, log: { size: entries.length, rootHash, close: opening } },
    checkpoint: signHead(entries),
    tieSeed,
    configurations: [
      { index: 0, configuration: configurationOf(type) },
      ...changes.map(({ configuration }, at) => ({
        ...{ index: at < early ? 1 + at : before.length - changes.length + at, configuration },
      })),
    ],
  };
}

/** The parts of configurations as the service lists them: each from the leaf on in which it is another. */
export function partsOf({ configurations }: StoredLog) {
  const known = new Map<string, { kind: string; text: string }>();
  return configurations.flatMap(({ index, configuration }) => {
    const { positions, candidates, groups, ...event } = configuration;
    const parts = [
      { kind: 'event', id: EVENT, value: event },
      ...Object.entries({ position: positions, candidate: candidates, group: groups }).flatMap(([kind, list]) =>
        (list as { id: string }[]).map((value) => ({ kind, id: value.id, value })),
      ),
    ];
    const ids = new Set(parts.map(({ id }) => id));
    const gone = [...known].filter(([id]) => !ids.has(id)).map(([id, { kind }]) => ({ kind, id, value: null }));
    const changed = [...parts.filter(({ id, value }) => known.get(id)?.text !== JSON.stringify(value)), ...gone];
    for (const { kind, id, value } of changed)
      value === null ? known.delete(id) : known.set(id, { kind, text: JSON.stringify(value) });
    return changed.map((part) => ({ index, ...part }));
  });
}

export const reply = (status: number, body: Buffer | string = ''): Reply => ({ status, bytes: Buffer.from(body) });
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
      const { tieSeed, configurations } = log;
      const { close } = log.results.log;
      const { configuration } = configurations.at(-1) ?? {};
      return json({ data: rows.slice(0, limit), nextIndex, tieSeed, close, configuration });
    }
    const asked = /\/configurations\?from=(\d+)$/.exec(path);
    if (asked !== null) {
      const [from, parts] = [Number(asked[1]), partsOf(log)];
      return json({ data: parts.slice(from, from + 7), nextFrom: from + 7 < parts.length ? from + 7 : null });
    }
    const tile = parseTilePath(path.slice(`${base}/log/tile/`.length));
    if (tile === undefined) return reply(404);
    const from = tile.index * TILE_WIDTH;
    const entries = log.entries.slice(from, from + tile.width);
    if (entries.length !== tile.width) return reply(404);
    return reply(200, tile.level === 'entries' ? encodeBundle(entries) : Buffer.concat(entries.map(hashLeaf)));
  };
}

/** An honest service but for one kind of address. */
export function lying(
  log: StoredLog,
  address: RegExp,
  lie: (honest: Reply, path: string) => Reply | Promise<Reply>,
): Read {
  const honest = serve(log);
  return async (path, maxBytes) => {
    const answer = await honest(path, maxBytes);
    return address.test(path) ? lie(answer, path) : answer;
  };
}

/** The log before it closed: without its last leaf unless others are given. @param confirmed ballots: those that are in it unless given */
export function unclosed(log: StoredLog, entries = log.entries.slice(0, -1), confirmed?: number): StoredLog {
  const results = { ...log.results, final: false, log: { ...log.results.log, size: entries.length, close: null } };
  return { ...log, entries, results, checkpoint: signHead(entries, SIGNER, confirmed) };
}

/** The checks of a log that find something wrong. */
export async function failedOf(log: StoredLog): Promise<string[]> {
  const { checks } = await verifyLog({ read: serve(log), event: EVENT });
  return checks.flatMap(({ name, status }) => (status === 'failed' ? name : []));
}
