import { describe, expect, test } from 'vitest';
import { updatePlan } from '#src/accounts/repository.ts';
import { copyRollJob, tagOfCopy } from '#src/voters/copy-event.ts';
import { rollCopies } from '#src/voters/tables.ts';
import { tagOfEvent } from '#src/voting-events/event-tag.ts';
import { COPY_RUNNING } from '#src/voting-events/opening.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { demand, expectFields } from '#test/harness/answers.ts';
import { PLURALITY, type TestEvent } from '#test/harness/elections.ts';
import { holdStatement } from '#test/harness/intercept-statements.ts';
import { connectTestBusiness, usePaidService } from '#test/harness/payments.ts';
import { shareEvent } from '#test/harness/sharing.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';

const { service } = await usePaidService();
const account = await service.account();

const { of } = account;
/** The copy, once its voters are there. */
async function copied({ id }: { readonly id: string }, owner = account) {
  const running = 'SELECT 1 FROM roll_copies WHERE voting_event_id = $1';
  await untilTrue(async () => (await service.query(running, [id])).length === 0);
  return owner.of({ id }).show('');
}

/** Lets a copy have none of its three voters yet. */
async function markRunning(id: string) {
  const copy = await findEventById(service.deps.db, id);
  if (copy === undefined) throw new Error('the copy is there');
  const until = { copyUntil: 'vtr_zzz' };
  const tag = tagOfEvent(service.deps.secrets, { ...copy, ...until });
  await service.query(
    `UPDATE voting_events SET copy_done = 0, copy_total = 3, copy_until = $2, tag = $3, ready = false WHERE id = $1`,
    [id, until.copyUntil, tag],
  );
  service.deps.events.forget(id);
  return until;
}

/** What is the same in a copy: everything but IDs and times. */
function withoutNames(rows: readonly Record<string, unknown>[], names: ReadonlyMap<unknown, string>) {
  return rows.map(
    ({ id: _id, votingEventId: _event, createdAt: _made, updatedAt: _changed, source: _source, ...row }) =>
      JSON.parse(JSON.stringify(row, (_key, value) => names.get(value) ?? value)),
  );
}

/** An election with one of everything. */
async function createFull(owner = account): Promise<TestEvent> {
  const settings = {
    ...{ title: 'First', type: 'election', description: 'As it was', timeZone: 'Europe/Berlin', language: 'de' },
    ...{ votingPageUrl: 'https://vote.example/#{voterKey}', contactEmail: 'board@club.example' },
    voter: { selfRegistration: true, approval: 'manual' },
    ballot: { candidateOrder: 'shuffled', opening: 'public', receipt: 'full' },
    results: { visibility: 'live' },
    log: { open: true },
    logoUrl: 'https://club.example/logo.png',
  };
  const { id, code } = await owner.make('/voting-events', settings);
  const south = (await owner.of({ id }).make('/groups', { name: 'South', description: 'The south' })).id;
  const positions: { id: string; candidates: string[] }[] = [];
  for (const body of [
    { title: 'Chair', votingMethod: 'ranked_choice', seats: 2, sortOrder: 7 },
    { title: 'Marks', votingMethod: 'score', scoreMin: -2, scoreMax: 3, groupId: south },
  ]) {
    const position = (await owner.of({ id }).make('/positions', body)).id;
    positions.push({ id: position, candidates: [] });
  }
  const both = positions.map((position) => position.id);
  for (const [index, name] of ['Ada', 'Bea', 'Cid'].entries()) {
    const body = {
      name,
      positionIds: both.slice(index % 2),
      groupId: index === 0 ? south : null,
      description: `${name}!`,
    };
    await owner.of({ id }).make('/candidates', body);
  }
  await owner.of({ id }).make('/sponsors', { name: 'Library', tier: 'gold', sortOrder: 3 });
  const voters = [
    { name: 'V1', email: 'v1@club.example', groupId: south, weight: 2.5 },
    { name: 'V2', voterId: 'M-2', status: 'rejected' },
    { name: 'V3', email: 'v3@club.example' },
  ];
  await owner.of({ id }).make('/voters/batch', { voters });
  return { id, code, positions };
}

describe('a copy of an event', () => {
  test('is a draft with a new code and the same settings, groups, positions, candidates and sponsors', async () => {
    const source = await createFull();
    await account.page(source, 'register/voter', { name: 'R', email: 'r@club.example' });
    await of(source).change('', { status: 'open', endsAt: Date.now() + 3_600_000 });
    const before = await of(source).show('');
    const copy = await of(source).make('/copy', { title: 'Second', withVoters: false });
    expect(copy).toEqual({
      ...before,
      missing: [],
      ...{ id: copy.id, code: copy.code, title: 'Second', status: 'draft', startsAt: null, endsAt: null, copy: null },
      ...{ createdAt: copy.createdAt, updatedAt: copy.updatedAt },
    });
    expect([copy.id, copy.code]).not.toEqual([before.id, before.code]);
    const names = new Map<unknown, string>();
    for (const what of ['groups', 'positions', 'candidates', 'sponsors']) {
      const [old, own] = [await of(source).show(`/${what}`), await of(copy).show(`/${what}`)];
      old.forEach(({ id }: { id: string }, index: number) => {
        names.set(id, `${what} ${index}`);
        names.set(own[index]?.id, `${what} ${index}`);
      });
      expect(withoutNames(own, names)).toEqual(withoutNames(old, names));
      expect(new Set([...old, ...own].map(({ id }: { id: string }) => id)).size).toBe(old.length * 2);
    }
    expect(await of(copy).show('/voters')).toEqual([]);
    // It lives on its own.
    const more = { name: 'Dan', positionIds: [(await of(copy).show('/positions'))[0].id] };
    await of(copy).make('/candidates', more);
    await of(copy).change('', { status: 'open' });
    expect(await of(source).show('/candidates')).toHaveLength(3);
    const audit = await of(copy).show('/audit?action=voting_event.created');
    expect(audit).toHaveLength(1);
  });

  test('gets the voters in the background, with their groups, and opens once all are there', async () => {
    const source = await createFull();
    const rows = Array.from({ length: 1_100 }, (_, index) => ({ name: `W${index}`, email: `w${index}@club.example` }));
    demand(await of(source).post('/voters/import', { mode: 'all', voters: rows }), 200);
    await of(source).change('', { startsAt: Date.now() + 3_600_000 });
    demand(await account.page(source, 'register/voter', { name: 'R', email: 'r@club.example' }), 201);
    const copy = await of(source).make('/copy', { title: 'Second', withVoters: true });
    expect(copy.copy).toEqual({ total: 1_103, done: 0 });
    const done = await copied(copy);
    expect(done.copy).toEqual({ total: 1_103, done: 1_103 });
    const own = await of(copy).show('/voters?limit=200');
    const [group] = await of(copy).show('/groups');
    expect(own.slice(0, 3)).toMatchObject([
      { name: 'V1', email: 'v1@club.example', groupId: group.id, weight: 2.5, status: 'approved', keyStatus: 'none' },
      { name: 'V2', voterId: 'M-2', status: 'rejected' },
      { name: 'V3', groupId: null },
    ]);
    expect((await of(copy).show('/stats')).voters.total).toBe(1_103);
    // A registrant who waits stays behind.
    expect(await of(copy).show('/voters?search=r@club.example')).toEqual([]);
    await of(copy).change('', { status: 'open' });
  });

  test('gets all voters of an event that is deleted meanwhile, which go once it has them', {
    timeout: 300_000,
  }, async () => {
    const source = await createFull();
    const copy = await of(source).make('/copy', { title: 'Second', withVoters: true });
    await copied(copy);
    const { $client } = service.deps.db;
    // As far as the job has come when the source is deleted: nowhere.
    await $client.query('DELETE FROM voters WHERE voting_event_id = $1', [copy.id]);
    await $client.query('DELETE FROM roll_copies WHERE voting_event_id = $1', [copy.id]);
    const order = { votingEventId: copy.id, sourceId: source.id, groups: [], copiedTo: '', keyId: 'key' };
    const until = await markRunning(copy.id);
    await service.deps.db.insert(rollCopies).values({ ...order, tag: tagOfCopy(service.deps.secrets, order, until) });
    const second = await of(copy).post('/copy', { title: 'Third', withVoters: true });
    expect([second.status, second.body.error.details]).toEqual([
      ...[409, { reason: 'not_ready', missing: [COPY_RUNNING] }],
    ]);
    expect((await of(source).delete('')).status).toBe(204);
    // The deletion looks first, and waits.
    await eventually(async () => {
      const waiting = await $client.query(
        "SELECT 1 FROM jobs WHERE name = 'remove_deleted_event' AND run_at > now_ms() AND attempts = 0",
      );
      return waiting.rows.length > 0 ? true : undefined;
    });
    await copyRollJob(service.deps).work({ eventId: copy.id }, { id: '1', attempt: 1, last: false });
    expect((await copied(copy)).copy).toEqual({ total: 3, done: 3 });
    expect((await of(copy).show('/stats')).voters.total).toBe(3);
    await eventually(async () => {
      const left = await $client.query('SELECT 1 FROM voting_events WHERE id = $1', [source.id]);
      return left.rows.length === 0 ? true : undefined;
    });
  });

  test('does not open before its voters are there, by hand or by the clock', async () => {
    const source = await createFull();
    const copy = await of(source).make('/copy', { title: 'Second', withVoters: true });
    await copied(copy);
    await markRunning(copy.id);
    const refused = await of(copy).patch('', { status: 'open' });
    expect([refused.status, refused.body.error.details]).toEqual([
      ...[409, { reason: 'not_ready', missing: [COPY_RUNNING] }],
    ]);
    // Another change judges again whether it could open.
    const [position] = await of(copy).show('/positions');
    await of(copy).change(`/positions/${position.id}`, { title: 'Head' });
    await of(copy).change('', { startsAt: Date.now() - 1_000 });
    expect(await of(copy).show('')).toMatchObject({ status: 'draft', missing: [COPY_RUNNING] });
  });

  test('takes prices and their business along within one account alone', async () => {
    const poll = await account.event({}, [{ votingMethod: 'plurality', candidates: ['A', 'B'] }], false);
    const business = await connectTestBusiness(service, account, 'provider_a');
    demand(await of(poll).put('/payment-business', { paymentBusinessId: business.id }), 200);
    const payments = { payToVote: { amountMinor: 500, currency: 'usd' }, repeatVotes: true };
    await of(poll).change('', { payments });
    const own = await of(poll).make('/copy', { title: 'Mine', withVoters: false });
    expect(own).toMatchObject({ payments, paymentBusinessId: business.id });
    const guest = await service.account();
    await shareEvent(service, account, poll, guest, 'editor');
    const theirs = await guest.of(poll).make('/copy', { title: 'Theirs', withVoters: false });
    expect(theirs).toMatchObject({
      ...{ payments: { payToVote: null, payToRegisterCandidate: null, repeatVotes: false }, paymentBusinessId: null },
      copy: null,
    });
    expect((await of(theirs).get('')).status).toBe(404);
    expect((await guest.of(theirs).get('')).status).toBe(200);
  });

  // An editor copied the roll into an own account, and kept it after the removal.
  test('with voters stays with the owner, whoever makes it, and is shared with the editor who did', async () => {
    const source = await createFull();
    const named = { name: 'Cleo', email: 'cleo@club.example', positionIds: [source.positions[0]?.id] };
    await of(source).make('/candidates', named);
    const [editor, viewer] = [await service.account(), await service.account()];
    await shareEvent(service, account, source, editor, 'editor');
    await shareEvent(service, account, source, viewer, 'viewer');
    const ask = (by: typeof editor, withVoters: boolean) =>
      by.of(source).post('/copy', { title: 'A copy', withVoters });
    const refused = await ask(viewer, true);
    expect([refused.status, refused.body.error.details.reason]).toEqual([403, 'role']);
    const copy = demand(await ask(editor, true), 201);
    await copied(copy);
    expect(await of(copy).show('/voters')).not.toEqual([]);
    expect(await editor.of(copy).show('/voters')).not.toEqual([]);
    const [invite, ...others] = await of(copy).show('/invites');
    expect([invite.status, invite.role, others]).toEqual(['accepted', 'editor', []]);
    expect((await of(copy).delete(`/invites/${invite.id}`)).status).toBe(204);
    expect((await editor.of(copy).get('')).status).toBe(404);
    // Without voters it is the editor's own, and nobody's address comes along.
    const own = demand(await ask(editor, false), 201);
    expect((await of(own).get('')).status).toBe(404);
    const names = await editor.of(own).show('/candidates');
    expect(names).toContainEqual(expect.objectContaining({ name: 'Cleo' }));
    expect(names.filter(({ email }: { email: string | null }) => email !== null)).toEqual([]);
  });

  test('keeps to the plan of the account that gets it, and leaves nothing where that is full', async () => {
    const source = await createFull();
    const rows = Array.from({ length: 101 }, (_, index) => ({ name: `W${index}`, email: `w${index}@club.example` }));
    demand(await of(source).post('/voters/import', { mode: 'all', voters: rows }), 200);
    const free = await service.account('free');
    await shareEvent(service, account, source, free, 'editor');
    for (let count = 0; count < 3; count += 1) await free.of(source).make('/copy', { title: 'One', withVoters: false });
    const full = await free.of(source).post('/copy', { title: 'Full', withVoters: false });
    expect([full.status, full.body.error.details]).toEqual([422, { limit: 'voting_events', max: 3 }]);
    const left = await service.query('SELECT count(*)::int AS events FROM voting_events WHERE account_id = $1', [
      free.id,
    ]);
    expect(left).toEqual([{ events: 3 }]);
  });

  test.each(['the owner', 'an editor'] as const)(
    'by %s takes no more voters along than the plan of its owner allows, and leaves nothing where they are too many',
    async (by) => {
      const [owner, editor] = [await service.account('pro'), await service.account()];
      const source = await owner.event({ type: 'election' }, PLURALITY, false);
      const rows = Array.from({ length: 101 }, (_, index) => ({ name: `P${index}`, email: `p${index}@club.example` }));
      demand(await owner.of(source).post('/voters/import', { mode: 'all', voters: rows }), 200);
      await shareEvent(service, owner, source, editor, 'editor');
      const caller = by === 'the owner' ? owner : editor;
      const copy = (withVoters: boolean) => caller.of(source).post('/copy', { title: 'Copy', withVoters });
      const full = demand(await copy(true), 201);
      expect((await copied(full, caller)).copy).toEqual({ total: 101, done: 101 });
      await updatePlan(service.deps.db, owner.id, 'free');
      service.deps.authenticator.forgetAccount(owner.id);
      const refused = await copy(true);
      expect([refused.status, refused.body.error?.details]).toEqual([422, { limit: 'voters_per_event', max: 100 }]);
      const left = await service.query('SELECT count(*)::int AS events FROM voting_events WHERE account_id = $1', [
        owner.id,
      ]);
      expect(left).toEqual([{ events: 2 }]);
      demand(await copy(false), 201);
    },
  );
});

// Completions 10.4: `copy` says how many voters there are, and how many have come.
test('a copy that a smaller plan keeps from its voters shows that they are missing, and goes on without them', async () => {
  const owner = await service.account('pro');
  const source = await owner.event({ type: 'election' }, PLURALITY, false);
  const rows = Array.from({ length: 101 }, (_, index) => ({ name: `P${index}`, email: `p${index}@club.example` }));
  demand(await owner.of(source).post('/voters/import', { mode: 'all', voters: rows }), 200);
  const job = holdStatement(/from "roll_copies"/);
  try {
    const copy = await owner.of(source).make('/copy', { title: 'Copy', withVoters: true });
    await job.reached;
    await updatePlan(service.deps.db, owner.id, 'free');
    service.deps.authenticator.forgetAccount(owner.id);
    job.free();
    expect(await copied(copy, owner)).toMatchObject({ copy: { total: 101, done: 0 }, missing: [] });
    await owner.of(copy).make('/voters', { name: 'V', email: 'v@club.example' });
    await owner.of(copy).change('', { status: 'open' });
  } finally {
    job.restore();
  }
});

test('the route of copies refuses what is not its own, and answers a repeat with the first copy', async () => {
  const source = await createFull();
  const path = `/voting-events/${source.id}/copy`;
  const good = { title: 'X', withVoters: false };
  await expectFields(account, path, [
    [{}, 'title'],
    [{ title: 'X' }, 'withVoters'],
    [{ title: '', withVoters: false }, 'title'],
    [{ title: 'X', withVoters: 'yes' }, 'withVoters'],
    [{ ...good, code: 'CODE2026' }, 'code'],
  ]);
  const ask = () => account.post(path, good, { 'Idempotency-Key': source.id });
  const [first, second] = await Promise.all([ask(), ask()]);
  const repeated = await ask();
  expect([first.status, second.status].filter((status) => status === 201).length).toBeGreaterThan(0);
  expect(repeated.headers.get('idempotent-replayed')).toBe('true');
});
