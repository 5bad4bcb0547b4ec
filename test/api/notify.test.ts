import { describe, expect, test } from 'vitest';
import { takeMail } from '#src/accounts/take-mail.ts';
import { demand, expectFields, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { finishEvent, PLURALITY, type TestEvent, votesFor } from '#test/harness/elections.ts';
import { voterKeyIn } from '#test/harness/mails.ts';
import { readMails } from '#test/harness/read-mail.ts';
import { eventually, patiently, type TestAnswer, untilTrue, useAccount } from '#test/harness/test-service.ts';

const HOUR_MS = 3_600_000;

const { service, account } = await useAccount();
const { of } = account;

const create = (settings: object = {}, open = true): Promise<TestEvent> =>
  account.event({ type: 'election', ...settings }, PLURALITY, open);
const notify = (event: TestEvent, audience: string, kind: string): Promise<TestAnswer> =>
  of(event).post('/voters/notify', { audience, kind });
const query = (text: string, ...values: unknown[]) => service.query(text, values);

/** Adds voters, and returns their IDs. */
async function addVoters(event: TestEvent, voters: readonly object[]): Promise<string[]> {
  const rows = voters.map((voter, index) => ({ name: `Voter ${index}`, ...voter }));
  const added = await of(event).make('/voters/batch', { voters: rows });
  return valuesOf(added, 'id');
}
const addresses = (event: TestEvent, ...names: string[]): { email: string }[] =>
  names.map((name) => ({ email: `${name}@${event.code.toLowerCase()}.example` }));

const mailsOf = (event: TestEvent) =>
  readMails(service).filter(({ to }) => to.endsWith(`@${event.code.toLowerCase()}.example`));
const receivers = (event: TestEvent): string[] =>
  mailsOf(event)
    .map(({ to }) => to.split('@')[0] ?? '')
    .sort();

const ended = (event: TestEvent, id: string) =>
  eventually(async () => {
    const shown = await of(event).show(`/notifications/${id}`);
    return shown.finishedAt === null ? undefined : shown;
  });

/** Asks for mails, and waits until all of them have come to an end. */
async function notifyAll(event: TestEvent, audience: string, kind: string) {
  const { id, queued } = demand(await notify(event, audience, kind), 202);
  return { queued, ...(await ended(event, id)) };
}

/** Casts and confirms the ballot of a voter whose key was mailed. */
async function vote(event: TestEvent, email: string): Promise<void> {
  const mail = mailsOf(event).findLast(({ to }) => to === email);
  const votes = votesFor(event);
  const cast = { voterKey: voterKeyIn(mail?.text ?? ''), email, votes };
  await account.ballot(event, cast);
}

/** Whether a mail of a notification waits for a limit to be over. */
const waits = async (id: string): Promise<boolean> =>
  (await query("SELECT 1 FROM jobs WHERE payload->>'notificationId' = $1 AND run_at > now_ms()", id)).length > 0;

/** As if the limits that keep a notification's mails back were over. */
async function endLimit(id: string): Promise<void> {
  await untilTrue(() => waits(id));
  await query('DELETE FROM mail_quotas');
  await query("SELECT 1 FROM run_jobs_again(ARRAY(SELECT id FROM jobs WHERE payload->>'notificationId' = $1))", id);
}

describe('mails to many voters', () => {
  test('go to every approved voter with an address, once, and their progress is shown', async () => {
    const event = await create();
    const [, , rejected] = await addVoters(event, [...addresses(event, 'a', 'b', 'rejected'), { voterId: 'M-1' }]);
    await of(event).change(`/voters/${rejected}`, { status: 'rejected' });
    const end = await notifyAll(event, 'all', 'key');
    expect(end).toEqual({
      ...{ id: expect.stringMatching(/^ntf_/), queued: 2, kind: 'key', audience: 'all', total: 2, sent: 2, failed: 0 },
      ...{ handled: 2, pausedUntil: null, limitReached: false, failing: false },
      ...{ skipped: 0, startedAt: expect.any(Number), finishedAt: expect.any(Number) },
    });
    expect(receivers(event)).toEqual(['a', 'b']);
    const keys = mailsOf(event).map(({ text }) => voterKeyIn(text));
    expect(new Set(keys).size).toBe(2);
    await vote(event, `a@${event.code.toLowerCase()}.example`);
    const listed = await of(event).show('/voters?keyStatus=sent');
    expect(listed).toHaveLength(2);
    const audit = await of(event).show('/audit?action=voters.notified');
    expect(audit).toMatchObject([{ resource: end.id, after: { audience: 'all', kind: 'key', total: 2 } }]);
  });

  test('of one kind come to a voter at least 24 hours apart, reminders 6 hours', async () => {
    const event = await create();
    await addVoters(event, addresses(event, 'a'));
    const back = (ms: number) =>
      query('UPDATE notified_voters SET notified_at = notified_at - $2 WHERE voting_event_id = $1', event.id, ms);
    expect(await notifyAll(event, 'all', 'key')).toMatchObject({ queued: 1, sent: 1 });
    expect(await notifyAll(event, 'all', 'reminder')).toMatchObject({ queued: 1, sent: 1 });
    await addVoters(event, addresses(event, 'b'));
    const partly = await notifyAll(event, 'all', 'key');
    expect(partly).toMatchObject({ queued: 1, total: 2, handled: 2, sent: 1, skipped: 1 });
    expect(partly.pausedUntil).toBeGreaterThan(Date.now() + 23 * HOUR_MS);
    await back(6 * HOUR_MS + 1_000);
    expect(await notifyAll(event, 'all', 'key')).toMatchObject({ queued: 0, sent: 0, skipped: 2 });
    expect(await notifyAll(event, 'all', 'reminder')).toMatchObject({ queued: 2, sent: 2 });
    await back(24 * HOUR_MS);
    expect(await notifyAll(event, 'all', 'key')).toMatchObject({ queued: 2, sent: 2 });
  });

  test('go to those without a valid key: never mailed, or their address changed', async () => {
    const event = await create();
    const [, b] = await addVoters(event, addresses(event, 'a', 'b'));
    expect(await notifyAll(event, 'not_invited', 'key')).toMatchObject({ queued: 2, sent: 2 });
    await addVoters(event, addresses(event, 'c'));
    expect(await notifyAll(event, 'not_invited', 'key')).toMatchObject({ queued: 1, total: 1, sent: 1, skipped: 0 });
    const [other] = addresses(event, 'b2');
    await of(event).change(`/voters/${b}`, { ...other });
    await query('DELETE FROM notified_voters WHERE voting_event_id = $1', event.id);
    expect(await notifyAll(event, 'not_invited', 'key')).toMatchObject({ queued: 1, sent: 1 });
    // The notice to the old address is among them.
    expect(receivers(event)).toEqual(['a', 'b', 'b', 'b2', 'c']);
  });

  test('remind in their own words, and bring a key that votes', async () => {
    const event = await create({ votingPageUrl: 'https://vote.example/#{voterKey}' });
    await addVoters(event, addresses(event, 'a'));
    await notifyAll(event, 'all', 'reminder');
    const [mail] = mailsOf(event);
    expect(mail?.subject).toBe('Reminder: "An event"');
    expect(mail?.text).toContain(`https://vote.example/#${voterKeyIn(mail?.text ?? '')}`);
    await vote(event, mail?.to ?? '');
  });

  test('to those who have not voted pass over who has, and show nothing of it before the result is final', async () => {
    const event = await create();
    const voters = addresses(event, 'a', 'b', 'c');
    await addVoters(event, voters);
    await notifyAll(event, 'all', 'key');
    await vote(event, voters[0]?.email ?? '');
    const before = receivers(event);
    const end = await notifyAll(event, 'not_voted', 'reminder');
    expect(end).toMatchObject({ queued: 3, total: 3, handled: 3, sent: null, failed: null, skipped: null });
    expect(receivers(event)).toEqual([...before, 'b', 'c'].sort());
    // The other audiences do not depend on who voted.
    expect(await notifyAll(event, 'all', 'reminder')).toMatchObject({ queued: 0, total: 3, skipped: 3 });
    await finishEvent(service, event.id);
    const final = await of(event).show(`/notifications/${end.id}`);
    expect(final).toMatchObject({ total: 3, sent: 2, failed: 0, skipped: 1 });
  });

  test.each([
    ['key', true],
    ['reminder', true],
    ['key', false],
    ['reminder', false],
  ])('to those who have not voted (%s, new addresses: %s) leave voters and non-voters alike', async (kind, isMoved) => {
    const event = await create();
    const voters = addresses(event, 'a', 'b', 'c', 'd', 'e', 'f');
    const ids = await addVoters(event, voters);
    await notifyAll(event, 'all', 'key');
    for (const voter of voters.slice(0, 2)) await vote(event, voter.email);
    const moved = addresses(event, 'a2', 'b2', 'c2', 'd2', 'e2', 'f2');
    for (const [at, id] of isMoved ? ids.entries() : []) await of(event).change(`/voters/${id}`, moved[at]);
    // A pause of mails that was claimed for the first ones.
    await query('DELETE FROM notified_voters WHERE voting_event_id = $1', event.id);
    // Without the notices of the change, which come at their own time.
    const keyReceivers = () =>
      mailsOf(event).flatMap(({ to, subject }) => (subject.includes('changed') ? [] : (to.split('@')[0] ?? '')));
    const before = keyReceivers();
    expect(await notifyAll(event, 'not_voted', kind)).toMatchObject({ queued: 6, total: 6, handled: 6, sent: null });
    const shown = await of(event).show('/voters');
    expect(shown).toHaveLength(6);
    expect(new Set(valuesOf(shown, 'keyStatus'))).toEqual(new Set(['sent']));
    const mailed = ['c', 'd', 'e', 'f'].map((name) => (isMoved ? `${name}2` : name));
    expect(keyReceivers().sort()).toEqual([...before, ...mailed].sort());
    // Nor does what may be mailed next say who has none.
    expect(await notifyAll(event, 'not_invited', 'key')).toMatchObject({ queued: 0, total: 0 });
    const counts = 'count(DISTINCT voter_id)::int AS voters, count(*)::int AS keys';
    const rows = await query(`SELECT ${counts} FROM voter_keys WHERE voting_event_id = $1`, event.id);
    expect(rows).toEqual([{ voters: 6, keys: isMoved ? 6 : 12 }]);
  });

  test('wait for the next day where an account has used up its mails, and go out by themselves', async () => {
    const free = await service.account('free');
    const event = await free.event({ type: 'election' });
    await free.of(event).make('/voters', { name: 'A', ...addresses(event, 'a')[0] });
    for (let count = 0; count < 500; count += 1)
      await takeMail(service.deps.db, service.deps.secrets, {
        ...{ to: `x${count}@used.example`, accountId: free.id, votingEventId: 'evt_used' },
      });
    const { id } = demand(await free.of(event).post('/voters/notify', { audience: 'all', kind: 'key' }), 202);
    const read = async () => demand(await patiently(() => free.of(event).get(`/notifications/${id}`)), 200);
    const limited = await eventually(async () => ((await read()).limitReached === true ? read() : undefined));
    expect(limited).toMatchObject({ total: 1, handled: 0, sent: 0, skipped: 0, finishedAt: null });
    await endLimit(id);
    const end = await eventually(async () => ((await read()).finishedAt === null ? undefined : read()));
    expect(end).toMatchObject({ total: 1, handled: 1, sent: 1, skipped: 0, limitReached: false });
  });

  // After a rehearsal, or five mails in an hour, notify skipped the voter.
  test('wait where a voter has had the mails of an hour, and go out when it is over, with answers to the organizer', async () => {
    const event = await create({ contactEmail: 'board@club.example' });
    const [voterId] = await addVoters(event, addresses(event, 'a'));
    for (let mails = 0; mails < 5; mails += 1) demand(await of(event).post(`/voters/${voterId}/voter-key`), 202);
    await untilTrue(() => mailsOf(event).length === 5);
    const { id } = demand(await notify(event, 'all', 'reminder'), 202);
    await untilTrue(() => waits(id));
    const waiting = await of(event).show(`/notifications/${id}`);
    expect(waiting).toMatchObject({ handled: 0, skipped: 0, limitReached: false, finishedAt: null });
    await endLimit(id);
    await untilTrue(() => mailsOf(event).length === 6);
    expect(await ended(event, id)).toMatchObject({ handled: 1, sent: 1 });
    expect(mailsOf(event).at(-1)?.text).toContain('board@club.example');
    const raw = service.mails().filter((text) => text.includes(`a@${event.code.toLowerCase()}.example`));
    expect(raw.filter((text) => /^Reply-To: board@club\.example$/m.test(text))).toHaveLength(6);
  });

  test('asked for twice at once through two processes come to each voter once', async () => {
    const event = await create();
    const names = Array.from({ length: 60 }, (_, index) => `v${index}`);
    await addVoters(event, addresses(event, ...names));
    const [path, body] = [`/voting-events/${event.id}/voters/notify`, { audience: 'all', kind: 'key' }];
    const answers = await service.onTwo(4, (on) => on.call('POST', path, body, { key: account.write }));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    const all = await Promise.all(answers.map((answer) => ended(event, answer.body.data.id)));
    const sum = (name: string): number => valuesOf(all, name).reduce((total, one) => total + one, 0);
    expect([sum('sent'), sum('skipped'), sum('failed')]).toEqual([60, 180, 0]);
    expect(receivers(event)).toEqual([...names].sort());
  });

  test('end with the close, and none begin after it', async () => {
    const event = await create();
    await addVoters(event, addresses(event, 'a'));
    await of(event).change('', { status: 'closed' });
    expect(refusalOf(await notify(event, 'all', 'key'))).toEqual([409, 'event_closed']);
    const [{ id: voterId }] = await of(event).show('/voters');
    expect(refusalOf(await of(event).post(`/voters/${voterId}/voter-key`))).toEqual([409, 'event_closed']);
    const stuck = 'ntf_stuck';
    await query(
      `INSERT INTO notifications (voting_event_id, id, kind, audience, total, list_until, created_at)
       VALUES ($1, $2, 'key', 'all', 1, '', now_ms())`,
      event.id,
      stuck,
    );
    await finishEvent(service, event.id);
    const shown = await of(event).show(`/notifications/${stuck}`);
    expect(shown).toMatchObject({ skipped: 1, finishedAt: expect.any(Number) });
  });

  test('go with their event', async () => {
    const event = await create();
    await addVoters(event, addresses(event, 'a'));
    await notifyAll(event, 'all', 'key');
    expect((await of(event).delete('')).status).toBe(204);
    await untilTrue(async () => (await query('SELECT 1 FROM voting_events WHERE id = $1', event.id)).length === 0);
    for (const table of ['notifications', 'notification_mails', 'notified_voters'])
      expect(await query(`SELECT 1 FROM ${table} WHERE voting_event_id = $1`, event.id)).toEqual([]);
  });
});

describe('the routes of mails to many voters', () => {
  test('refuse what is not theirs, and mail nobody then', async () => {
    const event = await create();
    await addVoters(event, addresses(event, 'a'));
    const path = `/voting-events/${event.id}/voters/notify`;
    const body = { audience: 'all', kind: 'key' };
    await expectFields(account, path, [
      [{}, 'audience'],
      [{ audience: 'all' }, 'kind'],
      [{ audience: 'some', kind: 'key' }, 'audience'],
      [{ audience: 'all', kind: 'letter' }, 'kind'],
      [{ ...body, voterIds: [] }, 'voterIds'],
      [{ audience: null, kind: 'key' }, 'audience'],
    ]);
    expect(refusalOf(await of(event).get('/notifications/ntf_x'))).toEqual([404, 'not_found']);
    expect((await of(event).get('/notifications')).body).toEqual({ data: [], nextCursor: null });
    const poll = await account.event();
    expect(refusalOf(await notify(poll, 'all', 'key'))).toEqual([409, 'not_an_election']);
    expect(receivers(event)).toEqual([]);
  });

  // A draft that could not open mailed every voter a key.
  test('mail nobody before the opening but by a word that says so, where the event is scheduled and ready', async () => {
    const event = await create({}, false);
    const [voterId] = await addVoters(event, addresses(event, 'a'));
    const refused = async (status: string, beforeOpening: boolean) => {
      for (const path of ['/voters/notify', `/voters/${voterId}/voter-key`]) {
        const body = path === '/voters/notify' ? { audience: 'all', kind: 'key' } : {};
        const answer = await of(event).post(path, beforeOpening ? { ...body, beforeOpening } : body);
        const reason = status === 'unready' ? 'not_ready' : 'event_not_open';
        expect(refusalOf(answer), status).toEqual([409, reason]);
      }
    };
    await refused('draft', false);
    await refused('draft', true);
    await of(event).change('', { startsAt: Date.now() + HOUR_MS });
    await refused('scheduled', false);
    const [position] = event.positions;
    for (const status of ['withdrawn', 'approved']) {
      for (const id of position?.candidates ?? []) await of(event).change(`/candidates/${id}`, { status });
      if (status === 'withdrawn') await refused('unready', true);
    }
    expect(receivers(event)).toEqual([]);
    const body = { audience: 'all', kind: 'key', beforeOpening: true };
    demand(await of(event).post('/voters/notify', body), 202);
    const [mail] = await eventually(async () => (mailsOf(event).length > 0 ? mailsOf(event) : undefined));
    expect(mail?.text).toContain('Voting begins on');
    demand(await of(event).post(`/voters/${voterId}/voter-key`, { beforeOpening: true }), 202);
  });

  test('of a rehearsal are paused by each other alone, and pause none of the election', async () => {
    const event = await create({}, false);
    await addVoters(event, addresses(event, 'a'));
    await of(event).change('', { startsAt: Date.now() + HOUR_MS });
    const notify = async (): Promise<number> => {
      const body = { audience: 'all', kind: 'key', beforeOpening: true };
      const { id, queued } = demand(await of(event).post('/voters/notify', body), 202);
      const ended = await eventually(async () => {
        const run = await of(event).show(`/notifications/${id}`);
        return run.finishedAt === null ? undefined : run;
      });
      expect([ended.sent, ended.skipped]).toEqual([queued, 1 - queued]);
      return queued;
    };
    expect([await notify(), await notify()]).toEqual([1, 0]);
    await of(event).change('', { status: 'rehearsal' });
    expect([await notify(), await notify()]).toEqual([1, 0]);
    await of(event).change('', { status: 'open' });
    expect(await notify()).toBe(0);
  });

  test('give a repeat under one Idempotency-Key the first answer, and mail once', async () => {
    const event = await create();
    await addVoters(event, addresses(event, 'a'));
    const body = { audience: 'all', kind: 'key' };
    const ask = () => of({ id: event.code }).post('/voters/notify', body, { 'Idempotency-Key': event.id });
    const [first, second] = [await ask(), await ask()];
    expect([second.body, second.headers.get('idempotent-replayed')]).toEqual([first.body, 'true']);
    expect(await of(event).show('/notifications')).toHaveLength(1);
    expect(await of(event).show('/notifications?kind=reminder')).toEqual([]);
    expect(await of(event).show('/notifications?audience=all&search=key')).toHaveLength(1);
  });
});
