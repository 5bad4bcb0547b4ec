import { expect, test } from 'vitest';
import { resultsView } from '#src/results/event-results.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { verifyLog } from '../../../verifier/verify-log.ts';
import { EVENT, failedOf, lying, reply, serve, signHead, someBallots, storeLog } from './stored-log.ts';

/** Fields of one object that the same check finds; those of the results themselves where `parent` is empty. */
const fields = (check: 'recount' | 'close', parent: string, names: string): [string, string][] =>
  names.split(' ').map((name) => [parent === '' ? name : `${parent}.${name}`, check]);

/**
 * What finds a changed figure of published results, by its name. `recount`: the verifier counts it again from the ballots, so that
 * not even a service that closes over the changed figure passes. `close`: the `close` leaf fixes it. Everything else is a reason.
 */
const FOUND_BY = new Map<string, string>([
  ['disputed', 'not disputed'],
  ['asOf', 'the moment of the answer'],
  ['stats.disclosure', 'what readers are shown while the event is open'],
  ...fields('close', '', 'votingEventId title final'),
  ...fields('close', 'stats', 'electorate turnout identityChanges lettersPrinted rollChanges'),
  ...fields('close', 'log', 'size rootHash'),
  ...fields(
    'close',
    'log.close',
    'salt title config ballots weight abstentions participants identityChanges rollChanges byGroup result',
  ),
  ...fields('close', 'log.close.electorate', 'heads weight'),
  ...fields('close', 'lot', 'seedHash root'),
  ...fields('recount', 'stats', 'totalVotes ballots entries abstentions'),
  ...fields('recount', 'positions[]', 'id title votingMethod seats vacantSeats totalVotes ballots abstentions'),
  ...fields('recount', 'positions[]', 'winners[] runnerUp runoff margin tie rounds roundsOmitted firstChoices'),
  ...fields('recount', 'positions[]', 'pairwise finalTwo referendum'),
  ...fields('recount', 'positions[].candidates[]', 'id name votesWon weightWon winner tied'),
  ...fields('recount', 'positions[].margin', 'votes exact bound'),
  ...fields('recount', 'positions[].tie', 'candidateIds[] policy seed'),
  ...fields(
    'recount',
    'positions[].rounds[]',
    'round threshold others exhausted roundingLoss elected[] eliminated[] tie provisional',
  ),
  ...fields('recount', 'positions[].rounds[].tallies[]', 'candidateId votesWon weightWon'),
  ...fields('recount', 'positions[].rounds[].transfers[]', 'from to weight'),
  ...fields('recount', 'positions[].rounds[].tie', 'candidateIds[] policy seed'),
  ...fields('recount', 'positions[].firstChoices[]', 'candidateId votesWon weightWon'),
  ...fields('recount', 'positions[].pairwise', 'candidateIds[] table[][] condorcetWinner'),
  ...fields('recount', 'positions[].referendum', 'yes no abstain electorate outcome'),
  ...fields('recount', 'positions[].referendum.rules[]', 'name required actual met'),
  ...fields('recount', '', 'afterReversals byGroup'),
  ...fields('recount', 'lot', 'seed'),
]);

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
const ballots = someBallots(below, 9);
const honest = storeLog(ballots);

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
    const by = FOUND_BY.get(name) ?? 'no line of the table';
    const isOpen = by.includes(' ') && by !== 'not disputed';
    expect([path, failed]).toEqual([path, isOpen ? [] : expect.arrayContaining([by])]);
  }
  expect([...met].filter((name) => !FOUND_BY.has(name))).toEqual([]);
});

test('each figure that the service changes before it closes is found where the table says that it is counted again', async () => {
  for (const path of pathsOf(honest.results)) {
    const by = FOUND_BY.get(nameOf(path));
    if (by !== 'recount') continue;
    for (const change of [another, (value: unknown) => (typeof value === 'number' ? value + 0.9 : another(value))]) {
      const log = storeLog(ballots, { change: (results) => changeAt(results, path, change) });
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
  const check = (...byGroup: ReturnType<typeof group>[]) =>
    failedOf(storeLog(ballots, { change: (results) => ({ ...results, byGroup }) }));
  expect(await check(group(5, 0), group(5, 5, 'grp_2'))).toEqual([]);
  for (const wrong of [[group(99, 1)], [group(5, 6)], [group(5, -1)], [group(5, 1), group(5, 1)], [group(10, 10)]])
    expect([wrong, await check(...wrong)]).toEqual([wrong, ['recount']]);
});

test('what opens the close is the same in the openings and in the results', async () => {
  const close = JSON.stringify(honest.results.log.close);
  const other = JSON.stringify({ salt: 'AAAA' });
  const read = lying(honest, /openings/, ({ status, bytes }) => reply(status, String(bytes).replace(close, other)));
  const { checks } = await verifyLog({ read, event: EVENT });
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
