import { describe, expect, test } from 'vitest';
import { demand, fieldOf, issuesOf, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { finishEvent, type TestEvent, votesFor } from '#test/harness/elections.ts';
import { mailedVoterKey } from '#test/harness/mails.ts';
import { eventually, untilTrue, useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount();
const { get, post, of } = account;

const PLURALITY = { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] };
const create = (title: string, type = 'poll') => account.make('/voting-events', { title, type });

describe('voting events', () => {
  test('have the documented shape and defaults when created with a title and a type', async () => {
    expect(await create('  Board  ', 'election')).toEqual({
      id: expect.stringMatching(/^evt_[0-9a-z]+$/),
      code: expect.stringMatching(/^[0-9A-Za-z]{6,12}$/),
      ...{ title: 'Board', description: null, type: 'election', status: 'draft' },
      ...{ startsAt: null, endsAt: null, timeZone: 'UTC' },
      voter: {
        ...{ requireVoterId: false, selfRegistration: false, approval: 'automatic' },
        ...{ saveVoterInfo: false, pollIdentity: null },
      },
      candidate: { selfRegistration: false },
      ballot: { candidateOrder: 'fixed', opening: 'observer', receipt: 'inclusion' },
      results: { visibility: 'hidden', publishedAt: null },
      log: { open: false },
      ...{ votingPageUrl: null, contactEmail: null, language: 'en', logoUrl: null },
      ...{ copy: null, missedStartAt: null, rehearsal: null, finalAt: null, disputed: false },
      missing: [{ reason: 'no_position', positionId: null, title: null, message: expect.any(String) }],
      payments: { payToVote: null, payToRegisterCandidate: null, repeatVotes: false },
      ...{ paymentBusinessId: null, secrecy: 'secret', disclosure: { everyBallots: 5, waiting: false } },
      ...{ createdAt: expect.any(Number), updatedAt: expect.any(Number) },
    });
  });

  test('open only with a position and a candidate in each, and say what is missing', async () => {
    const event = await create('Empty');
    expect(refusalOf(await of(event).patch('', { status: 'open' }))).toEqual([409, 'not_ready']);
    const { id: positionId } = await of(event).make('/positions', { title: 'Chair', votingMethod: 'plurality' });
    const still = await of(event).patch('', { status: 'open' });
    const missing = [{ reason: 'no_candidate', positionId, title: 'Chair', message: expect.any(String) }];
    expect(still.body.error.details.missing).toEqual(missing);
    expect((await of(event).show('')).missing).toEqual(missing);
  });

  test('open by the clock at startsAt once they are ready, and close at endsAt', async () => {
    const own = of(await account.event({ startsAt: 1_000 }, [PLURALITY], false));
    expect((await own.show('')).status).toBe('open');
    expect((await own.change('', { startsAt: Date.now() + 3_600_000 })).status).toBe('scheduled');
    expect(fieldOf(await own.patch('', { startsAt: 1_000, endsAt: 2_000 }))).toEqual([422, 'endsAt']);
    expect((await own.change('', { startsAt: 1_000, endsAt: Date.now() + 4_000 })).status).toBe('open');
    await untilTrue(async () => (await own.show('')).status === 'closed');
  });

  test('are found by the status that they show, whatever the clock says', async () => {
    const own = await service.account();
    const hour = 3_600_000;
    const times: readonly [startsAt: number | null, endsAt: number | null][] = [
      [null, null],
      [null, 1_000],
      [1_000, null],
      [1_000, 2_000],
      [1_000, Date.now() + hour],
      [Date.now() + hour, null],
      [Date.now() + hour, Date.now() + 2 * hour],
    ];
    for (const [startsAt, endsAt] of times) {
      await own.event({ startsAt, endsAt }, [PLURALITY], false);
      await own.event({ startsAt, endsAt }, [], false);
    }
    const all = await own.show('/voting-events?limit=200');
    const statuses = ['draft', 'scheduled', 'open', 'closed'];
    expect(new Set(valuesOf(all, 'status'))).toEqual(new Set(statuses));
    for (const status of statuses) {
      const found = await own.show(`/voting-events?limit=200&status=${status}`);
      expect(found).toEqual(all.filter((event: { status: string }) => event.status === status));
    }
  });

  test('freeze what ballots depend on once one was cast, and keep their words editable', async () => {
    const event = await account.event();
    await account.votePoll(event, votesFor(event));
    const own = of(event);
    const [
      {
        id: positionId,
        candidates: [ada, bea],
      },
    ] = event.positions as [TestEvent['positions'][0]];
    // What test/api/event-life.test.ts does not ask for at every stage.
    for (const answer of [
      await own.patch(`/positions/${positionId}`, { sortOrder: 7 }),
      await own.patch(`/candidates/${ada}`, { avatarUrl: 'https://pictures.example/a.png' }),
      await own.delete(`/candidates/${bea}`),
      await own.delete(''),
    ])
      expect(refusalOf(answer)).toEqual([409, 'event_has_ballots']);
    await own.change('', { title: 'Renamed' });
    const late = await own.make('/candidates', { name: 'Late', positionIds: [positionId] });
    for (const id of [late.id, ada]) await own.change(`/candidates/${id}`, { status: 'withdrawn' });
    expect(await own.show('/results')).toMatchObject({ title: 'Renamed', positions: [{ winners: [] }] });
    expect((await own.delete('?force=true')).status).toBe(204);
    expect((await own.get('')).status).toBe(404);
  });

  test('are told apart by code whatever its case, and a code is used once', async () => {
    const first = await post('/voting-events', { title: 'One', type: 'poll', code: 'Summer26' });
    expect((await get('/voting-events/sUMMER26')).body.data.id).toBe(first.body.data.id);
    const second = await post('/voting-events', { title: 'Two', type: 'poll', code: 'SUMMER26' });
    expect([second.body.error.code, ...refusalOf(second)]).toEqual(['conflict', 409, 'code_in_use']);
  });

  test('are listed page by page, each once, while others are added and removed', async () => {
    const own = await service.account();
    const ids: string[] = [];
    for (let index = 0; index < 7; index += 1)
      ids.push((await own.make('/voting-events', { title: `Event ${index} 100%`, type: 'poll' })).id);
    const seen: string[] = [];
    let cursor = '';
    for (;;) {
      const page = await own.get(`/voting-events?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...valuesOf(page.body.data, 'id'));
      if (page.body.nextCursor === null) break;
      cursor = page.body.nextCursor;
    }
    expect(seen).toEqual(ids);
    expect(await own.show('/voting-events?search=3%20100%25')).toHaveLength(1);
    expect(await own.show('/voting-events?search=_')).toHaveLength(0);
    expect((await own.get(`/voting-events?limit=3&cursor=${cursor}`)).status).toBe(200);
    expect((await own.get(`/voting-events?type=poll&limit=3&cursor=${cursor}`)).status).toBe(400);
  });
});

describe('positions', async () => {
  const event = await create('Methods');
  const threshold = { numerator: 1, denominator: 2, inclusive: false };

  test.each([
    ['plurality', { minSelections: 1, maxSelections: 1 }],
    ['approval', { minSelections: 0 }],
    ['referendum', { maxSelections: 1, rules: { threshold, turnoutQuorum: null, approvalQuorum: null } }],
    ['score', { scoreMin: 0, scoreMax: 5 }],
    ['cumulative', { cumulativePointBudget: 10 }],
    ['quadratic', { quadraticBaseCreditBudget: 100, quadraticTopUp: null }],
    ['ranked_choice', { minSelections: 1, scoreMin: null, rules: null }],
  ])('of the method %s have its defaults', async (votingMethod, defaults) => {
    const made = await of(event).make('/positions', { title: votingMethod, votingMethod });
    expect(made).toMatchObject({ votingMethod, seats: 1, tieBreak: 'joint', ...defaults });
  });

  test('refuse settings of another method, each by name', async () => {
    const foreign = { title: 'X', votingMethod: 'approval', scoreMax: 5, cumulativePointBudget: 3 };
    const refused = await of(event).post('/positions', foreign);
    expect(refused.status).toBe(422);
    expect(issuesOf(refused)).toEqual(['scoreMax', 'cumulativePointBudget']);
  });

  test('disappear within seconds of a deletion that was answered 202, with the candidates that stood for them alone', async () => {
    const made = await account.event({}, [PLURALITY, PLURALITY], false);
    const gone = made.positions[0];
    expect((await of(made).delete(`/positions/${gone?.id}`)).status).toBe(202);
    expect((await of(made).get(`/positions/${gone?.id}`)).status).toBe(404);
    expect(await of(made).show('/candidates')).toHaveLength(2);
    const left = 'SELECT id FROM positions WHERE voting_event_id = $1';
    await untilTrue(async () => (await service.query(left, [made.id])).length === 1);
  });
});

describe('the ballot', () => {
  const read = async (id: string) => (await account.page({ id }, 'ballot')).body.data;

  test('shows registered candidates once they are approved, with groups and sponsors', async () => {
    const event = await account.event({ candidate: { selfRegistration: true } });
    const { id: groupId } = await of(event).make('/groups', { name: 'North' });
    const sponsor = { name: 'Ink & Co', websiteUrl: 'https://ink.example/', tier: 'Gold' };
    await of(event).make('/sponsors', sponsor);
    const positionIds = [event.positions[0]?.id];
    const { groupId: _, ...row } = { name: 'Neu', positionIds, groupId, avatarUrl: 'https://img.example/neu.png' };
    const registered = demand(await account.page(event, 'register/candidate', { ...row, groupId }), 201);
    expect(registered).toEqual({ ...row, id: expect.stringMatching(/^cnd_/), status: 'pending' });
    expect((await read(event.id)).candidates).toHaveLength(2);
    await of(event).change(`/candidates/${registered.id}`, { status: 'approved' });
    const ballot = await read(event.id);
    expect(ballot.candidates).toHaveLength(3);
    const group = { id: groupId, name: 'North' };
    expect(ballot.candidates.at(-1)).toMatchObject({ name: 'Neu', group, referendumRole: null });
    expect(ballot).toMatchObject({
      votingEventId: event.id,
      positions: [{ votingMethod: 'plurality', group: null, minSelections: 1, maxSelections: 1 }],
      groups: [group],
      sponsors: [{ name: 'Ink & Co', logoUrl: null, websiteUrl: 'https://ink.example/', tier: 'Gold' }],
    });
  });

  test('takes no registration where it is switched off, and none for a position of another event', async () => {
    const off = await account.event();
    const on = await account.event({ candidate: { selfRegistration: true } });
    const register = (id: string, positionIds: unknown) =>
      account.page({ id }, 'register/candidate', { name: 'Neu', positionIds });
    expect(refusalOf(await register(off.id, [off.positions[0]?.id]))).toEqual([403, 'registration_closed']);
    expect(fieldOf(await register(on.id, [off.positions[0]?.id]))).toEqual([422, 'positionIds[0]']);
  });

  test('names a group once in an event, until it is deleted', async () => {
    const event = await account.event({}, [PLURALITY], false);
    const target = `/voting-events/${event.id}/groups`;
    const first = await post(target, { name: 'North' });
    expect((await post(target, { name: ' north ' })).status).toBe(409);
    expect((await account.delete(`${target}/${first.body.data.id}`)).status).toBe(202);
    expect((await post(target, { name: 'North' })).status).toBe(201);
  });
});

describe('voters', async () => {
  const event = await create('Roll', 'election');

  test('are in no group any more once theirs is deleted', async () => {
    const own = of(await create('South', 'election'));
    const { id: groupId } = await own.make('/groups', { name: 'South' });
    const voter = await own.make('/voters', { name: 'Sue', email: 'sue@mail.example', groupId });
    expect(voter.groupId).toBe(groupId);
    expect((await own.delete(`/groups/${groupId}`)).status).toBe(202);
    const found = await eventually(async () => {
      const shown = await own.show(`/voters/${voter.id}`);
      return shown.groupId === null ? shown : undefined;
    });
    expect(found).toEqual({ ...voter, groupId: null, updatedAt: found.updatedAt });
    expect(found.updatedAt).toBeGreaterThan(voter.updatedAt);
  });

  test('come in batches, all or none, and every bad row is named', async () => {
    const vera = await of(event).make('/voters', { name: 'Vera', email: 'vera@mail.example' });
    expect(vera.disputed).toBe(false);
    expect(await of(event).show('/voters')).toEqual([vera]);
    const batch = (...voters: object[]) => of(event).post('/voters/batch', { voters });
    const first = { name: 'A', email: 'a@mail.example' };
    const light = await batch(first, { name: 'B' }, { name: 'C', email: 'c@mail.example', weight: 0.0000001 });
    expect(fieldOf(light)).toEqual([422, 'voters[2].weight']);
    const known = { name: 'V', email: 'VERA@mail.example' };
    const duplicate = await batch(first, known, { name: 'A2', email: 'A@mail.example' });
    expect(duplicate.status).toBe(409);
    expect(issuesOf(duplicate)).toEqual(['voters[1].email', 'voters[2].email']);
    expect(await of(event).show('/voters')).toHaveLength(1);
  });

  test('are unique however many are created at once', async () => {
    const same = { name: 'Same', email: 'same@mail.example' };
    const answers = await Promise.all(Array.from({ length: 16 }, () => of(event).post('/voters', same)));
    expect(answers.map((answer) => answer.status).toSorted()).toEqual([201, ...Array.from({ length: 15 }, () => 409)]);
  });

  test('keep weights to the millionth', async () => {
    const row = { name: 'W', email: 'w@mail.example', weight: 0.000001 };
    expect((await of(event).make('/voters', row)).weight).toBe(0.000001);
  });

  test('register themselves as pending where the event lets them, and are approved by their first key, which is shown with the final result', async () => {
    const made = await account.event({ type: 'election', voter: { selfRegistration: true } }, [PLURALITY]);
    const registered = await account.page(made, 'register/voter', { name: 'Neu', email: 'neu@mail.example' });
    expect([registered.status, registered.body.data.status]).toEqual([201, 'pending']);
    const voterKey = await mailedVoterKey(service, () =>
      account.page(made, 'voter-key/request', { email: 'neu@mail.example' }),
    );
    const check = await account.page(made, 'voter/check', { voterKey, email: 'neu@mail.example' });
    expect(check.body.data).toEqual({ eligible: true });
    const voters = () => of(made).show('/voters');
    // The only one who used a key: until the result is final that would tell who votes.
    expect(await voters()).toMatchObject([{ status: 'pending', keyStatus: 'sent', source: 'registration' }]);
    await finishEvent(service, made.id);
    expect(await voters()).toMatchObject([{ status: 'approved', keyStatus: 'used', source: 'registration' }]);
    const shut = await account.event({ type: 'election' });
    const refused = await account.page(shut, 'register/voter', { name: 'Neu', email: 'neu@mail.example' });
    expect(refusalOf(refused)).toEqual([403, 'registration_closed']);
  });
});
