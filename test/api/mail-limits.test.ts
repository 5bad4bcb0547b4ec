import { describe, expect, test } from 'vitest';
import { takeMail } from '#src/accounts/take-mail.ts';
import { demand, type TestEvent } from '#test/harness/elections.ts';
import { recipientOf, voterKeyIn } from '#test/harness/mails.ts';
import { eventually, useService } from '#test/harness/test-service.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const service = await useService();
const account = await service.account();

const take = (to: string, accountId = account.id, votingEventId = 'evt_one'): Promise<boolean> =>
  takeMail(service.deps.db, service.deps.secrets, { to, accountId, votingEventId });
const query = (text: string, ...values: unknown[]) => service.deps.db.$client.query(text, values);
const timePasses = (ms: number) => query('UPDATE mail_quotas SET began_at = began_at - $1::bigint', ms);

/** How many of so many mails may go out. */
async function taken(times: number, to: string, accountId?: string, votingEventId?: string): Promise<number> {
  let count = 0;
  for (let time = 0; time < times; time += 1) if (await take(to, accountId, votingEventId)) count += 1;
  return count;
}

/** Waits until every job that is due has run. */
const settled = () =>
  eventually(async () => {
    const { rows } = await query('SELECT 1 FROM graphile_worker.jobs WHERE run_at <= now() LIMIT 1');
    return rows.length === 0 ? true : undefined;
  });
const mailsTo = (address: string): string[] => service.mails().filter((mail) => recipientOf(mail) === address);

const create = (settings: object = {}): Promise<TestEvent> => account.event({ type: 'election', ...settings });
const asOrganizer = (event: TestEvent, method: string, path: string, body?: object) =>
  service.call(method, `/voting-events/${event.id}${path}`, body, { key: account.write });
const asVoter = (event: TestEvent, path: string, body: object) =>
  service.call('POST', `/public/voting-events/${event.id}${path}`, body, { key: account.vote });
const addVoter = async (event: TestEvent, voter: object): Promise<string> =>
  demand(await asOrganizer(event, 'POST', '/voters', { name: 'Vera', ...voter }), 201).id;

describe('mails to one address', () => {
  test('are 5 in an hour and 20 in a day, in any spelling of the address', async () => {
    const address = 'many@limits.example';
    expect(await taken(8, address)).toBe(5);
    expect(await take('MANY@Limits.example')).toBe(false);
    for (const count of [5, 5, 5, 0]) {
      await timePasses(HOUR_MS + 1_000);
      expect(await taken(8, address)).toBe(count);
    }
    await timePasses(DAY_MS);
    expect(await taken(8, address)).toBe(5);
  });

  test('are counted for each event, and 30 in an hour and 100 in a day for all events of an account', async () => {
    const address = 'meeting@limits.example';
    const inEvents = async (events: number): Promise<number> => {
      let count = 0;
      for (let index = 0; index < events; index += 1)
        for (let time = 0; time < 3; time += 1) if (await take(address, account.id, `evt_${index}`)) count += 1;
      return count;
    };
    // A meeting with six ballots, each an event of its own: nobody waits for a key.
    expect(await inEvents(6)).toBe(18);
    expect(await inEvents(12)).toBe(12);
    const days: number[] = [];
    for (let hour = 0; hour < 4; hour += 1) {
      await timePasses(HOUR_MS + 1_000);
      days.push(await inEvents(20));
    }
    expect(days).toEqual([30, 30, 10, 0]);
  });

  test('are 60 in an hour from all accounts together', async () => {
    const address = 'all@limits.example';
    const counts: number[] = [];
    for (let index = 0; index < 13; index += 1) {
      const { id } = await service.account();
      counts.push(await taken(6, address, id));
    }
    expect(counts).toEqual([...Array.from({ length: 12 }, () => 5), 0]);
  });

  test('are counted whatever causes them', async () => {
    const causes: Record<string, (event: TestEvent, email: string) => Promise<unknown>> = {
      async request(event, email) {
        await addVoter(event, { email });
        await asVoter(event, '/voter-key/request', { email });
      },
      async organizer(event, email) {
        const id = await addVoter(event, { email });
        await asOrganizer(event, 'POST', `/voters/${id}/voter-key`);
      },
      rejected: async (event, email) => {
        const id = await addVoter(event, { email });
        await asOrganizer(event, 'PATCH', `/voters/${id}`, { status: 'rejected' });
        await asVoter(event, '/voter-key/request', { email });
      },
      registration: (event, email) => asVoter(event, '/register/voter', { name: 'Vera', email }),
      invite: (event, email) => asOrganizer(event, 'POST', '/invites', { email, role: 'viewer' }),
      async correction(event, email) {
        const id = await addVoter(event, { email });
        await asOrganizer(event, 'PATCH', `/voters/${id}`, { email: `new-${email}` });
      },
    };
    const event = await create({ voter: { selfRegistration: true } });
    for (const [cause, act] of Object.entries(causes)) {
      expect(await taken(5, `${cause}@used-up.example`, account.id, event.id)).toBe(5);
      await act(event, `${cause}@used-up.example`);
      await act(event, `${cause}@free.example`);
      await settled();
      const mails = ['used-up', 'free'].map((domain) => mailsTo(`${cause}@${domain}.example`).length);
      expect([cause, ...mails]).toEqual([cause, 0, 1]);
    }
  });
});

test.each([
  ['free', 500],
  ['pro', 200_000],
] as const)('mails of an account on the plan %s are %i in a day', async (plan, most) => {
  const { id } = await service.account(plan);
  const rows = async (): Promise<string[]> =>
    (await query("SELECT encode(name, 'hex') AS name FROM mail_quotas WHERE window_ms = $1", DAY_MS)).rows.map(
      ({ name }) => name,
    );
  const others = new Set(await rows());
  expect(await take('first@plan.example', id)).toBe(true);
  const added = (await rows()).filter((name) => !others.has(name));
  expect(await take('second@plan.example', id)).toBe(true);
  // Of the two rows that the first mail made, the account's is the one that the second counted too; as if all but one were sent.
  await query(
    "UPDATE mail_quotas SET mails = $1 WHERE encode(name, 'hex') = ANY ($2) AND window_ms = $3 AND mails = 2",
    most - 1,
    added,
    DAY_MS,
  );
  const counts: boolean[] = [];
  for (let index = 0; index < 3; index += 1) counts.push(await take(`next${index}@plan.example`, id));
  expect(counts).toEqual([true, false, false]);
  expect(await take('next0@plan.example')).toBe(true);
  await timePasses(DAY_MS + 1_000);
  expect(await take('next1@plan.example', id)).toBe(true);
});

describe('a request for a voter key', () => {
  test('in the name of nobody answers with the mask of the address that was sent, and mails nothing', async () => {
    const event = await create();
    const before = service.mails().length;
    const answer = demand(await asVoter(event, '/voter-key/request', { email: 'nobody@strangers.example' }), 200);
    expect(answer).toEqual({ sent: true, maskedEmail: 'n***@s***.example' });
    await settled();
    expect(service.mails()).toHaveLength(before);
  });

  test('of who waits for approval, or was rejected, mails that and no key; the answer is the same', async () => {
    const event = await create({ voter: { selfRegistration: true, approval: 'manual' } });
    const emails = ['pending', 'rejected', 'approved'].map((status) => `${status}@approval.example`);
    const ids: string[] = [];
    for (const email of emails)
      ids.push(demand(await asVoter(event, '/register/voter', { name: 'Vera', email }), 201).id);
    for (const [index, status] of [undefined, 'rejected', 'approved'].entries())
      if (status !== undefined) demand(await asOrganizer(event, 'PATCH', `/voters/${ids[index]}`, { status }), 200);
    await settled();
    const before = service.mails().length;
    const answers = new Set<string>();
    for (const email of emails) {
      const { sent, maskedEmail } = demand(await asVoter(event, '/voter-key/request', { email }), 200);
      answers.add(`${sent} ${maskedEmail.slice(1)}`);
    }
    await settled();
    const [pending = '', rejected = '', approved = ''] = emails.map(
      (email) => service.mails(before).find((mail) => recipientOf(mail) === email) ?? '',
    );
    expect(pending).toContain('still waits for the approval');
    expect(rejected).toContain('have not approved your registration');
    expect([pending, rejected].map(voterKeyIn)).toEqual([undefined, undefined]);
    expect(voterKeyIn(approved)).toBeDefined();
    expect(answers).toEqual(new Set(['true ***@a***.example']));
    expect(service.mails(before)).toHaveLength(3);
  });

  test('counts for the voter, too, whose address changes meanwhile', async () => {
    const event = await create({ voter: { requireVoterId: true } });
    const id = await addVoter(event, { email: 'before@moves.example', voterId: 'S-8' });
    const request = () => asVoter(event, '/voter-key/request', { voterId: 'S-8' });
    for (let time = 0; time < 5; time += 1) await request();
    await settled();
    demand(await asOrganizer(event, 'PATCH', `/voters/${id}`, { email: 'after@moves.example' }), 200);
    await request();
    await settled();
    expect(mailsTo('before@moves.example').filter(voterKeyIn)).toHaveLength(5);
    expect(mailsTo('after@moves.example')).toEqual([]);
  });

  test('is answered the same beyond the fifth in an hour, and mails nothing more', async () => {
    const event = await create({ voter: { requireVoterId: true } });
    await addVoter(event, { email: 'seven@limits.example', voterId: 'S-7' });
    const answers = new Set<string>();
    for (let time = 0; time < 7; time += 1)
      answers.add(JSON.stringify((await asVoter(event, '/voter-key/request', { voterId: 'S-7' })).body));
    await settled();
    expect(answers.size).toBe(1);
    expect(mailsTo('seven@limits.example')).toHaveLength(5);
  });
});
