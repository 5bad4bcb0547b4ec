import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { createEventBody } from '#src/voting-events/event-body.ts';
import { demand, fieldOf, issuesOf, refusalOf } from '#test/harness/answers.ts';
import { PLURALITY } from '#test/harness/elections.ts';
import { shareEvent } from '#test/harness/sharing.ts';
import { type TestAnswer, untilTrue, useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount();

const { of } = account;
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
const makeFrom = (file: object) => account.make('/voting-events/definition', file);
const make = async (): Promise<string> => (await makeFrom(FILE)).id;
const read = (id: string) => of({ id }).show('/definition');
const put = async (id: string, file: object, query = '') =>
  demand(await of({ id }).put(`/definition${query}`, file), 200);

test('an event made of a file is a draft that opens, and reads as the file with its own IDs', async () => {
  const made = await makeFrom({ ...FILE, event: { ...FILE.event, code: 'BOARD2031' } });
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
  expect(await put(made.id, file, '?dryRun=true')).toEqual([]);
  expect(await put(made.id, file)).toEqual(file);
  expect(refusalOf(await call('POST', '/definition', file))).toEqual([409, 'code_in_use']);
  await makeFrom({ ...file, event: { ...file.event, code: undefined } });
  await of(made).make('/voters', { name: 'V', email: 'v@club.example', groupId: north.id });
  await of(made).change('', { status: 'open' });
  expect(refusalOf(await of(made).put('/definition', file))).toEqual([409, 'not_a_draft']);
});

test('a file that is sent again with IDs of its own changes nothing, and its voters stay in their groups', async () => {
  const id = await make();
  const before = await read(id);
  const [south] = before.groups;
  const { id: voter } = await of({ id }).make('/voters', { name: 'V', email: 'v@club.example', groupId: south.id });
  expect(await put(id, FILE, '?dryRun=true')).toEqual([]);
  expect(await put(id, FILE)).toEqual(before);
  // Of two who have one name, each keeps the position that it stands for.
  const [chair] = FILE.positions;
  const board = { ...chair, id: 'board', title: 'Board' };
  const ada = (of: string, ...positionIds: string[]) => ({ id: of, name: 'ADA', positionIds });
  const two = {
    ...FILE,
    positions: [...FILE.positions, board],
    candidates: [ada('one', 'board'), ada('two', 'chair')],
  };
  const [one, other] = (await put(id, two)).candidates;
  expect([one.id === before.candidates[0].id, other.id]).toEqual([false, before.candidates[0].id]);
  const swapped = { ...two, candidates: [ada('a', 'chair', 'board'), ada('b', 'chair')] };
  const after = (await put(id, swapped)).candidates.map(({ id }: { id: string }) => id);
  expect(after).toEqual([other.id, expect.any(String)]);
  expect([other.id, one.id]).not.toContain(after[1]);
  expect((await of({ id }).show(`/voters/${voter}`)).groupId).toBe(south.id);
});

test('a file can be sent back after a position stopped being a referendum, or was deleted', async () => {
  const id = await make();
  const { positions } = await read(id);
  const move = positions.find(({ votingMethod }: { votingMethod: string }) => votingMethod === 'referendum');
  await of({ id }).change(`/positions/${move.id}`, { votingMethod: 'plurality', rules: null });
  const shown = await read(id);
  expect(shown.candidates.map(({ referendumRole }: { referendumRole: string }) => referendumRole)).toEqual([
    null,
    null,
    null,
  ]);
  expect(await put(id, shown)).toEqual(shown);
  const other = await make();
  const [chair, question] = (await read(other)).positions;
  const [, yes] = (await read(other)).candidates;
  await of({ id: other }).change(`/candidates/${yes.id}`, { positionIds: [chair.id, question.id] });
  demand(await of({ id: other }).delete(`/positions/${question.id}`), 202);
  expect(await put(other, await read(other))).toEqual(await read(other));
});

test('webhooks and the audit trail tell what a file and a deletion did to the ballot', async () => {
  const types = ['candidate.created', 'candidate.updated', 'candidate.deleted'];
  const endpoint = await account.make('/webhook-endpoints', { url: 'https://hooks.example/', eventTypes: types });
  const id = await make();
  const [ada] = (await read(id)).candidates;
  const told = async () => {
    const rows = await service.query(
      'SELECT event_type, body FROM webhook_deliveries WHERE endpoint_id = $1 ORDER BY event_type',
      [endpoint.id],
    );
    return rows.map(({ event_type, body }) => [event_type, JSON.parse(body).data.name]);
  };
  const [, yes, no] = FILE.candidates;
  const bea = { id: 'bea', name: 'Bea', positionIds: ['chair'] };
  await put(id, { ...FILE, candidates: [bea, yes, { ...no, description: 'Go' }] });
  expect(await told()).toEqual([
    ['candidate.created', 'Bea'],
    ['candidate.deleted', ada.name],
    ['candidate.updated', 'No'],
  ]);
  // A start date adds Yes, No and Abstain to a referendum without candidates: each is announced once.
  await service.query('DELETE FROM webhook_deliveries WHERE endpoint_id = $1', [endpoint.id]);
  const startsAt = Date.now() + 3_600_000;
  await put(id, { ...FILE, event: { ...FILE.event, startsAt }, candidates: [bea] });
  expect(
    (await told())
      .filter(([type]) => type === 'candidate.created')
      .map(([, name]) => name)
      .toSorted(),
  ).toEqual([...['Enthaltung', 'Ja', 'Nein']]);
  const [chair] = (await read(id)).positions;
  demand(await of({ id }).delete(`/positions/${chair.id}`), 202);
  const trail = await of({ id }).show('/audit');
  expect(trail.find(({ action }: { action: string }) => action === 'position.deleted').before).toEqual({
    ...{ title: 'Chair', votingMethod: 'ranked_choice', groupId: null, candidates: ['Bea'] },
  });
});

test('numbers of candidates are given to rows that stay, and are free again once a row of a draft is gone', async () => {
  const id = await make();
  const numbers = () =>
    service.query('SELECT name, number FROM candidates WHERE voting_event_id = $1 ORDER BY name', [id]);
  const before = await numbers();
  for (let again = 0; again < 3; again += 1) await put(id, FILE);
  expect(await numbers()).toEqual(before);
  for (const name of ['Bea', 'Cleo', 'Dora'])
    await put(id, {
      ...FILE,
      candidates: FILE.candidates.map((one) => (one.id === 'ada' ? { ...one, id: name, name } : one)),
    });
  expect(Math.max(...(await numbers()).map(({ number }) => number))).toBeLessThanOrEqual(4);
  await service.query('UPDATE voting_events SET last_candidate_number = 500000 WHERE id = $1', [id]);
  const [{ id: positionId }] = (await read(id)).positions;
  const refused = await of({ id }).post('/candidates', { name: 'One more', positionIds: [positionId] });
  expect([refused.status, refused.body.error.details]).toEqual([
    422,
    { limit: 'candidates_ever_per_event', max: 500_000 },
  ]);
});

test('a definition and a candidate are sent back as they are shown after a position became a referendum', async () => {
  const event = await account.event({ type: 'election' }, PLURALITY, false);
  const [position] = event.positions;
  await of(event).change(`/positions/${position?.id}`, { votingMethod: 'referendum', majorityRequired: null });
  const shown = await of(event).show('/definition');
  demand(await of(event).put('/definition', shown), 200);
  const path = `/candidates/${position?.candidates[0]}`;
  const { name, positionIds, referendumRole } = await of(event).show(path);
  await of(event).change(path, { name: `${name} II`, positionIds, referendumRole });
  expect(refusalOf(await of(event).patch(path, { referendumRole: 'abstain', positionIds: [] }))).toBeDefined();
  const moved = { ...shown, candidates: shown.candidates.map((one: object) => ({ ...one, id: 'new' })).slice(0, 1) };
  expect((await of(event).put('/definition', moved)).body.error.details.issues[0].field).toBe(
    'candidates[0].referendumRole',
  );
});

test('a draft becomes exactly what a file says, and a dry run says how and changes nothing', async () => {
  const id = await make();
  const before = await read(id);
  const [south, north] = before.groups;
  await of({ id }).make('/voters', { name: 'V', email: 'v@club.example', groupId: south.id });
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
  const differences = await put(id, file, '?dryRun=true');
  const told = differences.map(({ kind, action }: { kind: string; action: string }) => `${kind} ${action}`).sort();
  expect(told).toEqual([
    ...['candidate deleted', 'candidate deleted', 'candidate updated', 'event updated', 'group updated'],
    ...['group updated', 'position created', 'position deleted', 'position updated', 'sponsor deleted'],
  ]);
  expect(differences.find(({ id: of }: { id: string }) => of === before.positions[0].id)).toMatchObject({
    ...{ before: { title: 'Chair' }, after: { title: 'Head' } },
  });
  expect(await read(id)).toEqual(before);
  const after = await put(id, file);
  expect(await read(id)).toEqual(after);
  expect(after).toMatchObject({
    event: {
      ...{ title: 'Other', description: null, language: 'en' },
      ...{ voter: { selfRegistration: false }, log: { open: false } },
    },
    groups: [
      { id: south.id, name: 'North' },
      { id: north.id, name: 'South' },
    ],
    positions: [{ id: before.positions[0].id, title: 'Head' }, { title: 'Treasurer' }],
    candidates: [{ id: before.candidates[0].id, positionIds: [expect.any(String), before.positions[0].id] }],
    sponsors: [],
  });
  const [voter] = await of({ id }).show('/voters');
  expect(voter.groupId).toBe(south.id);
  await of({ id }).make('/candidates', { name: 'More', positionIds: [after.positions[1].id] });
  await of({ id }).change('', { status: 'open' });
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
    expect(issuesOf(answer).sort()).toEqual([
      ...['candidates[0].positionIds[0]', 'candidates[1].referendumRole', 'groups[2].name', 'groups[3].id'],
      ...['positions[0].groupId', 'positions[0].scoreMax'],
    ]);
  }
  // What is wrong with the event itself stands beside it, by its place in the document.
  const times = { startsAt: 2_000_000_000_000, endsAt: 1_999_999_999_999, code: undefined };
  for (const [method, path] of [
    ['PUT', `/${id}/definition`],
    ['POST', '/definition'],
  ] as const) {
    const answer = await call(method, path, { ...bad, event: { ...bad.event, ...times } });
    const issues = issuesOf(answer);
    expect(issues).toEqual(expect.arrayContaining(['event.endsAt', 'groups[2].name', 'positions[0].scoreMax']));
    expect(issues).not.toContain('endsAt');
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
    for (const answer of [await call('POST', '/definition', body), await of({ id }).put('/definition', body)])
      expect(fieldOf(answer)).toEqual([422, field]);
  }
  const many = { ...FILE, sponsors: Array.from({ length: 1_001 }, (_, index) => ({ id: `s${index}`, name: 'S' })) };
  const full = await of({ id }).put('/definition', many);
  expect([full.status, full.body.error.details]).toEqual([422, { limit: 'sponsors_per_event', max: 1_000 }]);
  expect(await read(id)).toEqual(before);
  expect(await events()).toBe(count);
});

test.each([
  ['at one position each', 1],
  ['at every position', 100],
])('files at the caps are taken, of more than a mebibyte, with candidates %s', async (_where, places) => {
  const long = 'x'.repeat(3_000);
  const positions = Array.from({ length: 100 }, (_, index) => ({
    ...{ id: `p${index}`, title: `P${index}`, votingMethod: 'approval' },
  }));
  const candidates = Array.from({ length: 1_000 }, (_, index) => ({
    ...{ id: `c${index}`, name: `C${index}`, description: long },
    positionIds: Array.from({ length: places }, (_one, place) => `p${(index + place) % 100}`),
  }));
  // The planner has seen events of two positions alone.
  await make();
  await service.query('ANALYZE positions, candidates');
  const { id } = await makeFrom({ ...FILE, positions, candidates });
  const file = await read(id);
  expect([file.positions.length, file.candidates.length]).toEqual([100, 1_000]);
  expect(await put(id, file)).toEqual(file);
});

describe('a file whose start has come', () => {
  const BARE = {
    ...FILE,
    groups: [],
    positions: [{ id: 'move', title: 'Move?', votingMethod: 'referendum' }],
    candidates: [],
  };
  const BALLOT = { ...BARE, candidates: [{ id: 'y', name: 'Ja', positionIds: ['move'], referendumRole: 'yes' }] };
  const EMPTY = { ...BARE, positions: [] };
  const started = (file: { readonly event: object }, times = {}) => ({
    ...file,
    event: { ...file.event, startsAt: Date.now() - 1, ...times },
  });
  const shown = async (id: string) => {
    const { status, missing, missedStartAt } = await of({ id }).show('');
    const opened = await service.query(
      'SELECT FROM voting_events WHERE id = $1 AND (opened_at, announced_status) IS NOT NULL',
      [id],
    );
    return [status, missing?.[0]?.reason ?? null, missedStartAt !== null, opened.length];
  };

  test.each([
    ['nothing on its ballot', EMPTY, 'no_position'],
    [
      'a position without candidates',
      { ...BARE, positions: [{ id: 'chair', title: 'Chair', votingMethod: 'plurality' }] },
      'no_candidate',
    ],
  ])('opens no draft that was ready, if it has %s', async (_what, file, reason) => {
    const { id } = await makeFrom(BALLOT);
    await put(id, started(file));
    expect(await shown(id)).toEqual(['draft', reason, true, 0]);
  });

  test.each(['put into a draft', 'made into an event'])('opens with the options of its referendum, %s', async (way) => {
    const { id } = way === 'put into a draft' ? await makeFrom(EMPTY) : await makeFrom(started(BARE));
    if (way === 'put into a draft') await put(id, started(BARE));
    expect((await shown(id)).slice(0, 3)).toEqual(['open', null, false]);
    expect((await read(id)).candidates.map(({ name }: { name: string }) => name)).toEqual(['Ja', 'Nein', 'Enthaltung']);
  });

  test.each(['put into a draft', 'made into an event'])('has its end announced, %s', async (way) => {
    const ending = started(BALLOT, { endsAt: Date.now() + 172_800_000 });
    const { id } = await makeFrom(way === 'put into a draft' ? EMPTY : ending);
    if (way === 'put into a draft') await put(id, ending);
    expect(await service.query('SELECT FROM jobs WHERE key = $1', [`announce:${id}:closing`])).toHaveLength(1);
  });
});

test('a file that says what the draft is already leaves no trace in the audit trail', async () => {
  const id = await make();
  const entries = async () => (await of({ id }).show('/audit')).length;
  const file = await read(id);
  const before = await entries();
  expect(await put(id, file)).toEqual(file);
  expect(await entries()).toBe(before);
  await put(id, {
    ...file,
    sponsors: [],
    groups: file.groups,
    event: { ...file.event, description: 'Other words' },
  });
  expect(await entries()).toBeGreaterThan(before);
});

test('an event that takes long to be made holds up no other of its account', async () => {
  const holder = await service.deps.db.$client.connect();
  try {
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE candidates IN SHARE ROW EXCLUSIVE MODE');
    const slow = call('POST', '/definition', FILE);
    // It stands at its candidates.
    const waiting = "SELECT 1 FROM pg_locks WHERE relation = 'candidates'::regclass AND NOT granted";
    await untilTrue(async () => (await service.query(waiting)).length > 0);
    expect((await call('POST', '', { title: 'Another', type: 'poll' })).status).toBe(201);
    await holder.query('COMMIT');
    expect((await slow).status).toBe(201);
  } finally {
    holder.release();
  }
});

test('a file replaces a draft alone, and who may change nothing has no dry run either', async () => {
  const id = await make();
  const path = `/${id}/definition`;
  const viewer = await service.account();
  await shareEvent(service, account, { id, code: 'CODE', positions: [] }, viewer, 'viewer');
  const codes = async (target: string, key = account.write) => refusalOf(await call('PUT', target, FILE, key));
  expect(await codes(`${path}?dryRun=true`, viewer.write)).toEqual([403, 'role']);
  expect(await codes(`${path}?dryRun=maybe`)).toEqual([400, 'bad_request']);
  expect((await call('GET', path, undefined, viewer.read)).status).toBe(200);
  const open = await account.event({}, [{ votingMethod: 'approval', candidates: ['A'] }]);
  expect(await codes(`/${open.id}/definition`)).toEqual([409, 'not_a_draft']);
});

// A setting of an event stands in its creation, its change, its file and its copy. A new one has to stand in all of them.

const DAY_MS = 86_400_000;
/** For each setting of an event a value that is not its default; of those that need a payment business, the default. */
const SET: Readonly<Record<string, unknown>> = {
  code: 'EVERY2031',
  title: 'Every setting',
  description: 'All of them',
  startsAt: Date.now() + DAY_MS,
  endsAt: Date.now() + 2 * DAY_MS,
  timeZone: 'Asia/Tokyo',
  'voter.requireVoterId': true,
  'voter.selfRegistration': true,
  'voter.approval': 'manual',
  'voter.saveVoterInfo': true,
  'candidate.selfRegistration': true,
  'ballot.candidateOrder': 'shuffled',
  'ballot.opening': 'public',
  'ballot.receipt': 'full',
  'results.visibility': 'live',
  'log.open': true,
  'payments.payToVote': null,
  'payments.payToRegisterCandidate': null,
  'payments.repeatVotes': false,
  votingPageUrl: 'https://vote.example/#{voterKey}',
  contactEmail: 'board@club.example',
  language: 'de',
  logoUrl: 'https://club.example/logo.png',
};
/** Settings that one kind of event alone has. */
const ONLY: Readonly<Record<string, string>> = {
  'voter.saveVoterInfo': 'poll',
  'voter.selfRegistration': 'election',
  'voter.approval': 'election',
};

const isObject = (field: unknown): field is z.ZodObject =>
  typeof field === 'object' && field !== null && 'shape' in field;
const inner = (field: z.ZodType): z.ZodType =>
  'unwrap' in field ? inner((field as z.ZodOptional<z.ZodType>).unwrap()) : field;
const listPaths = (shape: object, before = ''): string[] =>
  Object.entries(shape).flatMap(([name, field]) => {
    const own = inner(field as z.ZodType);
    return isObject(own) && GROUPS.has(name) ? listPaths(own.shape, `${before}${name}.`) : [`${before}${name}`];
  });
const GROUPS = new Set(['voter', 'candidate', 'ballot', 'results', 'log', 'payments']);
const valueAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], value);
/** The value of a setting that is not what an event of this type has by itself. */
const settingOf = (type: string, path: string): unknown =>
  path === 'ballot.receipt' && type === 'poll' ? 'inclusion' : SET[path];
function bodyOf(type: string, paths: readonly string[]): Record<string, unknown> {
  const body = new Map<string, unknown>([['type', type]]);
  for (const path of paths) {
    const [first = '', second] = path.split('.');
    const value = settingOf(type, path);
    body.set(first, second === undefined ? value : { ...(body.get(first) as object | undefined), [second]: value });
  }
  return Object.fromEntries(body);
}

const paths = listPaths(createEventBody.shape).filter((path) => path !== 'type');
const take = async (method: string, path: string, body?: unknown, status = 200) =>
  demand(await call(method, path, body), status);

test('each setting has a value here that is not its default', () => {
  expect(paths.toSorted()).toEqual(Object.keys(SET).toSorted());
});

describe.each(['election', 'poll'])('each setting of an %s', (type) => {
  const own = paths.filter((path) => (ONLY[path] ?? type) === type);
  const settings = (view: unknown) => Object.fromEntries(own.map((path) => [path, valueAt(view, path)]));
  const code = `EVERY0${type === 'poll' ? 'P' : 'E'}`;

  test('is created, shown, changed, written to its file, read from it, left out to its default, and copied', async () => {
    const plain = settings(await take('POST', '', { type, title: 'Plain' }, 201));
    const different = own.filter(
      (path) => !path.startsWith('payments.') && JSON.stringify(plain[path]) === JSON.stringify(settingOf(type, path)),
    );
    expect(different).toEqual([]);
    const wanted = { ...settings(bodyOf(type, own)), code };

    const made = await take('POST', '', { ...bodyOf(type, own), code }, 201);
    expect(settings(made)).toEqual(wanted);

    const { type: _type, ...changes } = bodyOf(type, own);
    const { id } = await take('POST', '', { type, title: 'Changed' }, 201);
    expect(settings(await take('PATCH', `/${id}`, { ...changes, code: `${code}2` }))).toEqual({
      ...wanted,
      code: `${code}2`,
    });

    const file = await take('GET', `/${made.id}/definition`);
    expect(settings(file.event)).toEqual(wanted);

    const other = await take('POST', '/definition', { ...file, event: { ...file.event, code: `${code}3` } }, 201);
    expect(settings(other)).toEqual({ ...wanted, code: `${code}3` });

    // A file is put on a draft alone, which has no start.
    await take('PATCH', `/${made.id}`, { startsAt: null, endsAt: null });
    await take('PUT', `/${made.id}/definition`, { ...file, event: { type, title: 'Plain' } });
    expect({ ...settings(await take('GET', `/${made.id}`)), code: '' }).toEqual({ ...plain, code: '' });

    const copy = await take('POST', `/${other.id}/copy`, { title: 'Every setting', withVoters: false }, 201);
    // The times of another year, and a code of its own.
    expect({ ...settings(copy), code: '' }).toEqual({ ...wanted, code: '', startsAt: null, endsAt: null });
  });
});

const HOUR_MS = 3_600_000;
const SECONDS = { startsAt: 1_795_451_582, endsAt: 1_795_534_382 };
const passed = () => ({ startsAt: Date.now() - 2 * HOUR_MS, endsAt: Date.now() - HOUR_MS });
const settings = { title: 'An event', type: 'poll' };

test.each([
  ['seconds in place of milliseconds', () => SECONDS],
  ['times that have passed', passed],
])('no event is closed before it was ever open: %s are refused wherever they are set', async (_what, timesOf) => {
  const times = timesOf();
  const { id } = demand(await call('POST', '', settings), 201);
  const file = await of({ id }).show('/definition');
  const answers = [
    await call('POST', '', { ...settings, ...times }),
    await of({ id }).patch('', times),
    await call('POST', '/definition', { ...file, event: { ...file.event, code: undefined, ...times } }),
    await of({ id }).put('/definition', { ...file, event: { ...file.event, ...times } }),
  ];
  for (const { status, body } of answers) {
    expect(status).toBe(422);
    expect(body.error.details.issues[0].message).toContain('the end must lie ahead');
  }
  expect(await of({ id }).show('')).toMatchObject({ status: 'draft', startsAt: null, endsAt: null });
  // A start before an end that has passed alone.
  await of({ id }).change('', { endsAt: times.endsAt });
  expect(fieldOf(await of({ id }).patch('', { startsAt: times.startsAt }))).toEqual([422, 'startsAt']);
  await of({ id }).change('', { startsAt: times.startsAt, endsAt: Date.now() + HOUR_MS });
});

test('a file that is sent back as it is shown leaves each row and the event as they were', async () => {
  const id = await make();
  const lists = ['', '/groups', '/positions', '/candidates', '/sponsors'];
  const all = () => Promise.all(lists.map((list) => of({ id }).show(list)));
  const before = await all();
  // A millisecond later at least.
  await untilTrue(async () => Date.now() > before[0].updatedAt);
  demand(await of({ id }).put('/definition', await read(id)), 200);
  expect(await all()).toEqual(before);
  const file = await read(id);
  file.groups[0].name = 'West';
  demand(await of({ id }).put('/definition', file), 200);
  const [, groups, ...others] = await all();
  expect(others).toEqual(before.slice(2));
  expect(groups.map(({ updatedAt }: { updatedAt: number }) => updatedAt > before[0].updatedAt)).toEqual([true, false]);
});

test('a file brings no more candidates onto the ballot than an event may have, and may name those that registered besides', async () => {
  const settings = { ...FILE.event, candidate: { selfRegistration: true }, startsAt: Date.now() + 3_600_000 };
  const candidates = Array.from({ length: 1_000 }, (_, at) => ({
    id: `c${at}`,
    name: `C${at}`,
    positionIds: ['chair'],
  }));
  const event = await makeFrom({ ...FILE, event: settings, positions: FILE.positions.slice(0, 1), candidates });
  const [position] = await of(event).show('/positions');
  demand(await account.page(event, 'register/candidate', { name: 'Late', positionIds: [position.id] }), 201);
  await of(event).change('', { startsAt: null });
  const shown = await read(event.id);
  const late = shown.candidates.find(({ name }: { name: string }) => name === 'Late');
  demand(await of(event).put('/definition', shown), 200);
  late.status = 'approved';
  expect(refusalOf(await of(event).put('/definition', shown))).toEqual([422, 'plan_limit']);
});

test('a draft with more candidates than an organizer may have, by registrations that were rejected, is sent back as it is shown', async () => {
  const event = await account.event({}, PLURALITY, false);
  await service.query(
    `INSERT INTO candidates (voting_event_id, id, number, name, position_ids, status, source, sort_order, created_at, updated_at)
     SELECT $1, 'cnd_r_' || n, 100 + n, 'Registrant ' || n, ARRAY[$2], 'rejected', 'registration', 100 + n, 1, 1 FROM generate_series(1, 1000) AS n`,
    [event.id, event.positions[0]?.id],
  );
  const shown = await read(event.id);
  expect(shown.candidates.length).toBeGreaterThan(1_000);
  expect(demand(await of(event).put('/definition', shown), 200)).toEqual(shown);
});
