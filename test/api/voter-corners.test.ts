import { describe, expect, test } from 'vitest';
import { expireRegistrations } from '#src/voters/expire-registrations.ts';
import { demand } from '#test/harness/answers.ts';
import { type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { ageRegistrations } from '#test/harness/genuine-rows.ts';
import { mailedVoterKey } from '#test/harness/mails.ts';
import { untilTrue, useAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

// What one change of a voter does beside what it says: to a ballot that waits, a mail, a copy, or the registrations of others.

const { service, account } = await useAccount();
const { of } = account;

const settled = () =>
  untilTrue(async () => (await service.query('SELECT FROM jobs WHERE run_at <= now_ms() LIMIT 1')).length === 0);
const address = (name: string, event: TestEvent): string => `${name}-${event.id}@club.example`.toLowerCase();
const createElection = () => account.event({ type: 'election', voter: { selfRegistration: true } });
async function register(event: TestEvent, name = 'reg'): Promise<string> {
  return demand(await account.page(event, 'register/voter', { name: 'Reg', email: address(name, event) }), 201).id;
}

test('a rejection with a new address drops the ballot that waits, and disputes nothing once the voter is approved again', async () => {
  const event = await createElection();
  const email = address('vera', event);
  const { id } = await of(event).make('/voters', { name: 'Vera', email });
  const voterKey = await mailedVoterKey(service, () => account.page(event, 'voter-key/request', { email }));
  const cast = await account.page(event, 'ballot/cast', { voterKey, email, votes: votesFor(event) });
  const { confirmationCode } = demand(cast, 201);
  await of(event).change(`/voters/${id}`, { status: 'rejected', email: address('new', event) });
  await of(event).change(`/voters/${id}`, { status: 'approved' });
  expect((await account.page(event, 'ballot/confirm', { confirmationCode })).status).toBe(404);
  expect((await of(event).show('')).disputed).toBe(false);
});

test('a voter whom a key has approved is rejected in bulk as by themselves', async () => {
  const event = await createElection();
  const id = await register(event);
  const voterKey = await giveVoterKey(service, event.id, id);
  demand(await account.page(event, 'voter/check', { voterKey, email: address('reg', event) }), 200);
  demand(await of(event).post('/voters/bulk', { action: 'reject', voterIds: [id] }), 200);
  expect((await of(event).show(`/voters/${id}`)).status).toBe('rejected');
  expect(await of(event).show('/voters?status=rejected')).toHaveLength(1);
});

test('a participant of a poll whose address is corrected gets no mail about voter keys', async () => {
  const event = await account.event({ voter: { saveVoterInfo: true } });
  await account.ballot(event, { visitorId: visitor(), email: address('old', event), votes: votesFor(event) });
  const [voter] = await of(event).show('/voters');
  await of(event).change(`/voters/${voter.id}`, { email: address('right', event) });
  await settled();
  expect(service.mails().filter((mail) => mail.includes(address('old', event)))).toEqual([]);
});

test('a copy that is made in a rehearsal leaves out whom only the rehearsal approved', async () => {
  const event = await account.event({ type: 'election', voter: { selfRegistration: true } }, undefined, false);
  await of(event).make('/voters', { name: 'Own', email: address('own', event) });
  await of(event).change('', { startsAt: Date.now() + 3_600_000 });
  const id = await register(event);
  await of(event).change('', { status: 'rehearsal' });
  const voterKey = await giveVoterKey(service, event.id, id);
  demand(await account.page(event, 'voter/check', { voterKey, email: address('reg', event) }), 200);
  await of(event).change('', { status: 'closed' });
  await service.deps.counting.disclosure.step(event.id);
  const copy = await of(event).make('/copy', { title: 'Copy', withVoters: true });
  await untilTrue(async () => {
    const { copy: progress } = await of(copy).show('');
    return progress.done === progress.total;
  });
  expect((await of(copy).show('/voters')).map(({ name }: { name: string }) => name)).toEqual(['Own']);
});

test('mails that the close leaves out are counted down to none', async () => {
  const event = await createElection();
  await service.query(
    `INSERT INTO notifications (voting_event_id, id, kind, audience, total, sent, list_until, created_at)
     VALUES ($1, 'ntf_e', 'key', 'all', 1, 3, 'z', 0)`,
    [event.id],
  );
  await service.query('SELECT forget_voter_keys($1)', [event.id]);
  expect(await service.query("SELECT skipped FROM notifications WHERE id = 'ntf_e'")).toEqual([{ skipped: 0 }]);
});

describe('a registration that nobody confirms', () => {
  const hasDeadline = async (id: string): Promise<boolean> =>
    Number((await service.query('SELECT confirm_by FROM voters WHERE id = $1', [id]))[0]?.confirm_by) > 0;

  test('stays where the organizer has corrected its address, to which no link went', async () => {
    const event = await createElection();
    const id = await register(event);
    await untilTrue(() => hasDeadline(id));
    await of(event).change(`/voters/${id}`, { email: address('right', event) });
    await settled();
    await ageRegistrations(service, event.id, 8 * 86_400_000);
    await expireRegistrations(service.deps);
    expect((await of(event).get(`/voters/${id}`)).status).toBe(200);
  });

  test('expires, whatever the roll of another event looks like', async () => {
    const events = [await createElection(), await createElection(), await createElection()];
    const ids: string[] = [];
    for (const event of events) ids.push(await register(event));
    for (const id of ids) await untilTrue(() => hasDeadline(id));
    for (const event of events) await ageRegistrations(service, event.id, 8 * 86_400_000);
    await service.query("DELETE FROM roll_sums WHERE voting_event_id = $1 AND id = ''", [events[0]?.id]);
    await expireRegistrations(service.deps);
    const left: number[] = [];
    for (const [index, event] of events.entries()) left.push((await of(event).get(`/voters/${ids[index]}`)).status);
    expect(left.slice(1)).toEqual([404, 404]);
  });
});
