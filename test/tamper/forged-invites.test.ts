import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { enqueue } from '#src/jobs/queue.ts';
import { demand, PLURALITY, sealBallots } from '#test/harness/elections.ts';
import { acceptInvite, invite, inviteToken } from '#test/harness/sharing.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';
import { type Election, useForgedElections } from './forged-election.ts';

// Who may change an event, and how it is set, is what the service wrote last (completions 6.7).

const forged = await useForgedElections();
const { service, account, sql, openElection, member, vote, pathOf } = forged;
const { bySql, keepRows, check, hasAlarm, REFUSED, refusalOf } = forged;

describe('an invite', () => {
  /** What it returns puts all of them back, as they stood. */
  async function keep(election: Election): Promise<() => Promise<unknown>> {
    const add = await keepRows(election, 'event_invites');
    return async () => {
      await bySql(election, 'DELETE FROM event_invites WHERE voting_event_id = $1');
      await add();
    };
  }
  const address = () => `g-${randomUUID()}@club.example`;

  async function share(election: Election, role: 'viewer' | 'editor', email = address()) {
    const guest = await service.account();
    const id = await invite(service, account, election.event, email, role);
    demand(await acceptInvite(service, guest.read, await inviteToken(service, email)), 200);
    return { id, guest, email };
  }

  test('that was taken back opens nothing when SQL puts it back, and the check finds it; others go on', async () => {
    const election = await openElection();
    await sealBallots(service, election.event.id, 1);
    const [revoked, kept] = [await share(election, 'editor'), await share(election, 'viewer')];
    await keep(election);
    demand(await account.delete(`${pathOf(election)}/invites/${revoked.id}`), 204);
    const read = ({ guest }: typeof kept) => service.call('GET', pathOf(election), undefined, { key: guest.read });
    expect((await read(kept)).status).toBe(200);
    expect(await check(election)).toBeUndefined();
    await bySql(
      election,
      `INSERT INTO event_invites SELECT * FROM kept_event_invites WHERE voting_event_id = $1 ON CONFLICT DO NOTHING`,
    );
    expect((await read(revoked)).status).toBe(404);
    const listed = await service.call('GET', '/voting-events', undefined, { key: revoked.guest.read });
    expect(demand(listed, 200)).toEqual([]);
    expect(await check(election)).toBe('an invite is not as the service wrote it');
    expect((await read(kept)).status).toBe(200);
  });

  test('gives back no role that was taken', async () => {
    const election = await openElection();
    const { id, guest } = await share(election, 'editor');
    const putBack = await keep(election);
    demand(await account.delete(`${pathOf(election)}/invites/${id}`), 204);
    const email = address();
    await invite(service, account, election.event, email, 'viewer');
    demand(await acceptInvite(service, guest.read, await inviteToken(service, email)), 200);
    await putBack();
    const changed = await service.call('PATCH', pathOf(election), { description: 'X' }, { key: guest.write });
    expect(changed.status).toBe(404);
  });

  test('that was accepted is accepted by no other account when SQL puts back how it was', async () => {
    const election = await openElection();
    const email = address();
    await invite(service, account, election.event, email, 'editor');
    const token = await inviteToken(service, email);
    const putBack = await keep(election);
    const [guest, thief] = [await service.account(), await service.account()];
    demand(await acceptInvite(service, guest.read, token), 200);
    await putBack();
    expect(refusalOf(await acceptInvite(service, thief.read, token))).toEqual(REFUSED);
  });

  test('is accepted no longer than the service said', async () => {
    const election = await openElection();
    const email = address();
    await invite(service, account, election.event, email, 'editor');
    const token = await inviteToken(service, email);
    await bySql(election, 'UPDATE event_invites SET expires_at = expires_at + 1 WHERE voting_event_id = $1');
    const guest = await service.account();
    expect(refusalOf(await acceptInvite(service, guest.read, token))).toEqual(REFUSED);
  });

  test('is none of the service’s with another generation of the event', async () => {
    const election = await openElection();
    const { id, guest } = await share(election, 'viewer');
    const putBack = await keep(election);
    demand(await account.delete(`${pathOf(election)}/invites/${id}`), 204);
    await putBack();
    await bySql(election, 'UPDATE voting_events SET invite_generation = invite_generation - 1 WHERE id = $1');
    expect(refusalOf(await service.call('GET', pathOf(election), undefined, { key: guest.read }))).toEqual(REFUSED);
  });
});

describe('what SQL sets of an event', () => {
  test.each([
    ['the counter of identities that changed', 'identity_changes = 0'],
    ['the count of letters', 'letters_printed = letters_printed + 1'],
    ['the counter of other changes of the roll', 'roll_changes = 0'],
    ['who sees the results', "results_visibility = 'live'"],
    ['who sees the openings', "ballot_opening = 'public'"],
    ['an open log', 'log_open = true'],
    ['receipts', "ballot_receipt = 'full'"],
    ['the order of candidates', "candidate_order = 'shuffled'"],
    ['who registers candidates', 'candidate_self_registration = true'],
    ['whom voters write to', "contact_email = 'thief@mail.example'"],
    ['the picture of mails', "logo_url = 'https://thief.example/x.png'"],
    ['a price for candidates', `pay_to_register_candidate = '{"amountMinor": 1, "currency": "eur"}'`],
    ['the business that is paid', "payment_business_id = 'biz_x'"],
  ])('%s: nothing is done by it, nothing new is shown by it, and the check finds it', async (_, set) => {
    const election = await openElection();
    const one = member(election, 0);
    await sealBallots(service, election.event.id, 1);
    const path = `${pathOf(election)}/voters/${one.id}`;
    await account.change(path, { email: `n-${one.email}`, weight: 2 });
    const stats = () => account.show(`${pathOf(election)}/stats`);
    expect(await stats()).toMatchObject({ identityChanges: 1, rollChanges: 1 });
    expect(await check(election)).toBeUndefined();
    await bySql(election, `UPDATE voting_events SET ${set} WHERE id = $1`);
    service.deps.events.forgetAll();
    expect(await check(election)).toBe('the event is not as the service wrote it');
    const results = await service.call('GET', `/public${pathOf(election)}/results`, undefined, { key: account.vote });
    expect(refusalOf(results)).toEqual(REFUSED);
    expect(refusalOf(await account.patch(pathOf(election), { description: 'X' }))).toEqual(REFUSED);
    const head = await fetch(`http://127.0.0.1:${service.port}/public${pathOf(election)}/log/checkpoint`);
    expect(head.status).toBe(set.includes('log_open') ? 500 : 401);
  });
});

test('an event that SQL gave to an account tells it nothing by webhooks', async () => {
  const election = await openElection();
  const thief = await service.account();
  await bySql(election, 'UPDATE voting_events SET account_id = $2 WHERE id = $1', thief.id);
  const hook = {
    url: 'https://thief.example/hook',
    eventTypes: ['voter.created'],
    votingEventCode: election.event.code,
  };
  const made = await service.call('POST', '/webhook-endpoints', hook, { key: thief.write });
  expect([made.status, made.body.error?.code]).toEqual([404, 'not_found']);
});

describe('a copy that was ordered', () => {
  async function copyOf(source: Election) {
    const copy = await account.make(`${pathOf(source)}/copy`, { title: 'Copy', withVoters: true });
    await eventually(async () => {
      const event = await account.show(`/voting-events/${copy.id}`);
      return event.copy?.done === event.copy?.total ? event : undefined;
    });
    return copy.id;
  }

  test('is not done again when SQL puts its order back', async () => {
    const source = await openElection();
    await sql.query(`CREATE TABLE kept_orders AS SELECT * FROM roll_copies LIMIT 0`);
    await sql.query(`CREATE FUNCTION keep_order() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO kept_orders SELECT NEW.*; RETURN NULL; END $$`);
    await sql.query('CREATE TRIGGER keep_order AFTER INSERT ON roll_copies FOR EACH ROW EXECUTE FUNCTION keep_order()');
    const id = await copyOf(source);
    // The job takes its order away once the last voter is there.
    await untilTrue(async () => (await sql.query('SELECT 1 FROM roll_copies')).rowCount === 0);
    await sql.query('DROP TRIGGER keep_order ON roll_copies');
    const copied = await account.show(`/voting-events/${id}/voters`);
    expect(copied).toHaveLength(6);
    demand(await account.delete(`/voting-events/${id}/voters/${copied[0].id}`), 202);
    await sql.query('INSERT INTO roll_copies SELECT * FROM kept_orders WHERE voting_event_id = $1', [id]);
    await enqueue(service.deps.db, { name: 'copy_roll' }, { eventId: id }, {});
    await untilTrue(() => hasAlarm({ event: { id } }));
    expect(await account.show(`/voting-events/${id}/voters`)).toHaveLength(5);
  });
});

test('an honest event is told of no fault by all that changes it', async () => {
  const event = await account.event({ type: 'election' }, PLURALITY, false);
  const election = { event, members: [] };
  const path = pathOf(election);
  await account.change(path, { startsAt: Date.now() + 3_600_000 });
  const one = await account.make(`${path}/voters`, { name: 'A', email: `a-${randomUUID()}@club.example` });
  await account.change(path, { status: 'rehearsal' });
  await account.change(`${path}/voters/${one.id}`, { weight: 2, email: `b-${randomUUID()}@club.example` });
  await account.change(path, { status: 'draft' });
  await account.change(path, { status: 'open', results: { visibility: 'live' } });
  const voter = await account.show(`${path}/voters/${one.id}`);
  await vote(election, voter);
  await sealBallots(service, event.id, 1);
  expect(await check(election)).toBeUndefined();
  await account.change(path, { status: 'closed', results: { visibility: 'published' } });
  expect(await check(election)).toBeUndefined();
});
