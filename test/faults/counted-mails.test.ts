import { expect, test, vi } from 'vitest';
import { retryFailedJobs } from '#src/jobs/inspect.ts';
import { runJobs } from '#src/jobs/run-jobs.ts';
import { MailFault } from '#src/mail/mailer.ts';
import { allJobs } from '#src/work.ts';
import { createTestEvent, demand, PLURALITY } from '#test/harness/elections.ts';
import { voterKeyIn } from '#test/harness/mails.ts';
import { untilTrue, useService } from '#test/harness/test-service.ts';

const service = await useService({ worker: false });
const { deps, query } = service;

/** Runs every job that is due. @param names of the jobs that it leaves waiting */
async function work(names: readonly string[] = []): Promise<void> {
  const jobs = allJobs(deps).filter(({ name }) => !names.includes(name));
  const runner = await runJobs(deps.jobDatabases.deletions, deps.log, jobs, []);
  await untilTrue(async () => {
    runner.wake();
    const due = 'SELECT FROM jobs WHERE attempts < max_attempts AND run_at <= now_ms() + 1000 AND name <> ALL ($1)';
    return (await query(due, [names])).length === 0;
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
    using send = vi.spyOn(deps.mailer, 'send').mockRejectedValue(refuse('mail_refused'));
    // The mail arrives, and the connection breaks before the answer.
    send.mockRejectedValueOnce(new MailFault('temporary', 'ECONNECTION', undefined));
    await work();
    const voterKey = voterKeyIn(send.mock.calls[0]?.[0].text ?? '');
    await query('UPDATE jobs SET run_at = now_ms()');
    await work();
    send.mockRejectedValue(refuse('recipient_refused'));
    expect(await retryFailedJobs(deps.db)).toBe(1);
    await work();
    expect((await account.page(event, 'voter/check', { voterKey, email })).body.data).toEqual({ eligible: true });
  },
);
