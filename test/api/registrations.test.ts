import { describe, expect, test, vi } from 'vitest';
import { expireRegistrations } from '#src/voters/expire-registrations.ts';
import { demand, fieldOf, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { PLURALITY, type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { ageRegistrations } from '#test/harness/genuine-rows.ts';
import { eventually, type TestAccount, type TestAnswer, untilTrue, useService } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

const service = await useService();
// The smallest plan is filled soonest; its rate of requests is not what is tried here.
const rates = { organizerRequestsPerMinute: 60_000, voteRequestsPerMinute: 60_000 };
Object.assign(service.deps.plans.free, { votingEvents: 100, ...rates });
const account = await service.account('free');

/** An election in which voters and candidates register themselves. */
const createOpenElection = (owner: TestAccount, voter: object = {}): Promise<TestEvent> =>
  owner.event({ type: 'election', voter: { selfRegistration: true, ...voter }, candidate: { selfRegistration: true } });

const register = (owner: TestAccount, event: TestEvent, email: string): Promise<TestAnswer> =>
  owner.page(event, 'register/voter', { name: 'Reg', email });

/** Puts voters on the roll as the service would, without asking it a hundred times. */
async function fillVoters(event: TestEvent, source: 'organizer' | 'registration', count: number): Promise<void> {
  const registered = source === 'registration';
  await service.query(
    `INSERT INTO voters (voting_event_id, id, name, voter_id, voter_id_key, weight_micro, status, source, key_status, created_at, updated_at)
     SELECT $1, 'vtr_' || $2::text || n, 'V', $2::text || n, $2::text || n, 1000000, $3, $2::text, 'none', 0, 0 FROM generate_series(1, $4::int) AS n`,
    [event.id, source, registered ? 'pending' : 'approved', count],
  );
}

async function fillCandidates(event: TestEvent, source: 'organizer' | 'registration', count: number): Promise<void> {
  await service.query(
    `INSERT INTO candidates SELECT (jsonb_populate_record(one, jsonb_build_object('id', 'fill_' || $2::text || n,
       'number', (CASE $2::text WHEN 'organizer' THEN 10000 ELSE 20000 END) + n, 'source', $2::text,
       'status', CASE $2::text WHEN 'organizer' THEN 'approved' ELSE 'pending' END))).*
     FROM candidates AS one, generate_series(1, $3::int) AS n
     WHERE one.voting_event_id = $1 AND one.id = (SELECT min(id) FROM candidates WHERE voting_event_id = $1)`,
    [event.id, source, count],
  );
}

/** What an answer is refused for: its status, its code, and the limit with its figure. */
const limitOf = ({ status, body: { error } }: TestAnswer): string =>
  [status, error?.code, error?.details?.limit, error?.details?.max].join(' ');

describe('the ceiling of registrations', () => {
  test('lets the organizer add voters while registrations fill it, and registrants come while the roll is full', async () => {
    const event = await createOpenElection(account);
    await fillVoters(event, 'registration', 99);
    demand(await register(account, event, 'last@club.example'), 201);
    const late = await register(account, event, 'late@club.example');
    expect(limitOf(late)).toBe('422 plan_limit voter_registrations_per_event 100');
    await fillVoters(event, 'organizer', 99);
    const add = (voterId: string) => account.post(`/voting-events/${event.id}/voters`, { name: 'V', voterId });
    demand(await add('own'), 201);
    expect(limitOf(await add('more'))).toBe('422 plan_limit voters_per_event 100');
  });

  test('is left by a rejected voter, and asked for again by one that is approved after all', async () => {
    const event = await createOpenElection(account);
    await fillVoters(event, 'registration', 99);
    const path = `/voting-events/${event.id}/voters`;
    const set = (id: string, status: string) => account.patch(`${path}/${id}`, { status });
    const { id } = demand(await register(account, event, 'first@club.example'), 201);
    demand(await set(id, 'rejected'), 200);
    demand(await set(id, 'rejected'), 200);
    const second = demand(await register(account, event, 'second@club.example'), 201);
    expect(limitOf(await set(id, 'approved'))).toBe('422 plan_limit voter_registrations_per_event 100');
    expect((await account.delete(`${path}/${second.id}`)).status).toBe(202);
    demand(await set(id, 'approved'), 200);
    expect((await register(account, event, 'third@club.example')).status).toBe(422);
    const rows = await service.query(
      'SELECT total::int AS voters, registration::int AS registrations FROM voter_places($1)',
      [event.id],
    );
    expect(rows).toEqual([{ voters: 100, registrations: 100 }]);
  });

  test('of candidates leaves the cap to those of the organizer, and is left by a rejected one', async () => {
    const owner = await service.account();
    const event = await createOpenElection(owner);
    const positionIds = [event.positions[0]?.id];
    const registerOne = () => owner.page(event, 'register/candidate', { name: 'C', positionIds });
    const create = () => owner.post(`/voting-events/${event.id}/candidates`, { name: 'C', positionIds });
    const set = (id: string, status: string) => owner.patch(`/voting-events/${event.id}/candidates/${id}`, { status });
    await fillCandidates(event, 'registration', 999);
    const { id } = demand(await registerOne(), 201);
    const full = '422 plan_limit candidate_registrations_per_event 1000';
    expect(limitOf(await registerOne())).toBe(full);
    demand(await create(), 201);
    demand(await set(id, 'rejected'), 200);
    demand(await registerOne(), 201);
    expect(limitOf(await set(id, 'approved'))).toBe(full);
    await fillCandidates(event, 'organizer', 997);
    expect(limitOf(await create())).toBe('422 plan_limit candidates_per_event 1000');
  });

  test.each(['pending', 'rejected'] as const)(
    'of candidates puts nobody on a full ballot: from %s, and for the organizer, no more than 1,000 stand on it',
    async (from) => {
      const owner = await service.account();
      const event = await createOpenElection(owner);
      const positionIds = [event.positions[0]?.id];
      const path = `/voting-events/${event.id}/candidates`;
      const set = (id: string, status: string) => owner.patch(`${path}/${id}`, { status });
      const create = (status: string) => owner.post(path, { name: 'C', positionIds, status });
      const register = async () => {
        const body = { name: 'C', positionIds };
        const { id } = demand(await owner.page(event, 'register/candidate', body), 201);
        if (from === 'rejected') demand(await set(id, 'rejected'), 200);
        return id;
      };
      const full = '422 plan_limit candidates_per_event 1000';
      // One stands already, by the event itself.
      const standing = (await owner.show(path)).length;
      await fillCandidates(event, 'registration', 500);
      await service.query(
        "UPDATE candidates SET status = 'approved' WHERE voting_event_id = $1 AND source = 'registration'",
        [event.id],
      );
      const [first, second] = [await register(), await register()];
      await fillCandidates(event, 'organizer', 500 - standing - 1);
      demand(await set(first, 'approved'), 200);
      expect(limitOf(await set(second, 'approved'))).toBe(full);
      expect(limitOf(await set(second, 'withdrawn'))).toBe(full);
      expect(limitOf(await create('approved'))).toBe(full);
      const { id } = demand(await create('pending'), 201);
      expect(limitOf(await set(id, 'approved'))).toBe(full);
      // Who is withdrawn keeps the place, and may come back to it.
      demand(await set(first, 'withdrawn'), 200);
      expect(limitOf(await set(second, 'approved'))).toBe(full);
      demand(await set(first, 'approved'), 200);
      demand(await set(first, 'rejected'), 200);
      demand(await set(second, 'approved'), 200);
      const ballot = await owner.page(event, 'ballot');
      expect(demand(ballot, 200).candidates).toHaveLength(1_000);
    },
  );
});

describe('a change of many rows', () => {
  const bulk = (event: TestEvent, kind: string, body: object) => account.of(event).post(`/${kind}/bulk`, body);
  const statuses = async (event: TestEvent, kind: string): Promise<string[]> =>
    (await account.show(`/voting-events/${event.id}/${kind}`)).map(({ status }: { status: string }) => status);

  test('rejects registered voters and frees their places, and deletes voters', async () => {
    const event = await createOpenElection(account);
    await fillVoters(event, 'registration', 98);
    const { id: one } = demand(await register(account, event, 'one@club.example'), 201);
    const { id: two } = demand(await register(account, event, 'two@club.example'), 201);
    expect((await register(account, event, 'three@club.example')).status).toBe(422);
    const voterIds = [one, two];
    const rejected = demand(await bulk(event, 'voters', { action: 'reject', voterIds }), 200);
    expect(rejected).toEqual({ action: 'reject', changed: 2 });
    expect(demand(await bulk(event, 'voters', { action: 'reject', voterIds }), 200).changed).toBe(0);
    const three = demand(await register(account, event, 'three@club.example'), 201).id;
    demand(await register(account, event, 'four@club.example'), 201);
    expect((await register(account, event, 'five@club.example')).status).toBe(422);
    const gone = { action: 'delete', voterIds: [one, three] };
    expect(demand(await bulk(event, 'voters', gone), 200).changed).toBe(2);
    demand(await register(account, event, 'five@club.example'), 201);
    expect((await register(account, event, 'six@club.example')).status).toBe(422);
    const rows = await service.query(
      `SELECT p.total::int AS counted, (p.total - p.organizer - p.registration)::int AS rejected, e.roll_changes AS changes,
         (SELECT count(*)::int FROM voters WHERE voting_event_id = $1 AND deleted_at IS NULL) AS voters
       FROM voting_events e, voter_places(e.id) AS p WHERE e.id = $1`,
      [event.id],
    );
    expect(rows).toEqual([{ counted: 101, rejected: 1, changes: 4, voters: 101 }]);
  });

  test('of voters is refused as a whole where one of them voted, is unknown, or is named twice', async () => {
    const event = await createOpenElection(account);
    const { id: one } = demand(await register(account, event, 'one@club.example'), 201);
    const { id: two } = demand(await register(account, event, 'two@club.example'), 201);
    await service.query('INSERT INTO participation (voting_event_id, participant) VALUES ($1, $2)', [event.id, two]);
    for (const action of ['reject', 'delete']) {
      const ask = (...voterIds: string[]) => bulk(event, 'voters', { action, voterIds });
      expect(refusalOf(await ask(one, two))).toEqual([409, 'event_has_ballots']);
      for (const other of ['vtr_nobody', one]) expect(fieldOf(await ask(one, other))).toEqual([422, 'voterIds[1]']);
    }
    expect(await statuses(event, 'voters')).toEqual(['pending', 'pending']);
    await account.patch(`/voting-events/${event.id}`, { status: 'closed' });
    const late = await bulk(event, 'voters', { action: 'reject', voterIds: [one] });
    expect(refusalOf(late)).toEqual([409, 'event_closed']);
  });

  test('rejects and deletes candidates, and is refused as a whole once a ballot was cast', async () => {
    const event = await createOpenElection(account);
    const positionIds = [event.positions[0]?.id];
    const candidateIds: string[] = [];
    for (const name of ['Cleo', 'Dora']) {
      candidateIds.push(demand(await account.page(event, 'register/candidate', { name, positionIds }), 201).id);
    }
    const [first] = candidateIds;
    const unknown = await bulk(event, 'candidates', { action: 'delete', candidateIds: [first, 'cnd_nobody'] });
    expect(fieldOf(unknown)).toEqual([422, 'candidateIds[1]']);
    expect(demand(await bulk(event, 'candidates', { action: 'reject', candidateIds }), 200).changed).toBe(2);
    expect(await statuses(event, 'candidates')).toEqual(['approved', 'approved', 'rejected', 'rejected']);
    const gone = { action: 'delete', candidateIds: [first] };
    expect(demand(await bulk(event, 'candidates', gone), 200).changed).toBe(1);
    const voter = demand(await register(account, event, 'vera@club.example'), 201);
    const voterKey = await giveVoterKey(service, event.id, voter.id);
    const cast = { voterKey, email: 'vera@club.example', votes: votesFor(event) };
    demand(await account.page(event, 'ballot/cast', cast), 201);
    for (const action of ['reject', 'delete']) {
      const body = { action, candidateIds: [candidateIds[1], event.positions[0]?.candidates[0]] };
      expect(refusalOf(await bulk(event, 'candidates', body))).toEqual([409, 'event_has_ballots']);
    }
    expect(await statuses(event, 'candidates')).toEqual(['approved', 'approved', 'rejected']);
    // No ballot depends on one who never was on it.
    const spam = demand(await account.page(event, 'register/candidate', { name: 'Spam', positionIds }), 201).id;
    expect((await account.delete(`/voting-events/${event.id}/candidates/${spam}`)).status).toBe(202);
    const never = { action: 'delete', candidateIds: [candidateIds[1]] };
    expect(demand(await bulk(event, 'candidates', never), 200).changed).toBe(1);
    expect(await statuses(event, 'candidates')).toEqual(['approved', 'approved']);
  });

  test('deletes a group that holds nobody, whatever was cast, and refuses the others by what holds them', async () => {
    const event = await createOpenElection(account);
    const own = account.of(event);
    const [unused, asked, held] = await Promise.all(
      ['Unused', 'Asked', 'Held'].map(async (name) => (await own.make('/groups', { name })).id),
    );
    await own.make('/positions', { title: 'Chair', votingMethod: 'plurality', groupId: asked });
    const email = 'v@club.example';
    const { id } = await own.make('/voters', { name: 'Vera', email, groupId: held });
    const voterKey = await giveVoterKey(service, event.id, id);
    demand(await account.page(event, 'ballot/cast', { voterKey, email, votes: votesFor(event) }), 201);
    const gone = (group: string) => own.delete(`/groups/${group}`);
    expect(refusalOf(await gone(asked))).toEqual([409, 'group_in_use']);
    expect(refusalOf(await gone(held))).toEqual([409, 'event_has_ballots']);
    expect((await gone(unused)).status).toBe(202);
  });
});

describe('a registration', () => {
  const path = (link: string): string => new URL(link).pathname;
  const linkTo = (email: string): Promise<string> =>
    eventually(() => {
      const mail = service.mails().find((text) => text.includes(`To: ${email}`));
      // Long lines are folded with `=` at their ends.
      const [link] = /http\S*\/confirm-address\/\S+/.exec(mail?.replaceAll(/=\r?\n/g, '') ?? '') ?? [];
      return link;
    });
  const query = (text: string, ...values: unknown[]) => service.query(text, values);
  const weekPasses = (event: TestEvent) => ageRegistrations(service, event.id, 7 * 86_400_000 + 60_000);
  const names = async (event: TestEvent): Promise<string[]> =>
    (await account.show(`/voting-events/${event.id}/voters`)).map(({ email }: { email: string }) => email);

  test('expires when its link is not used within 7 days, frees its place, and stays when it is used or approved', async () => {
    const event = await createOpenElection(account);
    const emails = ['used', 'unused', 'approved'].map((name) => `${name}@week.example`);
    const ids: string[] = [];
    for (const email of emails) ids.push(demand(await register(account, event, email), 201).id);
    const links = await Promise.all(emails.map(linkTo));
    const [used = ''] = links;
    // What looks at links in mails changes nothing.
    const shown = await service.call('GET', path(used));
    expect([shown.status, shown.body]).toEqual([200, expect.stringContaining('<button>Confirm</button>')]);
    const rows = await query('SELECT confirm_by > 0 AS waits FROM voters WHERE voting_event_id = $1', event.id);
    expect(rows.map(({ waits }) => waits)).toEqual([true, true, true]);
    for (let times = 0; times < 2; times += 1)
      expect((await service.call('POST', path(used))).body).toContain('Your address is confirmed');
    await account.patch(`/voting-events/${event.id}/voters/${ids[2]}`, { status: 'approved' });
    await expireRegistrations(service.deps);
    expect(await names(event)).toEqual(emails);
    await weekPasses(event);
    await expireRegistrations(service.deps);
    expect((await names(event)).toSorted()).toEqual(['approved@week.example', 'used@week.example']);
    expect(await query('SELECT registration::int FROM voter_places($1)', event.id)).toEqual([{ registration: 2 }]);
    // Confirmed is not approved: that is the first voter key's.
    const voter = await account.get(`/voting-events/${event.id}/voters/${ids[0]}`);
    expect(demand(voter, 200).status).toBe('pending');
    expect((await service.call('POST', path(links[1] ?? ''))).body).toContain('no longer valid');
    demand(await register(account, event, 'unused@week.example'), 201);
  });

  test('never expires once a voter key was mailed, which stays valid until the close', async () => {
    const event = await createOpenElection(account);
    const emails = ['keyed@week.example', 'keyless@week.example'];
    for (const email of emails) demand(await register(account, event, email), 201);
    await Promise.all(emails.map(linkTo));
    demand(await account.page(event, 'voter-key/request', { email: emails[0] }), 200);
    await untilTrue(async () => valuesOf(await account.of(event).show('/voters'), 'keyStatus').includes('sent'));
    await weekPasses(event);
    await expireRegistrations(service.deps);
    expect(await names(event)).toEqual(['keyed@week.example']);
  });

  test('never expires with manual approval, after the close, or without a mail', async () => {
    const manual = await createOpenElection(account, { approval: 'manual' });
    demand(await register(account, manual, 'manual@week.example'), 201);
    const closed = await createOpenElection(account);
    demand(await register(account, closed, 'closed@week.example'), 201);
    const unmailed = await createOpenElection(account);
    demand(await register(account, unmailed, 'unmailed@week.example'), 201);
    const link = await linkTo('closed@week.example');
    await Promise.all(['manual@week.example', 'unmailed@week.example'].map(linkTo));
    await query('UPDATE voters SET confirm_by = NULL WHERE voting_event_id = $1', unmailed.id);
    await account.patch(`/voting-events/${closed.id}`, { status: 'closed' });
    for (const event of [manual, closed, unmailed]) await weekPasses(event);
    await expireRegistrations(service.deps);
    expect(await names(manual)).toEqual(['manual@week.example']);
    expect(await names(closed)).toEqual(['closed@week.example']);
    expect(await names(unmailed)).toEqual(['unmailed@week.example']);
    expect((await service.call('POST', path(link))).body).toContain('no longer valid');
  });

  test('expires however many of events that are over wait for ever', async () => {
    const closed = await createOpenElection(account);
    await query(
      `INSERT INTO voters (voting_event_id, id, name, email, email_key, weight_micro, status, source, key_status, confirm_by, created_at, updated_at)
       SELECT $1, 'vtr_over' || n, 'V', 'o' || n || '@over.example', 'o' || n || '@over.example', 1000000, 'pending', 'registration', 'none', 1, 0, 0
       FROM generate_series(1, 10001) AS n`,
      closed.id,
    );
    await account.patch(`/voting-events/${closed.id}`, { status: 'closed' });
    const event = await createOpenElection(account);
    demand(await register(account, event, 'behind@week.example'), 201);
    await linkTo('behind@week.example');
    await weekPasses(event);
    await expireRegistrations(service.deps);
    expect(await names(event)).toEqual([]);
    await query('DELETE FROM voters WHERE voting_event_id = $1', closed.id);
  });

  test('never expires once approval is manual, nor by a mail that said nothing of seven days', async () => {
    const toManual = await createOpenElection(account);
    const toAutomatic = await createOpenElection(account, { approval: 'manual' });
    demand(await register(account, toManual, 'to-manual@week.example'), 201);
    demand(await register(account, toAutomatic, 'to-automatic@week.example'), 201);
    await Promise.all(['to-manual@week.example', 'to-automatic@week.example'].map(linkTo));
    const waiting = 'SELECT 1 FROM voters WHERE voting_event_id = $1 AND confirm_by IS NOT NULL';
    const waits = async ({ id }: TestEvent): Promise<boolean> => (await query(waiting, id)).length === 1;
    await untilTrue(async () => await waits(toManual));
    expect(await waits(toAutomatic)).toBe(false);
    for (const [event, approval] of [
      [toManual, 'manual'],
      [toAutomatic, 'automatic'],
    ] as const) {
      const change = { voter: { approval } };
      await account.change(`/voting-events/${event.id}`, change);
      await weekPasses(event);
    }
    await expireRegistrations(service.deps);
    expect(await names(toManual)).toEqual(['to-manual@week.example']);
    expect(await names(toAutomatic)).toEqual(['to-automatic@week.example']);
  });

  test('has a link that nobody else can make, and that says nothing', async () => {
    const event = await createOpenElection(account);
    const { id } = demand(await register(account, event, 'link@week.example'), 201);
    const link = await linkTo('link@week.example');
    const token = link.split('/').at(-1) ?? '';
    const decoded = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('latin1');
    for (const told of [event.id, id, 'link@week.example']) expect(token + decoded).not.toContain(told);
    const last = token.at(-3) === 'A' ? 'B' : 'A';
    const forged = `${token.slice(0, -3)}${last}${token.slice(-2)}`;
    for (const wrong of [forged, 'x', 'a.b']) {
      const answer = await service.call('POST', `/confirm-address/${wrong}`);
      expect(answer.body).toContain('no longer valid');
    }
    // Mailed to the address that was registered: another one is not confirmed by it.
    await account.patch(`/voting-events/${event.id}/voters/${id}`, { email: 'other@week.example' });
    expect((await service.call('POST', path(link))).body).toContain('no longer valid');
  });

  test('expires at once when its mail is refused for good, and not when the mail server is away', async () => {
    const event = await createOpenElection(account);
    using send = vi.spyOn(service.deps.mailer, 'send');
    send.mockImplementation(async ({ to }) => {
      const responseCode = to.startsWith('gone') ? 550 : 451;
      throw Object.assign(new Error('refused'), { command: 'RCPT TO', responseCode });
    });
    demand(await register(account, event, 'gone@week.example'), 201);
    demand(await register(account, event, 'later@week.example'), 201);
    await untilTrue(async () => (await names(event)).length === 1);
    await untilTrue(() => send.mock.calls.some(([{ to }]) => to.startsWith('later')));
    expect(await names(event)).toEqual(['later@week.example']);
    await weekPasses(event);
    await expireRegistrations(service.deps);
    expect(await names(event)).toEqual(['later@week.example']);
  });
});

const customer = await service.account();
const REFERENDUM = { votingMethod: 'referendum', candidates: ['Yes', 'No'] };

const createReferendum = (open: boolean): Promise<TestEvent> =>
  customer.event({ candidate: { selfRegistration: true } }, [...PLURALITY, REFERENDUM], open);
const standFor = (event: TestEvent, positionIds: readonly unknown[]): Promise<TestAnswer> =>
  customer.page(event, 'register/candidate', { name: 'Cleo', positionIds });

describe('a candidate on the ballot of a referendum has a role, so that it can be voted for', () => {
  test.each([false, true])(
    'registrations for one are refused, alone and beside other positions (open: %s)',
    async (open) => {
      const event = await createReferendum(open);
      const [race, referendum] = event.positions;
      if (!open) await customer.patch(`/voting-events/${event.id}`, { startsAt: Date.now() + 86_400_000 });
      for (const positionIds of [[referendum?.id], [race?.id, referendum?.id]]) {
        const refused = await standFor(event, positionIds);
        const field = `positionIds[${positionIds.length - 1}]`;
        const message = 'is a referendum, whose choices the organizer sets';
        expect([refused.status, refused.body.error.details.issues]).toEqual([422, [{ field, message }]]);
      }
      expect((await standFor(event, [race?.id])).status).toBe(201);
    },
  );

  test('a candidate that registered before its position became a referendum is approved with a role alone', async () => {
    const event = await createReferendum(true);
    const [race, referendum] = event.positions;
    const { id } = demand(await standFor(event, [race?.id]), 201);
    await service.query('UPDATE candidates SET position_ids = $2 WHERE id = $1', [id, [referendum?.id]]);
    const path = `/voting-events/${event.id}/candidates/${id}`;
    const refused = await customer.patch(path, { status: 'approved' });
    expect([refused.status, refused.body.error.details.issues[0].field]).toEqual([422, 'referendumRole']);
    await customer.change(path, { status: 'approved', referendumRole: 'abstain' });
    const votes = [{ positionId: referendum?.id, candidateId: id }];
    demand(await customer.page(event, 'ballot/cast', { visitorId: visitor(), votes }), 201);
  });
});
