import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkLog } from '#src/ballot-log/check-log.ts';
import { LogSetBack } from '#src/ballot-log/require-undisputed.ts';
import { sequenceLog } from '#src/ballot-log/seal-ballots.ts';
import { sealDeps } from '#src/work.ts';
import { createObserverKey, LogReader } from '#test/harness/ballot-log.ts';
import { createTestEvent, demand, sealBallots, type TestEvent, votePoll } from '#test/harness/elections.ts';
import { createTestAccount, startTestService, type TestAccount, type TestService } from '#test/harness/test-service.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';

// No end of an event counts before its log says it.

const DAY_MS = 86_400_000;
const DUE_MS = DAY_MS + 900_000;
const PLAN = [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }];

let service: TestService;
let account: TestAccount;

beforeAll(async () => {
  service = await startTestService({ worker: false });
  account = await createTestAccount(service);
});
afterAll(() => service.stop());

async function openPoll(settings: Readonly<Record<string, unknown>> = {}): Promise<TestEvent> {
  const event = await createTestEvent(service, account, settings, PLAN);
  const [position] = event.positions;
  for (const candidateId of position?.candidates ?? [])
    await votePoll(service, account, event, [{ positionId: position?.id, candidateId }]);
  await sealBallots(service, event.id, 1);
  return event;
}

const change = (event: TestEvent, body: object) =>
  service.call('PATCH', `/voting-events/${event.id}`, body, { key: account.write });
const leavesOf = (event: TestEvent) => new LogReader(service, event.id, account.vote).leaves();
const setBySql = (event: TestEvent, end: string) =>
  service.deps.db.$client.query(`UPDATE voting_events SET ${end}, paper_version = paper_version + 1 WHERE id = $1`, [
    event.id,
  ]);

test('each change of the end stands in the log with the answer to it: a later one, a close, and its undoing', async () => {
  const endsAt = Date.now() + DAY_MS;
  const event = await openPoll({ endsAt });
  expect((await leavesOf(event))[0]).toMatchObject({ t: 'open', v: 2, end: endsAt, closeDue: endsAt + DUE_MS });
  const later = endsAt + DAY_MS;
  demand(await change(event, { endsAt: later }), 200);
  expect((await leavesOf(event)).at(-1)).toMatchObject({
    ...{ t: 'config', v: 2, end: later, closeDue: later + DUE_MS, confirmed: 2, seq: 1 },
  });
  demand(await change(event, { endsAt: null }), 200);
  expect((await leavesOf(event)).at(-1)).toMatchObject({ t: 'config', end: null, closeDue: null, seq: 2 });
  demand(await change(event, { status: 'closed' }), 200);
  const closed = (await leavesOf(event)).at(-1);
  expect(closed).toMatchObject({ t: 'config', closeDue: Number(closed?.['end']) + DUE_MS, seq: 3 });
  expect(Math.abs(Number(closed?.['end']) - Date.now())).toBeLessThan(60_000);
  demand(await change(event, { status: 'open' }), 200);
  expect((await leavesOf(event)).at(-1)).toMatchObject({ t: 'config', end: null, closeDue: null, seq: 4 });
  // What is no change of the end, or sent back as it is, writes none.
  const { length } = await leavesOf(event);
  demand(await change(event, { endsAt: null, description: 'As it was' }), 200);
  expect((await leavesOf(event)).length).toBe(length);
  const read = readOverHttp(`http://127.0.0.1:${service.port}`, await createObserverKey(service, account, event.id));
  const { checks } = await verifyLog({ read, event: event.id });
  expect(checks.filter(({ status }) => status === 'failed')).toEqual([]);
  expect(await checkLog(service.deps, event.id)).toBeUndefined();
});

test('a change of the end that finds the log held is refused as busy, and leaves nothing behind', async () => {
  const event = await openPoll();
  const before = (await leavesOf(event)).length;
  const client = await service.deps.db.$client.connect();
  try {
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`seal ${event.id}`]);
    const { status, body, headers } = await change(event, { status: 'closed' });
    expect([status, body.error.details.reason, Number(headers.get('retry-after')) > 0]).toEqual([409, 'busy', true]);
    demand(await change(event, { title: 'What takes no lock of the log' }), 200);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
  expect((await leavesOf(event)).length).toBe(before);
  expect(
    demand(await service.call('GET', `/voting-events/${event.id}`, undefined, { key: account.read }), 200),
  ).toMatchObject({ status: 'open' });
  demand(await change(event, { status: 'closed' }), 200);
});

test.each([
  ['closed long ago', 'closed_at = now_ms() - 3600000'],
  ['ended an hour early', `ends_at = ends_at - 3600000`],
])('an event that was %s by the database alone is disputed, and gets no close', async (_how, end) => {
  const event = await openPoll({ endsAt: Date.now() + DAY_MS, results: { visibility: 'live' } });
  const before = await leavesOf(event);
  await setBySql(event, end);
  await expect(sequenceLog(sealDeps(service.deps), event.id, 1)).rejects.toThrow(LogSetBack);
  expect(await checkLog(service.deps, event.id)).toBe('the event ends at another time than its log says');
  expect(await leavesOf(event)).toEqual(before);
  const results = await service.call('GET', `/voting-events/${event.id}/results`, undefined, { key: account.read });
  expect(results.body.data).toMatchObject({ final: false, disputed: true });
  const read = readOverHttp(`http://127.0.0.1:${service.port}`, account.vote);
  expect((await verifyLog({ read, event: event.id })).verified).toBe('no');
});
