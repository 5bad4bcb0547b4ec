import { beforeAll, describe, expect, test } from 'vitest';
import { demand, issuesOf, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { expireInvite } from '#test/harness/genuine-rows.ts';
import { acceptInvite, invite, inviteToken, shareEvent } from '#test/harness/sharing.ts';
import {
  patiently,
  type TestAccount,
  type TestAnswer,
  type TestService,
  useService,
} from '#test/harness/test-service.ts';

let owner: TestAccount;
let guest: TestAccount;
let event: TestEvent;

const service = await useService();

async function fresh(settings: Readonly<Record<string, unknown>> = {}): Promise<void> {
  owner = await service.account();
  guest = await service.account('free');
  event = await owner.event(settings);
}

const as = (account: TestAccount) => account.of(event);

describe('an invite', () => {
  beforeAll(() => fresh());

  test('is mailed with a token that no answer shows, and shares the event with the account that brings it', async () => {
    const made = await as(owner).make('/invites', { email: 'Guest@Club.example', role: 'viewer' });
    expect(made).toEqual({
      ...{ id: expect.stringMatching(/^inv_/), votingEventId: event.id, email: 'Guest@Club.example', role: 'viewer' },
      ...{ status: 'pending', acceptedBy: null, acceptedAt: null },
      ...{ expiresAt: made.createdAt + 7 * 24 * 60 * 60 * 1000, createdAt: expect.any(Number) },
    });
    const token = await inviteToken(service, 'Guest@Club.example');
    expect((await as(guest).get('')).status).toBe(404);
    const accepted = demand(await acceptInvite(service, guest.read, token), 200);
    const acceptedBy = { accountId: guest.id, name: 'Test account' };
    expect(accepted).toEqual({ ...made, status: 'accepted', acceptedBy, acceptedAt: expect.any(Number) });
    expect((await as(guest).show('')).id).toBe(event.id);
    const listed = await guest.get('/voting-events');
    expect(valuesOf(listed.body.data, 'id')).toEqual([event.id]);
    const shown = await as(owner).get('/invites');
    expect(shown.body).toEqual({ data: [accepted], nextCursor: null });
    expect(JSON.stringify(shown.body)).not.toContain(token);
  });

  test('accepted again by the same account answers the same, by another one 409, by the owner 409', async () => {
    const token = await inviteToken(service, 'Guest@Club.example');
    expect((await acceptInvite(service, guest.write, token)).status).toBe(200);
    const stranger = await service.account();
    expect(refusalOf(await acceptInvite(service, stranger.write, token))).toEqual([409, 'invite_used']);
    expect(refusalOf(await acceptInvite(service, owner.write, token))).toEqual([409, 'own_event']);
    expect(refusalOf(await acceptInvite(service, guest.vote, token))).toEqual([403, 'insufficient_scope']);
    const unknown = await acceptInvite(service, guest.write, `vit_${'0'.repeat(32)}`);
    expect(refusalOf(unknown)).toEqual([404, 'not_found']);
  });

  test('is one for each address, in any case of its letters', async () => {
    const again = await as(owner).post('/invites', { email: 'guest@club.EXAMPLE', role: 'editor' });
    expect([again.status, again.body.error.details]).toEqual([409, { reason: 'invite_exists', field: 'email' }]);
    const wrong = await as(owner).post('/invites', { email: 'no address', role: 'owner' });
    expect(issuesOf(wrong)).toEqual(['email', 'role']);
  });

  test('that was taken back shares nothing any more, and its token is unknown', async () => {
    const token = await inviteToken(service, 'Guest@Club.example');
    const { data } = (await as(owner).get('/invites')).body;
    const gone = await as(owner).delete(`/invites/${data[0].id}`);
    expect([gone.status, gone.body]).toEqual([204, '']);
    expect((await as(guest).get('')).status).toBe(404);
    expect((await guest.get('/voting-events')).body.data).toEqual([]);
    expect((await acceptInvite(service, guest.write, token)).status).toBe(404);
    expect((await as(owner).delete(`/invites/${data[0].id}`)).status).toBe(404);
  });

  test('that expired is refused, and its address can be invited again', async () => {
    const { body } = await as(owner).post('/invites', { email: 'late@club.example', role: 'viewer' });
    const token = await inviteToken(service, 'late@club.example');
    await expireInvite(service, event.id, body.data.id);
    expect(refusalOf(await acceptInvite(service, guest.write, token))).toEqual([409, 'invite_expired']);
    expect(await as(owner).show('/invites?status=expired')).toHaveLength(1);
    expect((await as(owner).post('/invites', { email: 'late@club.example', role: 'viewer' })).status).toBe(201);
    expect(await as(owner).show('/invites?status=expired')).toHaveLength(0);
  });

  test('of another role does not change in silence what the account may do: it is refused', async () => {
    await shareEvent(service, owner, event, guest, 'editor');
    const made = await as(owner).post('/invites', { email: 'again@club.example', role: 'viewer' });
    const token = await inviteToken(service, 'again@club.example');
    const second = await acceptInvite(service, guest.read, token);
    expect([made.status, second.status, second.body.error.details.reason]).toEqual([201, 409, 'already_shared']);
    const role = 'SELECT role FROM event_invites WHERE voting_event_id = $1 AND account_id = $2';
    const rows = await service.query(role, [event.id, guest.id]);
    expect(rows).toEqual([{ role: 'editor' }]);
  });

  test('makes an editor, who changes everything but the code of the event', async () => {
    const code = event.code.toUpperCase();
    expect((await as(guest).patch('', { code: event.code, title: 'By an editor' })).status).toBe(200);
    expect(refusalOf(await as(guest).patch('', { code: `X${code}`.slice(0, 12) }))).toEqual([403, 'role']);
    expect((await as(owner).patch('', { code: `X${code}`.slice(0, 12) })).status).toBe(200);
  });

  test('leaves no token in clear in the database, in jobs or in the audit trail', async () => {
    const email = 'secret@club.example';
    await invite(service, owner, event, email, 'viewer');
    const token = await inviteToken(service, email);
    const rows = await service.query(
      `SELECT row_to_json(i)::text AS text FROM event_invites i
       UNION ALL SELECT row_to_json(j)::text FROM jobs j
       UNION ALL SELECT row_to_json(a)::text FROM audit_entries a`,
    );
    expect(rows.filter(({ text }: { text: string }) => text.includes(token))).toEqual([]);
  });

  test('is one of at most a hundred, whatever races over two processes', async () => {
    await fresh();
    const count = async () =>
      (await service.query('SELECT 1 FROM event_invites WHERE voting_event_id = $1', [event.id])).length;
    await service.query(
      `INSERT INTO event_invites (voting_event_id, id, email, email_key, role, token_hash, tag, expires_at, created_at)
       SELECT $1, 'inv_' || n, n || '@club.example', n || '@club.example', 'viewer', sha256(n::text::bytea), '', 99999999999999, 0
       FROM generate_series(1, 90) AS n`,
      [event.id],
    );
    expect(await count()).toBe(90);
    const ask = (on: TestService, index: number): Promise<TestAnswer> => {
      const body = { email: `race${index}@club.example`, role: 'viewer' };
      return patiently(() => on.call('POST', `/voting-events/${event.id}/invites`, body, { key: owner.write }));
    };
    const answers = await service.onTwo(32, ask);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    const refused = answers.find(({ status }) => status !== 201);
    expect([refused?.status, refused?.body.error.details]).toEqual([422, { limit: 'invites_per_event', max: 100 }]);
    expect(await count()).toBe(100);
  });

  test('accepted by many accounts at once is the one of the first', async () => {
    await fresh();
    const accounts = await Promise.all(Array.from({ length: 8 }, () => service.account()));
    await invite(service, owner, event, 'many@club.example', 'editor');
    const token = await inviteToken(service, 'many@club.example');
    const answers = await Promise.all(accounts.map((account) => acceptInvite(service, account.write, token)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 7 }, () => 409)]);
    const seen = await Promise.all(accounts.map((account) => as(account).get('')));
    expect(seen.filter(({ status }) => status === 200)).toHaveLength(1);
  });
});

describe('a viewer', () => {
  beforeAll(async () => {
    await fresh();
    await shareEvent(service, owner, event, guest, 'viewer');
  });

  test('reads everything of the event and changes nothing', async () => {
    for (const path of ['', '/positions', '/candidates', '/voters', '/results', '/stats', '/audit', '/invites'])
      expect([path, (await as(guest).get(path)).status]).toEqual([path, 200]);
    const { data: before } = (await as(owner).get('')).body;
    expect(refusalOf(await as(guest).patch('', { title: 'Mine now' }))).toEqual([403, 'role']);
    // The role is told before what is wrong with the body, and after what is not there.
    expect((await as(guest).post('/positions', { nonsense: true })).status).toBe(403);
    expect((await as(guest).patch('/positions/pos_none', { title: 'x' })).status).toBe(404);
    expect(await as(owner).show('')).toEqual(before);
  });

  test('sees the event and its ballot with a vote key, and casts nothing with it', async () => {
    const path = `/public/voting-events/${event.code}`;
    expect((await service.call('GET', path, undefined, { key: guest.vote })).status).toBe(200);
    const byCode = { id: event.code };
    expect((await guest.page(byCode, 'ballot')).status).toBe(200);
    const identity = { visitorId: visitor() };
    expect(demand(await guest.page(byCode, 'voter/check', identity), 200)).toEqual({ eligible: true });
    const cast = { ...identity, votes: votesFor(event) };
    expect(refusalOf(await guest.page(byCode, 'ballot/cast', cast))).toEqual([403, 'role']);
  });
});

describe('an editor', () => {
  beforeAll(async () => {
    await fresh();
    await shareEvent(service, owner, event, guest, 'editor');
  });

  test('changes the event within the plan of its owner, and its vote keys vote', async () => {
    expect((await as(guest).patch('', { title: 'Ours' })).status).toBe(200);
    // The guest's own plan allows 100 voters and no data export.
    for (const batch of [0, 1]) {
      const voters = Array.from({ length: 100 }, (_, row) => ({ name: 'V', voterId: `${batch}/${row}` }));
      expect((await as(guest).post('/voters/batch', { voters })).status).toBe(201);
    }
    expect((await as(guest).get('/votes')).status).toBe(200);
    await guest.votePoll(event, votesFor(event));
    expect((await as(owner).show('/results')).stats.ballots).toBe(1);
  });

  test('has events of its own beside the shared ones, all in one list, page by page, each once', async () => {
    const own: string[] = [];
    for (let index = 0; index < 3; index += 1) own.push((await guest.event({}, [], false)).id);
    const later = await owner.event();
    await shareEvent(service, owner, later, guest, 'viewer');
    const seen = (await guest.pages('/voting-events?limit=2')).flat();
    expect(valuesOf(seen, 'id')).toEqual([event.id, ...own, later.id]);
  });
});

describe('the audit trail', () => {
  test('says who changed what and when, with what was before and after, and holds no ballot and no key', async () => {
    await fresh();
    await shareEvent(service, owner, event, guest, 'editor');
    const voter = (await as(guest).post('/voters', { name: 'Vera', email: 'vera@club.example' })).body.data;
    await as(guest).patch(`/voters/${voter.id}`, { weight: 2.5, name: 'Vera Vogel' });
    await as(owner).patch(`/positions/${event.positions[0]?.id}`, { title: 'A new title' });
    await as(owner).patch('', { description: 'Now with words' });
    await owner.votePoll(event, votesFor(event));
    const { data, nextCursor } = (await as(guest).get('/audit')).body;
    expect(nextCursor).toBeNull();
    type Entry = { action: string; resource: string; before: unknown; after: unknown; key: { accountId: string } };
    const entries: Entry[] = data;
    expect(entries.map(({ action }) => action)).toEqual([
      ...['voting_event.created', 'position.created', 'candidate.created', 'candidate.created', 'voting_event.updated'],
      ...['invite.created', 'invite.accepted', 'voter.created', 'voter.updated', 'position.updated'],
      'voting_event.updated',
    ]);
    const one = (action: string) => entries.find((entry) => entry.action === action);
    expect(one('voter.updated')).toMatchObject({
      resource: voter.id,
      before: { name: 'Vera', weight: 1 },
      after: { name: 'Vera Vogel', weight: 2.5 },
      key: { id: expect.stringMatching(/^key_/), name: 'read,write', accountId: guest.id },
      createdAt: expect.any(Number),
    });
    expect(one('position.updated')).toMatchObject({
      before: { title: 'By plurality' },
      after: { title: 'A new title' },
      key: { accountId: owner.id },
    });
    expect(entries.at(-1)).toMatchObject({ before: { description: null }, after: { description: 'Now with words' } });
    expect(JSON.stringify(data)).not.toMatch(/v[svo]k_[0-9A-Za-z]{30}|vit_|confirmationCode|vi_[0-9a-f]{16}/);
  });

  test('is found by action, resource, key, time and words', async () => {
    const find = async (query: string): Promise<string[]> =>
      valuesOf(await as(owner).show(`/audit?${query}`), 'action');
    const [first] = await as(owner).show('/audit');
    expect(await find('action=invite.accepted')).toEqual(['invite.accepted']);
    expect(await find(`resource=${event.positions[0]?.id}`)).toEqual(['position.created', 'position.updated']);
    expect(await find('search=INVITE')).toEqual(['invite.created', 'invite.accepted']);
    expect(await find(`until=${first.createdAt - 1}`)).toEqual([]);
    expect((await find(`since=${first.createdAt}&keyId=${first.key.id}`))[0]).toBe('voting_event.created');
    expect((await as(owner).get('/audit?limit=5')).status).toBe(400);
    expect((await as(owner).get('/audit?since=yesterday')).status).toBe(400);
  });

  test('names the webhook endpoints of the event to its owner alone', async () => {
    await fresh();
    await shareEvent(service, owner, event, guest, 'editor');
    const endpoint = { url: 'https://hooks.example.com/a', eventTypes: ['payment.succeeded'] };
    const { id } = await owner.make('/webhook-endpoints', { ...endpoint, votingEventCode: event.code });
    const seen = async (account: TestAccount): Promise<boolean[]> => {
      const answers = [await as(account).get(`/audit?resource=${id}`), await as(account).get('/audit/csv')];
      return answers.map(({ body }) => JSON.stringify(body).includes(id));
    };
    expect([await seen(owner), await seen(guest)]).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  test('names those who registered, with the key that brought them', async () => {
    await fresh({ type: 'election' });
    await as(owner).patch('', { voter: { selfRegistration: true }, candidate: { selfRegistration: true } });
    const voter = { name: 'Vera', email: 'vera@club.example' };
    expect((await owner.page(event, 'register/voter', voter)).status).toBe(201);
    const candidate = { name: 'Cleo', positionIds: [event.positions[0]?.id] };
    expect((await owner.page(event, 'register/candidate', candidate)).status).toBe(201);
    const { data } = (await as(owner).get('/audit?search=registered')).body;
    expect(data.map(({ action, key }: { action: string; key: { name: string } }) => [action, key.name])).toEqual([
      ['voter.registered', 'vote'],
      ['candidate.registered', 'vote'],
    ]);
  });
});
