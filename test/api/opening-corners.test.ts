import { describe, expect, test } from 'vitest';
import { mixRolls } from '#src/ballot-log/rewrite-roll.ts';
import { sequenceLog } from '#src/ballot-log/seal-ballots.ts';
import { listVoidsToLog } from '#src/ballot-log/void-ballot.ts';
import { publishTimedEvents } from '#src/voting-events/publish-status.ts';
import { sealDeps } from '#src/work.ts';
import { demand, refusalOf } from '#test/harness/answers.ts';
import { finishEvent, PLURALITY, votesFor } from '#test/harness/elections.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { moveEnd } from '#test/harness/move-end.ts';
import { useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount({ worker: false });
const { of } = account;
const HOUR_MS = 3_600_000;

/** An election whose only position is for a group; its voter, if it has one, is not in it. */
async function createForGroup(settings: object = {}) {
  const event = await account.event({ type: 'election', ...settings }, PLURALITY, false);
  const { id: groupId } = await of(event).make('/groups', { name: 'South' });
  await of(event).change(`/positions/${event.positions[0]?.id}`, { groupId });
  await of(event).make('/voters', { name: 'A', email: 'a@club.example' });
  return event;
}

describe('whether an event may open is judged by the settings of the same request', () => {
  test.each([
    ['a poll, which has no groups', {}, { status: 'open', type: 'poll' }, 409],
    ['a rehearsal as a poll', {}, { status: 'rehearsal', type: 'poll' }, 409],
    ['registrations that may join the group', {}, { status: 'open', voter: { selfRegistration: true } }, 200],
    [
      'registrations that are switched off',
      { voter: { selfRegistration: true } },
      { status: 'open', voter: { selfRegistration: false } },
      409,
    ],
  ])('%s', async (_what, settings, body, status) => {
    const answer = await of(await createForGroup(settings)).patch('', body);
    expect(answer.status).toBe(status);
    if (status === 409) expect(refusalOf(answer)).toEqual([409, 'not_ready']);
  });

  test('and the options of a referendum are in its language', async () => {
    const event = await account.make('/voting-events', { title: 'T', type: 'election' });
    await of(event).make('/positions', { title: 'Shall we?', votingMethod: 'referendum' });
    await of(event).change('', { status: 'open', language: 'de' });
    const names = (await of(event).show('/candidates')).map(({ name }: { name: string }) => name);
    expect(names).toEqual(['Ja', 'Nein', 'Enthaltung']);
  });
});

test('the file of an event that missed its start has no start, as the event has none, and opens nothing when it is put back', async () => {
  const event = await account.event({}, [], false);
  const own = of(event);
  const { id: position } = await own.make('/positions', { title: 'Chair', votingMethod: 'plurality' });
  await own.change('', { startsAt: Date.now() + HOUR_MS });
  await moveEnd(service.deps, event.id, 'starts_at = now_ms() - 1000');
  expect(await own.show('')).toMatchObject({ status: 'draft', startsAt: null });
  const file = await own.show('/definition');
  expect(file.event.startsAt).toBeNull();
  const candidates = [{ id: 'ada', name: 'Ada', positionIds: [position] }];
  demand(await own.put('/definition', { ...file, candidates }), 200);
  expect(await own.show('')).toMatchObject({ status: 'draft', missing: [] });
});

test('an event that its start opened, and that is opened again after its end, was open since its start', async () => {
  const event = await account.event({ type: 'election' }, PLURALITY, false);
  const startsAt = Date.now() - HOUR_MS;
  await of(event).change('', { startsAt, endsAt: Date.now() + HOUR_MS });
  await moveEnd(service.deps, event.id, 'ends_at = now_ms() - 1000');
  await of(event).change('', { status: 'open', endsAt: Date.now() + HOUR_MS });
  const [row] = await service.query('SELECT opened_at::float8 AS "openedAt" FROM voting_events WHERE id = $1', [
    event.id,
  ]);
  expect(row).toEqual({ openedAt: startsAt });
});

test('an opening that is taken back, and comes again, is told again', async () => {
  const event = await account.event({ type: 'election' }, PLURALITY, false);
  const { code } = await of(event).show('');
  const endpoint = { url: 'https://hooks.example/x', eventTypes: ['voting_event.opened'], votingEventCode: code };
  const { id } = await account.make('/webhook-endpoints', endpoint);
  await of(event).change('', { startsAt: Date.now() - 1 });
  await of(event).change('', { startsAt: Date.now() + HOUR_MS });
  await of(event).change('', { startsAt: Date.now() - 1 });
  await publishTimedEvents(service.deps);
  expect(await service.query('SELECT FROM webhook_deliveries WHERE endpoint_id = $1', [id])).toHaveLength(2);
});

test('registrations of candidates that were rejected take no place, and are bounded all the same', async () => {
  const event = await account.event({ type: 'election', candidate: { selfRegistration: true } });
  await service.query(
    `INSERT INTO candidates SELECT (jsonb_populate_record(one, jsonb_build_object('id', 'fill_' || n, 'number', 9 + n,
       'source', 'registration', 'status', 'rejected'))).*
     FROM candidates AS one, generate_series(1, 3000) AS n
     WHERE one.voting_event_id = $1 AND one.id = (SELECT min(id) FROM candidates WHERE voting_event_id = $1)`,
    [event.id],
  );
  const body = { name: 'One more', positionIds: [event.positions[0]?.id] };
  expect(refusalOf(await account.page(event, 'register/candidate', body))).toEqual([422, 'plan_limit']);
});

test('a poll with five listed voters of one group is final after its close', async () => {
  const event = await account.event({});
  const { id: groupId } = await of(event).make('/groups', { name: 'South' });
  const voters = Array.from({ length: 5 }, (_, n) => ({ name: 'P', email: `p${n}@club.example`, groupId }));
  await of(event).make('/voters/batch', { voters });
  await account.votePoll(event, votesFor(event));
  await of(event).change('', { status: 'closed' });
  await finishEvent(service, event.id);
  expect(await of(event).show('/results')).toMatchObject({ final: true, disputed: false, byGroup: [] });
});

test('an event that is busy keeps no other roll from being mixed', async () => {
  const events = [await account.event({ type: 'election' }), await account.event({ type: 'election' })];
  for (const event of events) {
    demand(await of(event).post('/voters', { name: 'V', email: 'v@mail.example' }), 201);
    await sequenceLog(sealDeps(service.deps), event.id, 1);
  }
  const [first, second] = events.map(({ id }) => id).sort();
  await withClient(service.databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query('SELECT FROM voting_events WHERE id = $1 FOR KEY SHARE', [first]);
    await expect(mixRolls(sealDeps(service.deps))).rejects.toThrow('1 rolls could not be mixed');
    await client.query('ROLLBACK');
  });
  const mixed = 'SELECT FROM ballot_logs WHERE voting_event_id = $1 AND roll_mixed_at IS NOT NULL';
  expect(await service.query(mixed, [second])).toHaveLength(1);
});

test('void ballots are looked up 512 at a time, past those that stand in no place any more', async () => {
  const event = await account.event({ type: 'poll' });
  await account.votePoll(event, votesFor(event));
  await sequenceLog(sealDeps(service.deps), event.id, 1);
  const [sealed] = await service.query(
    'SELECT substring(tags FROM 1 FOR 32) AS tag FROM ballot_blocks WHERE voting_event_id = $1',
    [event.id],
  );
  // Their tags come before that of the ballot.
  await service.query(
    "INSERT INTO voided_ballots (voting_event_id, code_tag) SELECT $1, decode(lpad(to_hex(n), 64, '0'), 'hex') FROM generate_series(1, 1100) AS n",
    [event.id],
  );
  expect(await listVoidsToLog(service.deps.db, event.id)).toEqual([]);
  await service.query('INSERT INTO voided_ballots (voting_event_id, code_tag) VALUES ($1, $2)', [
    event.id,
    sealed?.['tag'],
  ]);
  expect(await listVoidsToLog(service.deps.db, event.id)).toEqual([{ codeTag: sealed?.['tag'], leafIndex: 1 }]);
});
