import { beforeAll, describe, expect, test } from 'vitest';
import { fieldOf, finishEvent, issuesOf, refusalOf } from '#test/harness/elections.ts';
import { mailedVoterKey } from '#test/harness/mails.ts';
import { eventually, type TestAccount, untilTrue, useService } from '#test/harness/test-service.ts';

let account: TestAccount;

const service = await useService();

const get = (target: string, key = account.read) => service.call('GET', target, undefined, { key });
const post = (target: string, body: unknown, key = account.write) => service.call('POST', target, body, { key });
const patch = (target: string, body: unknown) => account.patch(target, body);
const remove = (target: string) => account.delete(target);

const PLURALITY = { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] };

describe('voting events', () => {
  beforeAll(async () => {
    account = await service.account();
  });

  test('have the documented shape and defaults when created with a title and a type', async () => {
    const { status, body } = await post('/voting-events', { title: '  Board  ', type: 'election' });
    expect(status).toBe(201);
    expect(body.data).toEqual({
      id: expect.stringMatching(/^evt_[0-9a-z]+$/),
      code: expect.stringMatching(/^[0-9A-Za-z]{6,12}$/),
      title: 'Board',
      description: null,
      type: 'election',
      status: 'draft',
      startsAt: null,
      endsAt: null,
      timeZone: 'UTC',
      voter: {
        requireVoterId: false,
        selfRegistration: false,
        approval: 'automatic',
        saveVoterInfo: false,
        pollIdentity: null,
      },
      candidate: { selfRegistration: false },
      ballot: { candidateOrder: 'fixed', opening: 'observer', receipt: 'inclusion' },
      results: { visibility: 'hidden', publishedAt: null },
      log: { open: false },
      ...{
        votingPageUrl: null,
        contactEmail: null,
        language: 'en',
        logoUrl: null,
        copy: null,
        missedStartAt: null,
        rehearsal: null,
      },
      missing: [{ reason: 'no_position', positionId: null, title: null, message: expect.any(String) }],
      finalAt: null,
      disputed: false,
      payments: { payToVote: null, payToRegisterCandidate: null, repeatVotes: false },
      paymentBusinessId: null,
      secrecy: 'secret',
      disclosure: { everyBallots: 5, waiting: false },
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
    });
  });

  test('open only with a position and a candidate in each, and say what is missing', async () => {
    const { body } = await post('/voting-events', { title: 'Empty', type: 'poll' });
    expect(refusalOf(await patch(`/voting-events/${body.data.id}`, { status: 'open' }))).toEqual([409, 'not_ready']);
    const chair = { title: 'Chair', votingMethod: 'plurality' };
    const position = await post(`/voting-events/${body.data.id}/positions`, chair);
    const still = await patch(`/voting-events/${body.data.id}`, { status: 'open' });
    const missing = [
      { reason: 'no_candidate', positionId: position.body.data.id, title: 'Chair', message: expect.any(String) },
    ];
    expect(still.body.error.details.missing).toEqual(missing);
    expect((await get(`/voting-events/${body.data.id}`)).body.data.missing).toEqual(missing);
  });

  test('open by the clock at startsAt once they are ready, and close at endsAt', async () => {
    const event = await account.event({ startsAt: 1_000 }, [PLURALITY], false);
    expect((await get(`/voting-events/${event.id}`)).body.data.status).toBe('open');
    const later = await patch(`/voting-events/${event.id}`, { startsAt: Date.now() + 3_600_000 });
    expect(later.body.data.status).toBe('scheduled');
    expect(fieldOf(await patch(`/voting-events/${event.id}`, { startsAt: 1_000, endsAt: 2_000 }))).toEqual([
      422,
      'endsAt',
    ]);
    const soon = await patch(`/voting-events/${event.id}`, { startsAt: 1_000, endsAt: Date.now() + 400 });
    expect(soon.body.data.status).toBe('open');
    await untilTrue(async () => (await get(`/voting-events/${event.id}`)).body.data.status === 'closed');
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
    const all = (await get('/voting-events?limit=200', own.read)).body.data;
    expect(new Set(all.map((event: { status: string }) => event.status))).toEqual(
      new Set(['draft', 'scheduled', 'open', 'closed']),
    );
    for (const status of ['draft', 'scheduled', 'open', 'closed']) {
      const found = (await get(`/voting-events?limit=200&status=${status}`, own.read)).body.data;
      expect(found).toEqual(all.filter((event: { status: string }) => event.status === status));
    }
  });

  test('freeze what ballots depend on once one was cast, and keep their words editable', async () => {
    const event = await account.event();
    const position = event.positions[0];
    await account.votePoll(event, [{ positionId: position?.id, candidateId: position?.candidates[0] }]);
    const base = `/voting-events/${event.id}`;
    for (const answer of [
      await patch(base, { voter: { requireVoterId: true } }),
      await patch(`${base}/positions/${position?.id}`, { seats: 2 }),
      await patch(`${base}/positions/${position?.id}`, { title: 'Renamed' }),
      await patch(`${base}/positions/${position?.id}`, { sortOrder: 7 }),
      await patch(`${base}/candidates/${position?.candidates[0]}`, { name: 'Renamed' }),
      await patch(`${base}/candidates/${position?.candidates[0]}`, { avatarUrl: 'https://pictures.example/a.png' }),
      await post(`${base}/positions`, { title: 'New', votingMethod: 'approval' }),
      await patch(`${base}/candidates/${position?.candidates[0]}`, { status: 'rejected' }),
      await remove(`${base}/candidates/${position?.candidates[1]}`),
      await remove(base),
    ])
      expect(refusalOf(answer)).toEqual([409, 'event_has_ballots']);
    expect((await patch(base, { title: 'Renamed' })).status).toBe(200);
    expect((await patch(`${base}/positions/${position?.id}`, { description: 'At length' })).status).toBe(200);
    const late = await post(`${base}/candidates`, { name: 'Late', positionIds: [position?.id] });
    expect([
      late.status,
      (await patch(`${base}/candidates/${late.body.data.id}`, { status: 'withdrawn' })).status,
    ]).toEqual([201, 200]);
    expect((await patch(`${base}/candidates/${position?.candidates[0]}`, { status: 'withdrawn' })).status).toBe(200);
    const results = await get(`${base}/results`);
    expect(results.body.data).toMatchObject({ title: 'Renamed', positions: [{ winners: [] }] });
    expect((await remove(`${base}?force=true`)).status).toBe(204);
    expect((await get(base)).status).toBe(404);
  });

  test('are told apart by code whatever its case, and a code is used once', async () => {
    const first = await post('/voting-events', { title: 'One', type: 'poll', code: 'Summer26' });
    expect((await get('/voting-events/sUMMER26')).body.data.id).toBe(first.body.data.id);
    const second = await post('/voting-events', { title: 'Two', type: 'poll', code: 'SUMMER26' });
    expect([second.status, second.body.error.code, ...refusalOf(second)]).toEqual([
      409,
      'conflict',
      409,
      'code_in_use',
    ]);
  });

  test('are listed page by page, each once, while others are added and removed', async () => {
    const own = await service.account();
    const ids: string[] = [];
    for (let index = 0; index < 7; index += 1)
      ids.push((await post('/voting-events', { title: `Event ${index} 100%`, type: 'poll' }, own.write)).body.data.id);
    const seen: string[] = [];
    let cursor = '';
    for (;;) {
      const page = await get(`/voting-events?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`, own.read);
      seen.push(...page.body.data.map((event: { id: string }) => event.id));
      if (page.body.nextCursor === null) break;
      cursor = page.body.nextCursor;
    }
    expect(seen).toEqual(ids);
    expect((await get('/voting-events?search=3%20100%25', own.read)).body.data).toHaveLength(1);
    expect((await get('/voting-events?search=_', own.read)).body.data).toHaveLength(0);
    expect((await get(`/voting-events?limit=3&cursor=${cursor}`, own.read)).status).toBe(200);
    expect((await get(`/voting-events?type=poll&limit=3&cursor=${cursor}`, own.read)).status).toBe(400);
  });

  test('stay within the plan however many are created at once', async () => {
    const free = await service.account('free');
    const many = { title: 'Many', type: 'poll' };
    const other = await service.another();
    try {
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          (index % 2 === 0 ? service : other).call('POST', '/voting-events', many, { key: free.write }),
        ),
      );
      expect(answers.filter((answer) => answer.status === 201)).toHaveLength(3);
      const refused = answers.find((answer) => answer.status !== 201);
      expect([refused?.status, refused?.body.error.details]).toEqual([422, { limit: 'voting_events', max: 3 }]);
    } finally {
      await other.stop();
    }
  });
});

describe('positions', () => {
  let event: string;
  beforeAll(async () => {
    account = await service.account();
    event = (await post('/voting-events', { title: 'Methods', type: 'poll' })).body.data.id;
  });

  test.each([
    ['plurality', { minSelections: 1, maxSelections: 1 }],
    ['approval', { minSelections: 0 }],
    [
      'referendum',
      {
        maxSelections: 1,
        rules: {
          threshold: { numerator: 1, denominator: 2, inclusive: false },
          turnoutQuorum: null,
          approvalQuorum: null,
        },
      },
    ],
    ['score', { scoreMin: 0, scoreMax: 5 }],
    ['cumulative', { cumulativePointBudget: 10 }],
    ['quadratic', { quadraticBaseCreditBudget: 100, quadraticTopUp: null }],
    ['ranked_choice', { minSelections: 1, scoreMin: null, rules: null }],
  ])('of the method %s have its defaults', async (votingMethod, defaults) => {
    const { status, body } = await post(`/voting-events/${event}/positions`, { title: votingMethod, votingMethod });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({ votingMethod, seats: 1, tieBreak: 'joint', ...defaults });
  });

  test('refuse settings of another method, each by name', async () => {
    const { status, body } = await post(`/voting-events/${event}/positions`, {
      title: 'X',
      votingMethod: 'approval',
      scoreMax: 5,
      cumulativePointBudget: 3,
    });
    expect(status).toBe(422);
    expect(body.error.details.issues.map((issue: { field: string }) => issue.field)).toEqual([
      'scoreMax',
      'cumulativePointBudget',
    ]);
  });

  test('disappear within seconds of a deletion that was answered 202, with the candidates that stood for them alone', async () => {
    const made = await account.event({}, [PLURALITY, PLURALITY], false);
    const gone = made.positions[0];
    expect((await remove(`/voting-events/${made.id}/positions/${gone?.id}`)).status).toBe(202);
    expect((await get(`/voting-events/${made.id}/positions/${gone?.id}`)).status).toBe(404);
    expect((await get(`/voting-events/${made.id}/candidates`)).body.data).toHaveLength(2);
    const left = await eventually(async () => {
      const rows = await service.query('SELECT id FROM positions WHERE voting_event_id = $1', [made.id]);
      return rows.length === 1 ? rows : undefined;
    });
    expect(left).toHaveLength(1);
  });
});

describe('the ballot', () => {
  beforeAll(async () => {
    account = await service.account();
  });
  const read = async (id: string) => (await account.page({ id }, 'ballot')).body.data;

  test('shows registered candidates once they are approved, with groups and sponsors', async () => {
    const event = await account.event({ candidate: { selfRegistration: true } });
    const group = await post(`/voting-events/${event.id}/groups`, { name: 'North' });
    const sponsor = { name: 'Ink & Co', websiteUrl: 'https://ink.example/', tier: 'Gold' };
    await post(`/voting-events/${event.id}/sponsors`, sponsor);
    const positionIds = [event.positions[0]?.id];
    const row = { name: 'Neu', positionIds, groupId: group.body.data.id, avatarUrl: 'https://img.example/neu.png' };
    const registered = await account.page(event, 'register/candidate', row);
    expect([registered.status, registered.body.data]).toEqual([
      201,
      {
        ...{ id: expect.stringMatching(/^cnd_/), positionIds, status: 'pending' },
        name: 'Neu',
        avatarUrl: row.avatarUrl,
      },
    ]);
    expect((await read(event.id)).candidates).toHaveLength(2);
    await patch(`/voting-events/${event.id}/candidates/${registered.body.data.id}`, { status: 'approved' });
    const ballot = await read(event.id);
    expect(ballot.candidates).toHaveLength(3);
    expect(ballot.candidates.at(-1)).toMatchObject({
      name: 'Neu',
      group: { id: group.body.data.id, name: 'North' },
      referendumRole: null,
    });
    expect(ballot).toMatchObject({
      votingEventId: event.id,
      positions: [{ votingMethod: 'plurality', group: null, minSelections: 1, maxSelections: 1 }],
      groups: [{ id: group.body.data.id, name: 'North' }],
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
    expect((await remove(`${target}/${first.body.data.id}`)).status).toBe(202);
    expect((await post(target, { name: 'North' })).status).toBe(201);
  });
});

describe('voters', () => {
  let event: string;
  beforeAll(async () => {
    account = await service.account();
    event = (await post('/voting-events', { title: 'Roll', type: 'election' })).body.data.id;
  });

  test('are in no group any more once theirs is deleted', async () => {
    const own = (await post('/voting-events', { title: 'South', type: 'election' })).body.data.id;
    const group = (await post(`/voting-events/${own}/groups`, { name: 'South' })).body.data.id;
    const row = { name: 'Sue', email: 'sue@mail.example', groupId: group };
    const voter = (await post(`/voting-events/${own}/voters`, row)).body.data;
    expect(voter.groupId).toBe(group);
    expect((await remove(`/voting-events/${own}/groups/${group}`)).status).toBe(202);
    const found = await eventually(async () => {
      const { data } = (await get(`/voting-events/${own}/voters/${voter.id}`)).body;
      return data.groupId === null ? data : undefined;
    });
    expect(found).toEqual({ ...voter, groupId: null });
  });

  test('come in batches, all or none, and every bad row is named', async () => {
    const target = `/voting-events/${event}/voters`;
    const vera = await post(target, { name: 'Vera', email: 'vera@mail.example' });
    expect([vera.status, vera.body.data.disputed]).toEqual([201, false]);
    expect((await get(target)).body.data).toEqual([vera.body.data]);
    expect(
      fieldOf(
        await post(`${target}/batch`, {
          voters: [
            { name: 'A', email: 'a@mail.example' },
            { name: 'B' },
            { name: 'C', email: 'c@mail.example', weight: 0.0000001 },
          ],
        }),
      ),
    ).toEqual([422, 'voters[2].weight']);
    const duplicate = await post(`${target}/batch`, {
      voters: [
        { name: 'A', email: 'a@mail.example' },
        { name: 'V', email: 'VERA@mail.example' },
        { name: 'A2', email: 'A@mail.example' },
      ],
    });
    expect(duplicate.status).toBe(409);
    expect(issuesOf(duplicate)).toEqual(['voters[1].email', 'voters[2].email']);
    expect((await get(target)).body.data).toHaveLength(1);
  });

  test('are unique however many are created at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 16 }, () =>
        post(`/voting-events/${event}/voters`, { name: 'Same', email: 'same@mail.example' }),
      ),
    );
    expect(answers.map((answer) => answer.status).toSorted()).toEqual([201, ...Array.from({ length: 15 }, () => 409)]);
  });

  test('keep weights to the millionth', async () => {
    const row = { name: 'W', email: 'w@mail.example', weight: 0.000001 };
    expect((await account.make(`/voting-events/${event}/voters`, row)).weight).toBe(0.000001);
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
    const voters = async () => (await get(`/voting-events/${made.id}/voters`)).body.data;
    // The only one who used a key: until the result is final that would tell who votes.
    expect(await voters()).toMatchObject([{ status: 'pending', keyStatus: 'sent', source: 'registration' }]);
    await finishEvent(service, made.id);
    expect(await voters()).toMatchObject([{ status: 'approved', keyStatus: 'used', source: 'registration' }]);
    expect(
      refusalOf(
        await service.call(
          'POST',
          `/public/voting-events/${(await account.event({ type: 'election' })).id}/register/voter`,
          { name: 'Neu', email: 'neu@mail.example' },
          { key: account.vote },
        ),
      ),
    ).toEqual([403, 'registration_closed']);
  });
});

describe('another account', () => {
  test('gets the answer of an unknown ID for every event, byte for byte but the request ID', async () => {
    account = await service.account();
    const stranger = await service.account();
    const event = await account.event();
    const targets = ['', '/positions', '/candidates', '/groups', '/sponsors', '/voters', '/results'];
    for (const target of targets) {
      const theirs = await get(`/voting-events/${event.id}${target}`, stranger.read);
      const unknown = await get(`/voting-events/evt_unknown${target}`, stranger.read);
      expect(theirs.status).toBe(404);
      expect({ ...theirs.body.error, requestId: '' }).toEqual({ ...unknown.body.error, requestId: '' });
    }
  });
});
