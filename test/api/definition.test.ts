import { expect, test } from 'vitest';
import { demand } from '#test/harness/elections.ts';
import { shareEvent } from '#test/harness/sharing.ts';
import { eventually, type TestAnswer, useService } from '#test/harness/test-service.ts';

const service = await useService();
const account = await service.account();

const call = (method: string, path: string, body?: unknown, key = account.write): Promise<TestAnswer> =>
  service.call(method, `/voting-events${path}`, body, { key });
const FILE = {
  version: 1,
  event: {
    ...{ title: 'Board', type: 'election', description: 'All of it', timeZone: 'Europe/Berlin', language: 'de' },
    voter: { selfRegistration: true },
    log: { open: true },
    votingPageUrl: 'https://vote.example/#{voterKey}',
  },
  groups: [
    { id: 'south', name: 'South' },
    { id: 'north', name: 'North', description: 'Up there' },
  ],
  positions: [
    { id: 'chair', title: 'Chair', votingMethod: 'ranked_choice', seats: 2 },
    { id: 'move', title: 'Move?', votingMethod: 'referendum', groupId: 'north' },
  ],
  candidates: [
    { id: 'ada', name: 'Ada', positionIds: ['chair'], groupId: 'south' },
    { id: 'yes', name: 'Yes', positionIds: ['move'], referendumRole: 'yes' },
    { id: 'no', name: 'No', positionIds: ['move'], referendumRole: 'no', description: 'Stay' },
  ],
  sponsors: [{ id: 'lib', name: 'Library', tier: 'gold' }],
};
const make = async (): Promise<string> => demand(await call('POST', '/definition', FILE), 201).id;
const read = async (id: string) => demand(await call('GET', `/${id}/definition`), 200);

test('an event made of a file is a draft that opens, and reads as the file with its own IDs', async () => {
  const made = demand(await call('POST', '/definition', { ...FILE, event: { ...FILE.event, code: 'BOARD2031' } }), 201);
  expect(made).toMatchObject({ code: 'BOARD2031', status: 'draft', language: 'de', voter: { selfRegistration: true } });
  const file = await read(made.id);
  expect(file).toMatchObject({
    version: 1,
    event: { ...FILE.event, code: 'BOARD2031' },
    positions: [
      { title: 'Chair', seats: 2 },
      { title: 'Move?', rules: { threshold: { numerator: 1 } } },
    ],
    candidates: [{ name: 'Ada' }, { name: 'Yes', referendumRole: 'yes' }, { name: 'No', description: 'Stay' }],
    sponsors: [{ name: 'Library', tier: 'gold' }],
  });
  const north = file.groups.find(({ name }: { name: string }) => name === 'North');
  expect(file.positions[1].groupId).toBe(north.id);
  expect(file.candidates[1].positionIds).toEqual([file.positions[1].id]);
  // Sent back as it is, it changes nothing, and makes another one under another code.
  expect(demand(await call('PUT', `/${made.id}/definition?dryRun=true`, file), 200)).toEqual([]);
  expect(demand(await call('PUT', `/${made.id}/definition`, file), 200)).toEqual(file);
  const again = await call('POST', '/definition', file);
  expect([again.status, again.body.error.details.reason]).toEqual([409, 'code_in_use']);
  demand(await call('POST', '/definition', { ...file, event: { ...file.event, code: undefined } }), 201);
  demand(await call('POST', `/${made.id}/voters`, { name: 'V', email: 'v@club.example', groupId: north.id }), 201);
  demand(await call('PATCH', `/${made.id}`, { status: 'open' }), 200);
  const late = await call('PUT', `/${made.id}/definition`, file);
  expect([late.status, late.body.error.details.reason]).toEqual([409, 'not_a_draft']);
});

test('a draft becomes exactly what a file says, and a dry run says how and changes nothing', async () => {
  const id = await make();
  const before = await read(id);
  const [south, north] = before.groups;
  demand(await call('POST', `/${id}/voters`, { name: 'V', email: 'v@club.example', groupId: south.id }), 201);
  const file = {
    ...before,
    event: { title: 'Other', type: 'election', code: before.event.code },
    groups: [
      { ...south, name: north.name },
      { ...north, name: south.name },
    ],
    positions: [
      { ...before.positions[0], title: 'Head' },
      { id: 'new', title: 'Treasurer', votingMethod: 'plurality' },
    ],
    candidates: [{ ...before.candidates[0], positionIds: ['new', before.positions[0].id] }],
    sponsors: [],
  };
  const differences = demand(await call('PUT', `/${id}/definition?dryRun=true`, file), 200);
  const told = differences.map(({ kind, action }: { kind: string; action: string }) => `${kind} ${action}`).sort();
  expect(told).toEqual([
    ...['candidate deleted', 'candidate deleted', 'candidate updated', 'event updated', 'group updated'],
    ...['group updated', 'position created', 'position deleted', 'position updated', 'sponsor deleted'],
  ]);
  expect(differences.find(({ id: of }: { id: string }) => of === before.positions[0].id)).toMatchObject({
    ...{ before: { title: 'Chair' }, after: { title: 'Head' } },
  });
  expect(await read(id)).toEqual(before);
  const after = demand(await call('PUT', `/${id}/definition`, file), 200);
  expect(await read(id)).toEqual(after);
  expect(after).toMatchObject({
    event: {
      title: 'Other',
      description: null,
      language: 'en',
      voter: { selfRegistration: false },
      log: { open: false },
    },
    groups: [
      { id: south.id, name: 'North' },
      { id: north.id, name: 'South' },
    ],
    positions: [{ id: before.positions[0].id, title: 'Head' }, { title: 'Treasurer' }],
    candidates: [{ id: before.candidates[0].id, positionIds: [expect.any(String), before.positions[0].id] }],
    sponsors: [],
  });
  const [voter] = demand(await call('GET', `/${id}/voters`), 200);
  expect(voter.groupId).toBe(south.id);
  demand(await call('POST', `/${id}/candidates`, { name: 'More', positionIds: [after.positions[1].id] }), 201);
  demand(await call('PATCH', `/${id}`, { status: 'open' }), 200);
});

test('a bad file is refused with all that is wrong, and leaves everything as it was', async () => {
  const id = await make();
  const before = await read(id);
  const bad = {
    ...before,
    groups: [...before.groups, { ...before.groups[0], id: 'again' }, { id: before.groups[0].id, name: 'Twin' }],
    positions: [{ ...before.positions[0], scoreMax: 5, groupId: 'grp_unknown' }, before.positions[1]],
    candidates: [
      { ...before.candidates[0], positionIds: ['pos_unknown'] },
      { ...before.candidates[1], referendumRole: null },
    ],
  };
  for (const path of [`/${id}/definition`, `/${id}/definition?dryRun=true`]) {
    const answer = await call('PUT', path, bad);
    expect(answer.status).toBe(422);
    expect(answer.body.error.details.issues.map(({ field }: { field: string }) => field).sort()).toEqual([
      ...['candidates[0].positionIds[0]', 'candidates[1].referendumRole', 'groups[2].name', 'groups[3].id'],
      ...['positions[0].groupId', 'positions[0].scoreMax'],
    ]);
  }
  const events = async () => demand(await call('GET', '?limit=200'), 200).length;
  const count = await events();
  expect((await call('POST', '/definition', { ...bad, event: { ...bad.event, code: undefined } })).status).toBe(422);
  for (const [body, field] of [
    [{}, 'version'],
    [{ ...FILE, version: 2 }, 'version'],
    [{ ...FILE, voters: [] }, 'voters'],
    [{ ...FILE, event: { ...FILE.event, status: 'open' } }, 'event.status'],
    [{ ...FILE, positions: [{ title: 'No ID', votingMethod: 'plurality' }] }, 'positions[0].id'],
    [{ ...FILE, sponsors: {} }, 'sponsors'],
  ] as const) {
    for (const answer of [await call('POST', '/definition', body), await call('PUT', `/${id}/definition`, body)])
      expect([answer.status, answer.body.error.details.field]).toEqual([422, field]);
  }
  const many = { ...FILE, sponsors: Array.from({ length: 1_001 }, (_, index) => ({ id: `s${index}`, name: 'S' })) };
  const full = await call('PUT', `/${id}/definition`, many);
  expect([full.status, full.body.error.details]).toEqual([422, { limit: 'sponsors_per_event', max: 1_000 }]);
  expect(await read(id)).toEqual(before);
  expect(await events()).toBe(count);
});

test('files at the caps are taken, of more than a mebibyte', async () => {
  const long = 'x'.repeat(3_000);
  const positions = Array.from({ length: 100 }, (_, index) => ({
    id: `p${index}`,
    title: `P${index}`,
    votingMethod: 'approval',
  }));
  const candidates = Array.from({ length: 1_000 }, (_, index) => ({
    ...{ id: `c${index}`, name: `C${index}`, description: long, positionIds: [`p${index % 100}`] },
  }));
  const { id } = demand(await call('POST', '/definition', { ...FILE, positions, candidates }), 201);
  const file = await read(id);
  expect([file.positions.length, file.candidates.length]).toEqual([100, 1_000]);
  expect(demand(await call('PUT', `/${id}/definition`, file), 200)).toEqual(file);
});

test('a file that says what the draft is already leaves no trace in the audit trail', async () => {
  const id = await make();
  const entries = async () => demand(await call('GET', `/${id}/audit`), 200).length;
  const file = await read(id);
  const before = await entries();
  expect(demand(await call('PUT', `/${id}/definition`, file), 200)).toEqual(file);
  expect(await entries()).toBe(before);
  demand(
    await call('PUT', `/${id}/definition`, {
      ...file,
      sponsors: [],
      groups: file.groups,
      event: { ...file.event, description: 'Other words' },
    }),
    200,
  );
  expect(await entries()).toBeGreaterThan(before);
});

test('an event that takes long to be made holds up no other of its account', async () => {
  const holder = await service.deps.db.$client.connect();
  try {
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE candidates IN SHARE ROW EXCLUSIVE MODE');
    const slow = call('POST', '/definition', FILE);
    // It stands at its candidates.
    await eventually(async () => {
      const rows = await service.query(
        "SELECT 1 FROM pg_locks WHERE relation = 'candidates'::regclass AND NOT granted",
      );
      return rows.length > 0 ? true : undefined;
    });
    expect((await call('POST', '', { title: 'Another', type: 'poll' })).status).toBe(201);
    await holder.query('COMMIT');
    expect((await slow).status).toBe(201);
  } finally {
    holder.release();
  }
});

test('the routes of files keep to scopes, roles and what a key sees', async () => {
  const id = await make();
  const path = `/${id}/definition`;
  const stranger = await service.account();
  const viewer = await service.account();
  await shareEvent(service, account, { id, code: 'CODE', positions: [] }, viewer, 'viewer');
  const codes = async (method: string, target: string, key: string, body?: unknown) => {
    const answer = await call(method, target, body, key);
    return [answer.status, answer.body.error?.details?.reason ?? answer.body.error?.code];
  };
  expect(await codes('GET', path, account.vote)).toEqual([403, 'insufficient_scope']);
  expect(await codes('GET', path, stranger.read)).toEqual([404, 'not_found']);
  expect(await codes('PUT', path, stranger.write, FILE)).toEqual([404, 'not_found']);
  expect(await codes('PUT', path, account.read, FILE)).toEqual([403, 'insufficient_scope']);
  expect(await codes('PUT', path, viewer.write, FILE)).toEqual([403, 'role']);
  expect(await codes('PUT', `${path}?dryRun=true`, viewer.write, FILE)).toEqual([403, 'role']);
  expect(await codes('PUT', `${path}?dryRun=maybe`, account.write, FILE)).toEqual([400, 'bad_request']);
  expect(await codes('POST', '/definition', account.read, FILE)).toEqual([403, 'insufficient_scope']);
  expect((await call('GET', path, undefined, viewer.read)).status).toBe(200);
  const open = await account.event({}, [{ votingMethod: 'approval', candidates: ['A'] }]);
  expect(await codes('PUT', `/${open.id}/definition`, account.write, FILE)).toEqual([409, 'not_a_draft']);
});
