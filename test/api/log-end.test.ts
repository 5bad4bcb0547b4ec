import { expect, test } from 'vitest';
import { checkLog } from '#src/ballot-log/check-log.ts';
import { LogSetBack } from '#src/ballot-log/require-undisputed.ts';
import { sequenceLog } from '#src/ballot-log/seal-ballots.ts';
import { sealDeps } from '#src/work.ts';
import { demand } from '#test/harness/answers.ts';
import { createObserverKey, LogReader, verifyOverHttp } from '#test/harness/ballot-log.ts';
import { finishEvent, sealBallots, type TestEvent, tendLog, votePolls, votesFor } from '#test/harness/elections.ts';
import { holdLog } from '#test/harness/hold-log.ts';
import { createKeyedElection, type KeyedElection, voteWith } from '#test/harness/keyed-elections.ts';
import { CLOSED, moveEnd } from '#test/harness/move-end.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

// No end of an event counts before its log says it.

const DAY_MS = 86_400_000;
const DUE_MS = DAY_MS + 900_000;

const { service, account } = await useAccount({ worker: false });

async function openPoll(settings: Readonly<Record<string, unknown>> = {}): Promise<TestEvent> {
  const event = await account.event(settings);
  await votePolls(service, account, event, 2);
  return event;
}

const change = (event: TestEvent, body: object) => account.of(event).change('', body);
const leavesOf = (event: TestEvent) => new LogReader(service, event.id, account.vote).leaves();
const setBySql = (event: TestEvent, end: string) =>
  service.query(`UPDATE voting_events SET ${end}, paper_version = paper_version + 1 WHERE id = $1`, [event.id]);

test('each change of the end stands in the log with the answer to it: a later one, a close, and its undoing', async () => {
  const endsAt = Date.now() + DAY_MS;
  const event = await openPoll({ endsAt });
  expect((await leavesOf(event))[0]).toMatchObject({ t: 'open', v: 2, end: endsAt, closeDue: endsAt + DUE_MS });
  const later = endsAt + DAY_MS;
  await change(event, { endsAt: later });
  expect((await leavesOf(event)).at(-1)).toMatchObject({
    ...{ t: 'config', v: 2, end: later, closeDue: later + DUE_MS, confirmed: 2, seq: 1 },
  });
  await change(event, { endsAt: null });
  expect((await leavesOf(event)).at(-1)).toMatchObject({ t: 'config', end: null, closeDue: null, seq: 2 });
  await change(event, { status: 'closed' });
  const closed = (await leavesOf(event)).at(-1);
  expect(closed).toMatchObject({ t: 'config', closeDue: Number(closed?.['end']) + DUE_MS, seq: 3 });
  expect(Math.abs(Number(closed?.['end']) - Date.now())).toBeLessThan(60_000);
  await change(event, { status: 'open' });
  expect((await leavesOf(event)).at(-1)).toMatchObject({ t: 'config', end: null, closeDue: null, seq: 4 });
  // What is no change of the end, or sent back as it is, writes none.
  const { length } = await leavesOf(event);
  await change(event, { endsAt: null, description: 'As it was' });
  expect((await leavesOf(event)).length).toBe(length);
  const { checks } = await verifyOverHttp(service, event.id, await createObserverKey(service, account, event.id));
  expect(checks.filter(({ status }) => status === 'failed')).toEqual([]);
  expect(await checkLog(service.deps, event.id)).toBeUndefined();
});

test('a change of the end that finds the log held is refused as busy, and leaves nothing behind', async () => {
  const event = await openPoll();
  const before = (await leavesOf(event)).length;
  const release = await holdLog(service.deps, event.id);
  try {
    const { status, body, headers } = await account.of(event).patch('', { status: 'closed' });
    expect([status, body.error.details.reason, Number(headers.get('retry-after')) > 0]).toEqual([409, 'busy', true]);
    await change(event, { title: 'What takes no lock of the log' });
  } finally {
    await release();
  }
  expect((await leavesOf(event)).length).toBe(before);
  expect(await account.show(`/voting-events/${event.id}`)).toMatchObject({ status: 'open' });
  await change(event, { status: 'closed' });
});

test.each([
  ['closed long ago', 'closed_at = now_ms() - 3600000'],
  ['ended an hour early', `ends_at = ends_at - 3600000`],
])(
  'an event that was %s by the database alone is disputed, gets no close, and the end that its log says',
  async (_how, end) => {
    const event = await openPoll({ endsAt: Date.now() + DAY_MS, results: { visibility: 'live' } });
    const before = await leavesOf(event);
    await setBySql(event, end);
    await expect(tendLog(sealDeps(service.deps), event.id, 1)).rejects.toThrow(LogSetBack);
    expect(await account.of(event).show('')).toMatchObject({ status: 'open', endsAt: before[0]?.['end'] });
    expect(await checkLog(service.deps, event.id)).toBeUndefined();
    expect(await leavesOf(event)).toEqual(before);
    expect(await account.of(event).show('/results')).toMatchObject({ final: false, disputed: true });
    expect((await verifyOverHttp(service, event.id, account.vote)).verified).toBe('no');
  },
);

test('an election whose log another process holds is closed by the next turn that records its roll', async () => {
  const election = await createKeyedElection(service, account, [1, 1]);
  await voteWith(service, election, [0]);
  await sealBallots(service, election.id);
  const path = `/voting-events/${election.id}`;
  demand(await account.patch(`${path}/voters/${election.voters[1]?.id}`, { weight: 3 }), 200);
  // No turn has recorded the weight yet.
  await moveEnd(service.deps, election.id, CLOSED);
  const release = await holdLog(service.deps, election.id);
  const seal = sealDeps(service.deps);
  try {
    // A turn that counted now would close beside the holder, who lets go meanwhile.
    const meeting: typeof seal = {
      ...seal,
      countFinally: (...given) => release().then(() => seal.countFinally(...given)),
    };
    await sequenceLog(meeting, election.id, 1);
    expect(await kinds(election)).toEqual(['open', 'ballot', 'config']);
  } finally {
    await release();
  }
  await Promise.all([1, 2, 3].map(() => sequenceLog(seal, election.id, 1)));
  expect(await account.show(path)).toMatchObject({ disputed: false });
  await requireRight(election, 1, true);
  expect(await kinds(election)).toEqual(['open', 'ballot', 'config', 2, 'close']);
});

/**
 * An open event may become another type until its first ballot (completions 2.4). What it is then decides: its ballots count, its
 * log has the roll of an election and none of a poll, and everything verifies.
 */

/** Changes the type of an event whose log has begun. */
async function become(event: { readonly id: string }, type: string): Promise<void> {
  await sealBallots(service, event.id);
  await account.change(`/voting-events/${event.id}`, { type });
  await sealBallots(service, event.id);
}

async function requireRight(event: KeyedElection, ballots: number, isFinished = false): Promise<void> {
  if (!isFinished) await finishEvent(service, event.id);
  await change(event, { results: { visibility: 'published' } });
  const results = await account.of(event).show('/results');
  expect(results).toMatchObject({ final: true, disputed: false, stats: { ballots } });
  expect(await checkLog(service.deps, event.id)).toBeUndefined();
  const key = await createObserverKey(service, account, event.id);
  expect((await verifyOverHttp(service, event.id, key)).open).toEqual([]);
}

const kinds = async (event: TestEvent) => (await leavesOf(event)).map(({ t, heads }) => (t === 'roll' ? heads : t));

test('a poll that becomes an election takes ballots of its voters, and its log verifies', async () => {
  const poll = await createKeyedElection(service, account, [], true, { type: 'poll' });
  await become(poll, 'election');
  const voters = [];
  for (const email of ['a@voters.example', 'b@voters.example', 'c@voters.example']) {
    const path = `/voting-events/${poll.id}/voters`;
    const { id } = await account.make(path, { name: email, email });
    voters.push({ id, email, voterKey: await giveVoterKey(service, poll.id, id) });
  }
  await voteWith(service, { ...poll, voters }, [0, 1]);
  await requireRight({ ...poll, voters }, 2);
  expect(await kinds(poll)).toEqual(['open', 'config', 0, 'config', 3, 'ballot', 'ballot', 'close']);
});

test('an election that becomes a poll takes ballots of visitors, more than it had voters, and its log verifies', async () => {
  const election = await createKeyedElection(service, account, [1, 1]);
  await become(election, 'poll');
  const votes = votesFor(election);
  for (let visitors = 0; visitors < 3; visitors += 1) await account.votePoll(election, votes);
  await requireRight(election, 3);
  expect(await kinds(election)).toEqual(['open', 'config', null, 'config', 'ballot', 'ballot', 'ballot', 'close']);
});

test('an event that changes its type and back has the roll that it had', async () => {
  const election = await createKeyedElection(service, account, [1, 1]);
  await become(election, 'poll');
  await become(election, 'election');
  await voteWith(service, election, [0]);
  await requireRight(election, 1);
  expect(await kinds(election)).toEqual(['open', 'config', null, 'config', 2, 'config', 'ballot', 'close']);
});
