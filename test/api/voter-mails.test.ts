import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { takeMail } from '#src/accounts/take-mail.ts';
import { demand, valuesOf } from '#test/harness/answers.ts';
import { createObserverKey } from '#test/harness/ballot-log.ts';
import { finishEvent, type TestEvent, votesFor } from '#test/harness/elections.ts';
import { recipientOf, voterKeyIn } from '#test/harness/mails.ts';
import { readMail } from '#test/harness/read-mail.ts';
import { untilTrue, useAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const { service, account } = await useAccount();
const { of } = account;

const take = async (to: string, accountId = account.id, votingEventId = 'evt_one'): Promise<boolean> =>
  (await takeMail(service.deps.db, service.deps.secrets, { to, accountId, votingEventId })) === undefined;
const query = (text: string, ...values: unknown[]) => service.query(text, values);
const timePasses = (ms: number) => query('UPDATE mail_quotas SET began_at = began_at - $1::bigint', ms);

/** How many of so many mails may go out. */
async function taken(times: number, to: string, accountId?: string, votingEventId?: string): Promise<number> {
  let count = 0;
  for (let time = 0; time < times; time += 1) if (await take(to, accountId, votingEventId)) count += 1;
  return count;
}

/** Waits until every job that is due has run. */
const settled = () =>
  untilTrue(async () => (await query('SELECT 1 FROM jobs WHERE run_at <= now_ms() LIMIT 1')).length === 0);
const mailsTo = (address: string): string[] => service.mails().filter((mail) => recipientOf(mail) === address);

const create = (settings: object = {}): Promise<TestEvent> => account.event({ type: 'election', ...settings });
const addVoter = async (event: TestEvent, voter: object): Promise<string> =>
  (await of(event).make('/voters', { name: 'Vera', ...voter })).id;

test('with a key say what to do who did not ask for it, but not where an organizer mails the whole roll', async () => {
  const [event, email] = [await create(), 'invited@club.example'];
  await addVoter(event, { email });
  const asksWhoAsked = () => mailsTo(email).map((mail) => readMail(mail).text.includes('You did not ask for a key?'));
  demand(await account.post(`/voting-events/${event.id}/voters/notify`, { kind: 'key', audience: 'all' }), 202);
  await untilTrue(() => asksWhoAsked().length === 1);
  demand(await account.page(event, 'voter-key/request', { email }), 200);
  await untilTrue(() => asksWhoAsked().length === 2);
  expect(asksWhoAsked()).toEqual([false, true]);
});

// Completions 1.4: addresses are compared whatever the case of their letters.
test('an address in other letters of the same name is no new identity: nobody is warned, and its key stays', async () => {
  const event = await create();
  const email = `Vera@${event.code.toLowerCase()}.example`;
  const id = await addVoter(event, { email });
  demand(await account.page(event, 'voter-key/request', { email }), 200);
  await of(event).change(`/voters/${id}`, { email: email.toLowerCase() });
  await settled();
  expect([...mailsTo(email), ...mailsTo(email.toLowerCase())]).toHaveLength(1);
  expect((await of(event).show('/stats')).identityChanges).toBe(0);
  expect((await of(event).show(`/voters/${id}`)).keyStatus).toBe('sent');
});

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

  test('that a limit refuses use up no other, and of many at once no more go out than each limit allows', async () => {
    const address = 'burst@limits.example';
    const at = (eventId: string) => take(address, account.id, eventId);
    const burst = await Promise.all(Array.from({ length: 20 }, () => at('evt_burst')));
    expect(burst.filter((isSent) => isSent)).toHaveLength(5);
    const mailsOfAccount = async () =>
      valuesOf(await query('SELECT max(mails) AS mails FROM mail_quotas WHERE window_ms = $1', DAY_MS), 'mails');
    const before = await mailsOfAccount();
    expect(await taken(20, address, account.id, 'evt_burst')).toBe(0);
    expect(await mailsOfAccount()).toEqual(before);
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
        await account.page(event, 'voter-key/request', { email });
      },
      async organizer(event, email) {
        const id = await addVoter(event, { email });
        await of(event).post(`/voters/${id}/voter-key`);
      },
      rejected: async (event, email) => {
        const id = await addVoter(event, { email });
        await of(event).patch(`/voters/${id}`, { status: 'rejected' });
        await account.page(event, 'voter-key/request', { email });
      },
      registration: (event, email) => account.page(event, 'register/voter', { name: 'Vera', email }),
      invite: (event, email) => of(event).post('/invites', { email, role: 'viewer' }),
      async correction(event, email) {
        const id = await addVoter(event, { email });
        await of(event).patch(`/voters/${id}`, { email: `new-${email}` });
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
    valuesOf(await query("SELECT encode(name, 'hex') AS name FROM mail_quotas WHERE window_ms = $1", DAY_MS), 'name');
  const others = new Set(await rows());
  expect(await take('first@plan.example', id)).toBe(true);
  const added = (await rows()).filter((name) => !others.has(name));
  expect(await take('second@plan.example', id)).toBe(true);
  // Of the two rows that the first mail made, the account's is the one that the second counted too; as if all but one were sent.
  const both = "encode(name, 'hex') = ANY ($2) AND window_ms = $3 AND mails = 2";
  await query(`UPDATE mail_quotas SET mails = $1 WHERE ${both}`, most - 1, added, DAY_MS);
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
    const answer = demand(await account.page(event, 'voter-key/request', { email: 'nobody@strangers.example' }), 200);
    expect(answer).toEqual({ sent: true, maskedEmail: 'n***@s***.example' });
    await settled();
    expect(service.mails()).toHaveLength(before);
  });

  test('of who waits for approval, or was rejected, mails that and no key; the answer is the same', async () => {
    const event = await create({ voter: { selfRegistration: true, approval: 'manual' } });
    const emails = ['pending', 'rejected', 'approved'].map((status) => `${status}@approval.example`);
    const ids: string[] = [];
    for (const email of emails)
      ids.push(demand(await account.page(event, 'register/voter', { name: 'Vera', email }), 201).id);
    for (const [index, status] of [undefined, 'rejected', 'approved'].entries())
      if (status !== undefined) await of(event).change(`/voters/${ids[index]}`, { status });
    await settled();
    const before = service.mails().length;
    const answers = new Set<string>();
    for (const email of emails) {
      const { sent, maskedEmail } = demand(await account.page(event, 'voter-key/request', { email }), 200);
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
    const request = () => account.page(event, 'voter-key/request', { voterId: 'S-8' });
    for (let time = 0; time < 5; time += 1) await request();
    await settled();
    await of(event).change(`/voters/${id}`, { email: 'after@moves.example' });
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
      answers.add(JSON.stringify((await account.page(event, 'voter-key/request', { voterId: 'S-7' })).body));
    await settled();
    expect(answers.size).toBe(1);
    expect(mailsTo('seven@limits.example')).toHaveLength(5);
  });
});

describe('the mask of an address', () => {
  const rows = Array.from({ length: 60 }, (_, index) => ({
    name: `Voter ${index}`,
    voterId: `M-${index}`,
    // Two domains and endings, and names that begin with one of three letters.
    email: `${'xyz'.charAt(index % 3)}${index}@${index % 2 === 0 ? 'quad.museum' : 'wide.aero'}`,
  }));

  async function createRoll(voters: readonly object[], requireVoterId = true) {
    const event = await account.event({ type: 'election', voter: { requireVoterId } });
    if (voters.length > 0) await account.make(`/voting-events/${event.id}/voters/batch`, { voters });
    return event;
  }
  const maskOf = async (event: { id: string }, voterId: string): Promise<string> =>
    demand(await account.page(event, 'voter-key/request', { voterId }), 200).maskedEmail;
  const MASK = /^[xyz]\*\*\*@[qw]\*\*\*\.(museum|aero)$/;

  test('of an unknown voter ID is made of parts that the roll has, and stays the same', async () => {
    const event = await createRoll(rows);
    const masks = new Set<string>();
    for (let index = 0; index < 40; index += 1) {
      const mask = await maskOf(event, `nobody-${index}`);
      expect(mask).toMatch(MASK);
      expect(await maskOf(event, `nobody-${index}`)).toBe(mask);
      masks.add(mask);
    }
    expect(masks.size).toBeGreaterThan(5);
    // No voter has this domain with that ending: each part is of a voter of its own.
    expect([...masks].some((mask) => /q\*\*\*\.aero|w\*\*\*\.museum/.test(mask))).toBe(true);
    expect(await maskOf(event, 'M-1')).toBe('y***@w***.aero');
  });

  test('of a voter without an address is invented as for an unknown one', async () => {
    const event = await createRoll([...rows, { name: 'Nemo', voterId: 'M-none' }]);
    expect(await maskOf(event, 'M-none')).toMatch(MASK);
  });

  test('is made of voters without a voter ID where there are no others', async () => {
    const unnamed = rows.map(({ name, email }) => ({ name, email }));
    const event = await createRoll(unnamed, false);
    expect(await maskOf(event, 'M-1')).toMatch(MASK);
  });

  test('of an empty roll says nothing', async () => {
    expect(await maskOf(await createRoll([]), 'nobody')).toBe('***@***');
  });
});

describe('mails to an address', () => {
  const sell = (settings = {}) => create({ title: 'Buy now', ...settings });

  test('are counted by address, however often its voter is deleted and made anew, or it is invited', async () => {
    const event = await sell();
    const email = 'victim@strangers.example';
    for (let times = 0; times < 8; times += 1) {
      const voter = await of(event).make('/voters', { name: 'V', email });
      await account.page(event, 'voter-key/request', { email });
      await settled();
      await of(event).delete(`/voters/${voter.id}`);
      const invite = await of(event).make('/invites', { email, role: 'viewer' });
      await settled();
      await of(event).delete(`/invites/${invite.id}`);
    }
    expect(mailsTo(email)).toHaveLength(5);
    expect(mailsTo(email).every((mail) => mail.includes('"Buy now"'))).toBe(true);
  });

  test('hold nothing of a registrant but a plain name, until the address is confirmed', async () => {
    const event = await sell({ voter: { selfRegistration: true } });
    const refused = ['Win at spam.example', 'Call 555', 'x@y.example', 'https://spam', 'A'.repeat(41)];
    const names = [...refused, 'Dr. Anna-Lena O’Neill'];
    for (const [index, name] of names.entries()) {
      const email = `r${index}@strangers.example`;
      demand(await account.page(event, 'register/voter', { name, email }), 201);
      await account.page(event, 'voter-key/request', { email });
    }
    await settled();
    const told = refused.map((name, index) =>
      mailsTo(`r${index}@strangers.example`).filter((mail) => mail.includes(name)),
    );
    expect(told).toEqual(refused.map(() => []));
    // Encoded where it is not ASCII, so that the plain part of it is looked for.
    expect(mailsTo('r5@strangers.example').filter((mail) => mail.includes('Hello Dr. Anna-Lena'))).toHaveLength(1);
  });

  test('tell the old address when an organizer changes it, and the change is counted and named', async () => {
    const event = await sell();
    const path = `/voting-events/${event.id}`;
    const email = 'absent@strangers.example';
    const { id } = await account.make(`${path}/voters`, { name: 'Ab Sent', email });
    await account.change(`${path}/voters/${id}`, { email: 'mine@strangers.example' });
    await account.change(`${path}/voters/${id}`, { weight: 2 });
    await settled();
    expect(mailsTo(email)).toHaveLength(1);
    expect(readMail(mailsTo(email)[0] ?? '').text).toMatch(/changed the e-mail address/);
    const stats = await account.show(`${path}/stats`);
    expect([stats.identityChanges, stats.rollChanges]).toEqual([1, 1]);
    const audit = await account.show(`${path}/audit?action=voter.identity_changed`);
    expect(audit).toHaveLength(1);
  });
});

describe('results', () => {
  test('carry how often the roll was changed after the opening, in answers, files, and the output of the verifier', async () => {
    const event = await account.event({
      type: 'election',
      results: { visibility: 'published' },
      voter: { selfRegistration: true },
    });
    const path = `/voting-events/${event.id}`;
    const voters: string[] = [];
    for (const name of ['ann', 'ben', 'cat', 'dan']) {
      const body = { name, email: `${name}@strangers.example` };
      voters.push((await account.make(`${path}/voters`, body)).id);
    }
    const change = async (index: number, body: object) => await account.change(`${path}/voters/${voters[index]}`, body);
    await change(0, { email: 'mine@strangers.example' });
    await change(0, { email: 'ann@strangers.example' });
    await change(1, { weight: 2 });
    expect((await account.delete(`${path}/voters/${voters[2]}`)).status).toBe(202);
    await change(3, { status: 'rejected' });
    await finishEvent(service, event.id);
    // Erased once the result is final: every figure stays.
    expect((await account.delete(`${path}/voters/${voters[1]}`)).status).toBe(202);
    const counted = { identityChanges: 2, rollChanges: 3 };
    const own = await account.show(`${path}/results`);
    expect(own.stats).toMatchObject(counted);
    expect(demand(await account.page(event, 'results'), 200).stats).toMatchObject(counted);
    const download = async (kind: string) => (await account.download(`${path}/results/${kind}`)).body;
    expect((await download('json')).data.stats).toMatchObject(counted);
    const csv: string = await download('csv');
    expect(csv).toMatch(/identityChanges[^\r\n]*\b2\b/);
    expect(csv).toMatch(/rollChanges[^\r\n]*\b3\b/);
    const run = promisify(execFile);
    const base = ['verifier/main.ts', '--base-url', service.url, '--event', event.id];
    const env = { ...process.env, VOTING_KEY: await createObserverKey(service, account, event.id) };
    const { stdout } = await run(process.execPath, base, { env });
    expect(stdout).toMatch(/2 changes of a voter's e-mail or voter ID, 3 other changes of the roll/);
    const { stdout: json } = await run(process.execPath, [...base, '--json'], { env });
    expect(JSON.parse(json).rollAfterOpening).toEqual(counted);
  });
});

describe('over the limit of an address goes out once the limit begins again', () => {
  const CAUSES: Readonly<Record<string, (event: TestEvent, email: string) => Promise<unknown>>> = {
    'an invite': (event, email) => of(event).make('/invites', { email, role: 'viewer' }),
    async 'the warning that an address was changed'(event, email) {
      const id = await addVoter(event, { email });
      await of(event).change(`/voters/${id}`, { email: `new-${email}` });
    },
    async 'word that an event did not open'(event, contactEmail) {
      await of(event).change('', { contactEmail, endsAt: Date.now() + HOUR_MS });
      for (const id of event.positions[0]?.candidates ?? []) demand(await of(event).delete(`/candidates/${id}`), 202);
      await of(event).change('', { startsAt: Date.now() - 1 });
    },
  };

  test('one warning of many changes, also where the address is in use again: others may have voted with its keys', async () => {
    const [event, email] = [await create(), 'away@changes.example'];
    const id = await addVoter(event, { email });
    expect(await taken(5, email, account.id, event.id)).toBe(5);
    for (const to of ['one', email, 'two', email, 'three'].map((name) => name.replace(/^\w+$/, '$&@changes.example')))
      await of(event).change(`/voters/${id}`, { email: to });
    await settled();
    const waiting = `SELECT 1 FROM jobs WHERE name = 'mail_old_address' AND run_at > now_ms() AND payload ->> 'voterId' = $1`;
    expect((await query(waiting, id)).length).toBe(1);
    await of(event).change(`/voters/${id}`, { email });
    await timePasses(HOUR_MS);
    await query('UPDATE jobs SET run_at = run_at - $1::bigint', HOUR_MS);
    await untilTrue(async () => (await query(waiting, id)).length === 0);
    await untilTrue(() => mailsTo(email).length === 1);
    expect(readMail(mailsTo(email)[0] ?? '').text).toContain('have changed it back since');
  });

  test('the warning to a member in whose place somebody voted, also where the voter is erased before', async () => {
    const event = await account.event({ type: 'election' });
    const email = 'robbed@changes.example';
    const id = await addVoter(event, { email });
    expect(await taken(5, email, account.id, event.id)).toBe(5);
    await of(event).change(`/voters/${id}`, { email: 'thief@changes.example' });
    const voterKey = await giveVoterKey(service, event.id, id);
    await account.ballot(event, { email: 'thief@changes.example', voterKey, votes: votesFor(event) });
    await settled();
    await of(event).change('', { status: 'closed' });
    await finishEvent(service, event.id);
    demand(await of(event).delete(`/voters/${id}`), 202);
    await settled();
    await timePasses(HOUR_MS);
    await query('UPDATE jobs SET run_at = run_at - $1::bigint', HOUR_MS);
    await untilTrue(() => mailsTo(email).length === 1);
  });

  test.for(Object.keys(CAUSES))('%s', async (cause) => {
    const event = await account.event({ type: 'election' }, undefined, false);
    const email = `guest-${event.id}@mail.example`;
    expect(await taken(5, email, account.id, event.id)).toBe(5);
    await CAUSES[cause]?.(event, email);
    await settled();
    expect(mailsTo(email)).toEqual([]);
    await timePasses(HOUR_MS);
    await query('UPDATE jobs SET run_at = run_at - $1::bigint', HOUR_MS);
    await untilTrue(async () => mailsTo(email).length === 1);
  });
});
