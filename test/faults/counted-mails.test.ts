import { randomBytes } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import type { Deps } from '#src/deps.ts';
import { retryFailedJobs } from '#src/jobs/inspect.ts';
import { runJobs } from '#src/jobs/run-jobs.ts';
import { MailFault } from '#src/mail/mailer.ts';
import { allJobs } from '#src/work.ts';
import { cellsOf } from '#test/harness/cells.ts';
import { createTestEvent, demand, PLURALITY } from '#test/harness/elections.ts';
import { startMailServer } from '#test/harness/mail-server.ts';
import { voterKeyIn } from '#test/harness/mails.ts';
import { startTestService, untilTrue, useService } from '#test/harness/test-service.ts';
import { use, useDatabase } from '#test/harness/use.ts';

const service = await useService({ worker: false });
const { query } = service;

/** Runs every job that is due. @param names of the jobs that it leaves waiting */
async function work(names: readonly string[] = [], deps: Deps = service.deps): Promise<void> {
  const jobs = allJobs(deps).filter(({ name }) => !names.includes(name));
  const runner = await runJobs(deps.jobDatabases.deletions, deps.log, jobs, []);
  await untilTrue(async () => {
    runner.wake();
    const due = 'SELECT FROM jobs WHERE attempts < max_attempts AND run_at <= now_ms() + 1000 AND name <> ALL ($1)';
    return (await deps.db.$client.query(due, [names])).rowCount === 0;
  });
  await runner.stop();
}

test.each([false, true])(
  'a voter gets no mail over the five of the hour (its job was taken by a process that then died: %s)',
  async (died) => {
    const account = await service.account();
    const event = await createTestEvent(service, account, { type: 'election' });
    const own = account.of(event);
    const email = `vera-${died}@club.example`;
    const { id } = await own.make('/voters', { name: 'Vera', email });
    const mails = () => service.mails().filter((mail) => mail.includes(`To: ${email}`)).length;
    for (let count = 0; count < 5; count += 1) demand(await own.post(`/voters/${id}/voter-key`), 202);
    await work();
    expect(mails()).toBe(5);
    demand(await own.post('/voters/notify', { audience: 'all', kind: 'reminder' }), 202);
    await work(['mail_notified_voter']);
    // What `take_jobs` writes, by a runner that is gone before it has sent the first statement of the job.
    if (died)
      await query(`UPDATE jobs SET attempts = 1, held_by = 'gone', held_at = now_ms() - 60000 WHERE name = 'mail_notified_voter'
        AND payload->>'eventId' = '${event.id}'`);
    await work();
    expect(mails()).toBe(5);
  },
);

test.each(['all', 'not_voted'])(
  'a reminder to %s that a mistaken close interrupted can be sent again at once, to everybody',
  async (audience) => {
    const account = await service.account();
    const event = await createTestEvent(service, account, { type: 'election' }, PLURALITY, true);
    const own = account.of(event);
    const emails = ['ada', 'bea', 'cai'].map((name) => `${name}-${audience}@club.example`);
    for (const email of emails) await own.make('/voters', { name: 'Vera', email });
    const remind = async () => demand(await own.post('/voters/notify', { audience, kind: 'reminder' }), 202);
    await remind();
    await work(['mail_notified_voter']);
    await own.change('', { status: 'closed' });
    await work();
    await own.change('', { status: 'open' });
    await remind();
    await work();
    const receivers = service.mails().flatMap((mail) => emails.filter((email) => mail.includes(`To: ${email}`)));
    expect(receivers.toSorted()).toEqual(emails);
  },
);

// Completions 10.2: never the same kind twice to one voter, reminders within 6 hours.
test.each([
  ['still waits', [true, false]],
  ['left late', [false, true]],
])('a voter gets one reminder where the mail of an earlier mailing %s', async (_which, [orderedFirst, mailedFirst]) => {
  const account = await service.account();
  const event = await createTestEvent(service, account, { type: 'election' }, PLURALITY, true);
  const own = account.of(event);
  await own.make('/voters', { name: 'Vera', email: `vera@${event.code}.example` });
  const remind = async () => demand(await own.post('/voters/notify', { audience: 'all', kind: 'reminder' }), 202).id;
  using send = vi.spyOn(service.deps.mailer, 'send').mockRejectedValue(new MailFault('temporary', 'ETIMEDOUT', '451'));
  const mailings = [await remind()];
  await work();
  await query('UPDATE notified_voters SET notified_at = notified_at - 7 * 3600000');
  send.mockReset();
  send.mockResolvedValue(undefined);
  for (const isOrdered of [orderedFirst, mailedFirst]) {
    if (isOrdered) mailings.push(await remind());
    await query("UPDATE jobs SET run_at = now_ms() WHERE name = 'mail_notified_voter'");
    await work();
  }
  expect(send).toHaveBeenCalledOnce();
  const shown = await Promise.all(mailings.map((id) => own.show(`/notifications/${id}`)));
  const [sent, skipped] = orderedFirst ? shown.toReversed() : shown;
  expect([sent, skipped]).toMatchObject([
    { sent: 1, skipped: 0, finishedAt: expect.any(Number) },
    { sent: 0, skipped: 1, finishedAt: expect.any(Number) },
  ]);
});

describe('a mail that is tried again', async () => {
  const [mails, databaseB] = [await use(startMailServer()), await useDatabase()];
  const environment = { SMTP_URL: mails.url, DATABASE_CELLS: `b=${databaseB.url}` };
  const old = randomBytes(32).toString('base64');
  const sending = await useService({ worker: false, ballotKeysDir: '', secretKey: old, environment });

  /** Asks for a key by mail, which the mail server refuses for now. */
  async function beRefused() {
    const account = await sending.account('enterprise', 'main');
    const event = await createTestEvent(sending, account, { type: 'election' });
    const email = `vera-${event.code}@club.example`.toLowerCase();
    const { id } = await account.of(event).make('/voters', { name: 'Vera', email });
    mails.answerWith(async () => ({ code: 451, words: '4.3.2 later' }));
    demand(await account.of(event).post(`/voters/${id}/voter-key`), 202);
    await work([], sending.deps);
    mails.answerWith(async () => undefined);
    const names = (): string[] => mails.received.filter(({ to }) => to === email).map(({ messageId }) => messageId);
    /** Has a service try it at once. */
    const tryAgain = async (deps: Deps): Promise<void> => {
      await deps.db.$client.query('UPDATE jobs SET run_at = now_ms()');
      await work([], deps);
    };
    return { account, event, id, names, tryAgain };
  }

  test('after a move of its account has the same Message-ID', async () => {
    const { account, names, tryAgain } = await beRefused();
    const { cellOf, move } = cellsOf(sending);
    await move(account, 'main', 'b');
    await tryAgain(cellOf('b'));
    expect(names()).toEqual([names()[0], names()[0]]);
  });

  test('under another secret key has the same Message-ID, and counts with those before it', async () => {
    const { account, event, id, names, tryAgain } = await beRefused();
    await using rotated = await sending.under(`${randomBytes(32).toString('base64')},${old}`);
    await tryAgain(rotated.deps);
    expect(names()).toEqual([names()[0], names()[0]]);
    for (let count = 0; count < 8; count += 1) {
      const path = `/voting-events/${event.id}/voters/${id}/voter-key`;
      demand(await rotated.call('POST', path, undefined, { key: account.write }), 202);
    }
    await work([], rotated.deps);
    // The first one stands twice: refused, and taken.
    expect(names()).toHaveLength(6);
  });
});
// Completions 4.3: a mailed key stays valid until the event closes.
test.each(['/voters/notify', '/voters/:id/voter-key'])(
  'a key that may have arrived stays valid where its job is run again by hand, and its recipient is refused then (%s)',
  async (path) => {
    const account = await service.account();
    const event = await createTestEvent(service, account, { type: 'election' }, PLURALITY, true);
    const own = account.of(event);
    const email = `vera@${event.code}.example`;
    const { id } = await own.make('/voters', { name: 'Vera', email });
    const body = path === '/voters/notify' ? { audience: 'all', kind: 'key' } : {};
    demand(await own.post(path.replace(':id', id), body), 202);
    const refuse = (reason: 'mail_refused' | 'recipient_refused') => new MailFault(reason, 'EENVELOPE', '550');
    using send = vi.spyOn(service.deps.mailer, 'send').mockRejectedValue(refuse('mail_refused'));
    // The mail arrives, and the connection breaks before the answer.
    send.mockRejectedValueOnce(new MailFault('temporary', 'ECONNECTION', undefined));
    await work();
    const voterKey = voterKeyIn(send.mock.calls[0]?.[0].text ?? '');
    await query('UPDATE jobs SET run_at = now_ms()');
    await work();
    send.mockRejectedValue(refuse('recipient_refused'));
    expect(await retryFailedJobs(service.deps.db)).toBe(1);
    await work();
    expect((await account.page(event, 'voter/check', { voterKey, email })).body.data).toEqual({ eligible: true });
  },
);

test('a registration whose mail may have arrived can be confirmed where its recipient is refused later', async () => {
  const account = await service.account();
  const voter = { selfRegistration: true };
  const event = await createTestEvent(service, account, { type: 'election', voter }, PLURALITY, true);
  using send = vi
    .spyOn(service.deps.mailer, 'send')
    .mockRejectedValueOnce(new MailFault('temporary', 'ECONNECTION', undefined))
    .mockRejectedValueOnce(new MailFault('recipient_refused', 'EENVELOPE', '550'));
  demand(await account.page(event, 'register/voter', { name: 'Vera', email: `vera@${event.code}.example` }), 201);
  await work();
  await query('UPDATE jobs SET run_at = now_ms()');
  await work();
  expect(send).toHaveBeenCalledTimes(2);
  const [link = ''] = /confirm-address\/\S+/.exec(send.mock.calls[0]?.[0].text ?? '') ?? [];
  const page = await service.fetch(`/${link}`, { method: 'POST' });
  expect(await page.text()).toContain('Your address is confirmed');
});

test('a mail is sent, and counted once, where one secret key is listed twice, as before or after a rotation', async () => {
  const key = randomBytes(32).toString('base64');
  await using twice = await startTestService({ worker: false, secretKey: `${key},${key.replace(/=+$/, '')}` });
  const account = await twice.account();
  const event = await createTestEvent(twice, account, { type: 'election' });
  const { id } = await account.of(event).make('/voters', { name: 'Vera', email: 'vera@club.example' });
  for (let count = 0; count < 6; count += 1) demand(await account.of(event).post(`/voters/${id}/voter-key`), 202);
  await work([], twice.deps);
  expect(twice.mails()).toHaveLength(5);
});
