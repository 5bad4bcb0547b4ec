import { expect, test } from 'vitest';
import { resultsView } from '#src/results/event-results.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { verifyLog } from '../../../verifier/verify-log.ts';
import { EVENT, type StoredLog, serve, signHead, someBallot, storeLog } from './stored-log.ts';

/**
 * What finds a changed figure of published results, by its name. `recount`: the verifier counts it again from the ballots, so that
 * not even a service that closes over the changed figure passes. `close`: the `close` leaf fixes it. Everything else is a reason.
 */
const FOUND_BY: Readonly<Record<string, string>> = {
  votingEventId: 'close',
  title: 'close',
  final: 'close',
  disputed: 'not disputed',
  asOf: 'the moment of the answer',
  'stats.totalVotes': 'recount',
  'stats.ballots': 'recount',
  'stats.entries': 'recount',
  'stats.abstentions': 'recount',
  'stats.electorate': 'close',
  'stats.turnout': 'close',
  'stats.identityChanges': 'close',
  'stats.rollChanges': 'close',
  'stats.disclosure': 'what readers are shown while the event is open',
  'positions[].id': 'recount',
  'positions[].title': 'recount',
  'positions[].votingMethod': 'recount',
  'positions[].seats': 'recount',
  'positions[].vacantSeats': 'recount',
  'positions[].totalVotes': 'recount',
  'positions[].ballots': 'recount',
  'positions[].abstentions': 'recount',
  'positions[].candidates[].id': 'recount',
  'positions[].candidates[].name': 'recount',
  'positions[].candidates[].votesWon': 'recount',
  'positions[].candidates[].weightWon': 'recount',
  'positions[].candidates[].winner': 'recount',
  'positions[].candidates[].tied': 'recount',
  'positions[].winners[]': 'recount',
  'positions[].runnerUp': 'recount',
  'positions[].runoff': 'recount',
  'positions[].margin': 'recount',
  'positions[].margin.votes': 'recount',
  'positions[].margin.exact': 'recount',
  'positions[].margin.bound': 'recount',
  'positions[].tie': 'recount',
  'positions[].tie.candidateIds[]': 'recount',
  'positions[].tie.policy': 'recount',
  'positions[].tie.seed': 'recount',
  'positions[].rounds': 'recount',
  'positions[].rounds[].round': 'recount',
  'positions[].rounds[].threshold': 'recount',
  'positions[].rounds[].tallies[].candidateId': 'recount',
  'positions[].rounds[].tallies[].votesWon': 'recount',
  'positions[].rounds[].tallies[].weightWon': 'recount',
  'positions[].rounds[].others': 'recount',
  'positions[].rounds[].exhausted': 'recount',
  'positions[].rounds[].roundingLoss': 'recount',
  'positions[].rounds[].elected[]': 'recount',
  'positions[].rounds[].eliminated[]': 'recount',
  'positions[].rounds[].transfers[].from': 'recount',
  'positions[].rounds[].transfers[].to': 'recount',
  'positions[].rounds[].transfers[].weight': 'recount',
  'positions[].rounds[].tie': 'recount',
  'positions[].rounds[].tie.candidateIds[]': 'recount',
  'positions[].rounds[].tie.policy': 'recount',
  'positions[].rounds[].tie.seed': 'recount',
  'positions[].rounds[].provisional': 'recount',
  'positions[].roundsOmitted': 'recount',
  'positions[].firstChoices': 'recount',
  'positions[].firstChoices[].candidateId': 'recount',
  'positions[].firstChoices[].votesWon': 'recount',
  'positions[].firstChoices[].weightWon': 'recount',
  'positions[].pairwise': 'recount',
  'positions[].pairwise.candidateIds[]': 'recount',
  'positions[].pairwise.table[][]': 'recount',
  'positions[].pairwise.condorcetWinner': 'recount',
  'positions[].finalTwo': 'recount',
  'positions[].referendum': 'recount',
  'positions[].referendum.yes': 'recount',
  'positions[].referendum.no': 'recount',
  'positions[].referendum.abstain': 'recount',
  'positions[].referendum.electorate': 'recount',
  'positions[].referendum.rules[].name': 'recount',
  'positions[].referendum.rules[].required': 'recount',
  'positions[].referendum.rules[].actual': 'recount',
  'positions[].referendum.rules[].met': 'recount',
  'positions[].referendum.outcome': 'recount',
  afterReversals: 'recount',
  byGroup: 'recount',
  'log.size': 'close',
  'log.rootHash': 'close',
  'log.close.salt': 'close',
  'log.close.title': 'close',
  'log.close.config': 'close',
  'log.close.ballots': 'close',
  'log.close.weight': 'close',
  'log.close.abstentions': 'close',
  'log.close.participants': 'close',
  'log.close.electorate.heads': 'close',
  'log.close.electorate.weight': 'close',
  'log.close.identityChanges': 'close',
  'log.close.rollChanges': 'close',
  'log.close.result': 'close',
  'lot.seedHash': 'close',
  'lot.seed': 'recount',
  'lot.root': 'close',
};

type Path = readonly (string | number)[];

/** All values of results that hold no others. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null || path.at(-1) === 'byGroup') return [path];
  return Object.entries(value).flatMap(([name, member]) =>
    pathsOf(member, [...path, Array.isArray(value) ? Number(name) : name]),
  );
}

const nameOf = (path: Path): string =>
  path.reduce<string>(
    (name, part) => (typeof part === 'number' ? `${name}[]` : name === '' ? part : `${name}.${part}`),
    '',
  );

/** Another value of the same kind. */
function another(value: unknown): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  if (value === null) return 'something';
  return /^\d/.test(String(value)) ? `1${String(value)}` : `x${String(value)}`;
}

/** @param change what becomes of the value; undefined takes it out */
function changeAt<T>(value: T, path: Path, change: (before: unknown) => unknown = another): T {
  const copy = structuredClone(value);
  let at: unknown = copy;
  for (const name of path.slice(0, -1)) at = Reflect.get(Object(at), name);
  const last = path.at(-1) ?? '';
  Reflect.set(Object(at), last, change(Reflect.get(Object(at), last)));
  return JSON.parse(JSON.stringify(copy));
}

const below = createRandom(8);
const ballots = Array.from({ length: 9 }, () => someBallot(below));
const SEED = '00'.repeat(32);
const honest = storeLog(ballots, SEED);

async function failedOf(log: StoredLog): Promise<string[]> {
  const { checks } = await verifyLog({ read: serve(log), event: EVENT });
  return checks.flatMap(({ name, status }) => (status === 'failed' ? name : []));
}

test('the results that are changed here are those that the service publishes, and right as they are', async () => {
  expect(resultsView.parse(honest.results)).toEqual(honest.results);
  expect(await failedOf(honest)).toEqual([]);
});

test('each figure that is changed after the close is found by the check that is named, or is named as open', async () => {
  const met = new Set<string>();
  for (const path of pathsOf(honest.results)) {
    const name = nameOf(path);
    met.add(name);
    const failed = await failedOf({ ...honest, results: changeAt(honest.results, path) });
    const by = FOUND_BY[name] ?? 'no line of the table';
    const isOpen = by.includes(' ') && by !== 'not disputed';
    expect([path, failed]).toEqual([path, isOpen ? [] : expect.arrayContaining([by])]);
  }
  expect([...met].filter((name) => FOUND_BY[name] === undefined)).toEqual([]);
});

test('each figure that the service changes before it closes is found where the table says that it is counted again', async () => {
  for (const path of pathsOf(honest.results)) {
    const by = FOUND_BY[nameOf(path)];
    if (by !== 'recount') continue;
    for (const change of [another, (value: unknown) => (typeof value === 'number' ? value + 0.9 : another(value))]) {
      const log = storeLog(ballots, SEED, { change: (results) => changeAt(results, path, change) });
      expect([path, await failedOf(log)]).toEqual([path, expect.arrayContaining(['recount'])]);
    }
  }
});

test('each field that somebody on the way leaves out, or adds, is found', async () => {
  const failing = async (results: typeof honest.results) => (await failedOf({ ...honest, results })).length > 0;
  for (const path of pathsOf(honest.results))
    expect([path, await failing(changeAt(honest.results, path, () => undefined))]).toEqual([path, true]);
  for (const part of ['stats', 'log', 'lot'] as const)
    expect(await failing({ ...honest.results, [part]: { ...honest.results[part], more: 1 } })).toBe(true);
  expect(await failing({ ...honest.results, more: 1 } as typeof honest.results)).toBe(true);
});

test('a group has no more voters than the roll, and no more who voted than ballots', async () => {
  const group = (voters: number, voted: number, groupId = 'grp_1') => ({ groupId, voters, voted });
  const check = (...byGroup: object[]) => failedOf({ ...honest, results: { ...honest.results, byGroup } as never });
  expect(await check(group(5, 0), group(5, 5, 'grp_2'))).toEqual([]);
  for (const wrong of [[group(99, 1)], [group(5, 6)], [group(5, -1)], [group(5, 1), group(5, 1)], [group(10, 10)]])
    expect([wrong, await check(...wrong)]).toEqual([wrong, ['recount']]);
});

test('what opens the close is the same in the openings and in the results', async () => {
  const read = serve(honest);
  const other = Buffer.from(JSON.stringify({ salt: 'AAAA' }));
  const close = Buffer.from(JSON.stringify(honest.results.log.close));
  const { checks } = await verifyLog({
    event: EVENT,
    read: async (path, most) => {
      const { status, bytes } = await read(path, most);
      return {
        status,
        bytes: path.includes('/openings') ? Buffer.from(String(bytes).replace(String(close), String(other))) : bytes,
      };
    },
  });
  expect(checks.at(-1)).toMatchObject({ name: 'recount', status: 'failed' });
});

test('a result that the service itself calls disputed, or final without a close, is wrong', async () => {
  const disputed = { ...honest, results: { ...honest.results, disputed: true } };
  expect(await failedOf(disputed)).toEqual(['not disputed']);
  const entries = honest.entries.slice(0, -1);
  const cut = { ...honest, entries, checkpoint: signHead(entries) };
  expect(await failedOf(cut)).toEqual(['not disputed']);
  // Closed while it was read: the next head says so.
  let heads = 0;
  const read: typeof cutRead = async (path, most) =>
    path.endsWith('/checkpoint') && heads++ > 0 ? serve(honest)(path, most) : cutRead(path, most);
  const cutRead = serve(cut);
  expect(await verifyLog({ read, event: EVENT })).toMatchObject({ verified: 'partial' });
  // A poll's log may grow behind its close, but not beyond what is signed.
  const poll = storeLog(
    ballots.map((one) => ({ ...one, weightMicro: 1_000_000n })),
    SEED,
    { type: 'poll' },
  );
  expect(await failedOf(poll)).toEqual([]);
  const { positions } = poll.results;
  for (const size of [poll.results.log.size - 1, poll.results.log.size + 1, 99_999]) {
    const results = { ...poll.results, log: { ...poll.results.log, size }, afterReversals: { ballots: 1, positions } };
    expect([size, await failedOf({ ...poll, results: results as never })]).not.toEqual([size, []]);
  }
  for (const rootHash of ['AAAA', ''])
    expect(await failedOf({ ...poll, results: { ...poll.results, log: { ...poll.results.log, rootHash } } })).toEqual([
      'close',
    ]);
  const log = { ...honest.results.log, size: entries.length };
  const early = { ...honest, entries, checkpoint: signHead(entries), results: { ...honest.results, log } };
  expect(await failedOf(early)).toEqual(['not disputed']);
});
