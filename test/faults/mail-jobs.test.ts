import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { listJobs, retryFailedJobs } from '#src/jobs/inspect.ts';
import { demand } from '#test/harness/answers.ts';
import { createRoll } from '#test/harness/mail-voters.ts';
import { test } from '#test/harness/sending.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';

const never = (): Promise<undefined> => new Promise(() => undefined);

test('a deletion takes at most 5 seconds while the mail server hangs', async ({ service, account, mails, work }) => {
  mails.answerWith(never);
  const roll = await createRoll(service, account, 40);
  await roll.mail(roll.voters);
  await work();
  await untilTrue(() => mails.received.length >= 4);
  for (const { id } of roll.voters.slice(-3)) {
    const from = performance.now();
    const path = `/voting-events/${roll.event.id}/voters/${id}`;
    expect((await account.delete(path)).status).toBe(202);
    await untilTrue(async () => {
      const rows = await service.query('SELECT 1 FROM voters WHERE id = $1', [id]);
      return rows.length === 0;
    });
    expect(performance.now() - from).toBeLessThan(5_000);
  }
});

test('mails of an account go out while the mail server does not answer for those of another', async ({
  service,
  account,
  mails,
  work,
}) => {
  const [flood, other] = [
    await createRoll(service, account, 20),
    await createRoll(service, await service.account(), 1),
  ];
  const [mine] = other.voters;
  mails.answerWith(async ({ to }) => (to === mine?.email ? undefined : never()));
  await flood.mail(flood.voters.slice(1));
  await work();
  await untilTrue(() => mails.received.length >= 5);
  await other.mail(other.voters);
  await untilTrue(async () => (await other.keyStatus(mine?.id ?? '')) === 'sent', 20_000);
  expect(mails.taken).toHaveLength(1);
});

test('a mail that the server takes after 12 seconds goes out once, with a key that votes', async ({
  service,
  account,
  mails,
  work,
}) => {
  mails.answerWith(async () => {
    await pause(12_000);
    return undefined;
  });
  const roll = await createRoll(service, account, 1);
  const [voter] = roll.voters;
  await roll.mail(roll.voters);
  await work();
  await untilTrue(async () => (await roll.keyStatus(voter?.id ?? '')) === 'sent', 40_000);
  await pause(3_000);
  expect(mails.received).toHaveLength(1);
  const rows = await service.query('SELECT count(*)::int AS keys FROM voter_keys');
  expect(rows[0].keys).toBe(1);
});

test('many mails share a few connections, and carry what programs and people need', async ({
  service,
  account,
  mails,
  work,
}) => {
  const roll = await createRoll(service, account, 200);
  await roll.mail(roll.voters);
  await work();
  await untilTrue(() => mails.taken.length === 200, 60_000);
  expect(mails.connections()).toBeLessThanOrEqual(5);
  const [mail] = mails.taken;
  expect(mail?.text).toMatch(/^Auto-Submitted: auto-generated\r?$/m);
  expect(mail?.sender).toBe('bounces@vote.example');
});

test('a refusal for a while is tried again with the same key and name, and its code stands in the list and the log', async ({
  service,
  account,
  mails,
  work,
}) => {
  mails.answerWith(async (_mail, times) =>
    times === 1 ? { code: 451, words: '4.3.2 voter-0@club.example later' } : undefined,
  );
  const roll = await createRoll(service, account, 1);
  await roll.mail(roll.voters);
  const worker = await work();
  const failed = await eventually(async () =>
    (await listJobs(service.deps.db, { task: 'send_voter_key' })).find(({ lastError }) => lastError !== null),
  );
  expect(failed).toMatchObject({ state: 'retrying', lastError: expect.stringContaining('451 4.3.2 to DATA') });
  // A time of two days: the pauses grow to six hours.
  expect(failed.maxAttempts).toBe(18);
  await untilTrue(() => mails.taken.length === 1);
  const [first, second] = mails.received;
  expect(second?.messageId).toBe(first?.messageId);
  expect(second?.voterKey).toBe(first?.voterKey);
  await untilTrue(() => worker.log().includes('"reply":"451 4.3.2 to DATA"'));
  for (const secret of ['voter-0@club.example', first?.voterKey ?? 'no key'])
    expect(`${worker.log()}${JSON.stringify(failed)}`).not.toContain(secret);
});

test('a refusal for good is not tried again, stands as failed, and is counted where it is the mail that was refused', async ({
  service,
  account,
  mails,
  work,
}) => {
  const roll = await createRoll(service, account, 3);
  const [gone, content, well] = roll.voters;
  mails.refuse(gone?.email ?? '', 550);
  mails.answerWith(async ({ to }) => (to === content?.email ? { code: 554, words: '5.7.1 refused' } : undefined));
  await roll.mail(roll.voters);
  const worker = await work();
  const status = (voter: { id: string } | undefined) => roll.keyStatus(voter?.id ?? '');
  await untilTrue(async () => (await status(well)) === 'sent');
  await untilTrue(async () => (await status(content)) === 'failed' && (await status(gone)) === 'failed');
  await pause(4_000);
  expect(mails.received.filter(({ to }) => to === content?.email)).toHaveLength(1);
  const jobs = await listJobs(service.deps.db, { task: 'send_voter_key' });
  expect(jobs).toMatchObject([{ state: 'failed', lastError: expect.stringContaining('554 5.7.1 to DATA') }]);
  expect(worker.log()).toContain('550 5.1.1 to RCPT TO');
  const listed = async (keyStatus: string): Promise<string[]> => {
    const path = `/voting-events/${roll.event.id}/voters?keyStatus=${keyStatus}`;
    const { body } = await account.get(path);
    return body.data.map(({ id }: { id: string }) => id);
  };
  expect(await listed('failed')).toEqual([gone?.id, content?.id]);
  expect(await listed('sent')).toEqual([well?.id]);
  await service.query('UPDATE voters SET key_used = true WHERE id = $1', [well?.id]);
  expect(await listed('sent')).toEqual([well?.id]);
  expect(await listed('used')).toEqual([]);
  const metrics = await worker.metrics();
  expect(metrics).toMatch(/voting_jobs_failed\{task="send_voter_key"\} 1/);
  expect(metrics).toMatch(/voting_jobs_failed\{task="mail_registration"\} 0/);
});

// Completions 9.3 and 10.2: `jobs retry`, and figures of a mailing that are true.
test('mails of a mailing that were refused for good are sent when they are retried, once each', async ({
  service,
  account,
  mails,
  work,
}) => {
  const roll = await createRoll(service, account, 3);
  mails.answerWith(async () => ({ code: 550, words: '5.7.1 this sender may not send' }));
  await work();
  const path = `/voting-events/${roll.event.id}`;
  const mailing = async (audience: string) =>
    demand(await account.post(`${path}/voters/notify`, { audience, kind: 'key' }), 202).id as string;
  const shown = (id: string) => account.show(`${path}/notifications/${id}`);
  const ended = (id: string, sent: number) =>
    untilTrue(async () => (await shown(id)).finishedAt !== null && (await shown(id)).sent === sent);
  const first = await mailing('all');
  await ended(first, 0);
  expect(await shown(first)).toMatchObject({ total: 3, sent: 0, failed: 3 });
  mails.answerWith(async () => undefined);
  // One of them has been mailed by another mailing meanwhile: no second mail.
  await roll.mail(roll.voters.slice(0, 1));
  const [one = { id: '' }] = roll.voters;
  await untilTrue(async () => (await roll.keyStatus(one.id)) === 'sent');
  expect(await retryFailedJobs(service.deps.db)).toBe(3);
  await ended(first, 3);
  expect(await shown(first)).toMatchObject({ total: 3, handled: 3, sent: 3, failed: 0, skipped: 0 });
  expect(await listJobs(service.deps.db, { task: 'mail_notified_voter' })).toEqual([]);
  const second = await mailing('not_invited');
  await ended(second, 0);
  expect(mails.taken).toHaveLength(4);
});

// Completions 10.2: no reminder twice within 6 hours, also where the mails of an earlier mailing are retried.
test('a reminder that was refused for good is retried unless its voter was reminded since, and none follows it at once', async ({
  service,
  account,
  mails,
  work,
}) => {
  const roll = await createRoll(service, account, 3);
  const path = `/voting-events/${roll.event.id}`;
  const remind = async () => {
    const body = { audience: 'not_voted', kind: 'reminder' };
    const { id } = demand(await account.post(`${path}/voters/notify`, body), 202);
    await untilTrue(async () => (await account.show(`${path}/notifications/${id}`)).finishedAt !== null);
  };
  const retry = async () => {
    await retryFailedJobs(service.deps.db);
    await untilTrue(async () => (await listJobs(service.deps.db, { task: 'mail_notified_voter' })).length === 0);
  };
  const pass7Hours = () => service.query('UPDATE notified_voters SET notified_at = notified_at - 7 * 3600000');
  mails.answerWith(async () => ({ code: 550, words: '5.7.1 this sender may not send' }));
  await work();
  await remind();
  await pass7Hours();
  const [gone] = roll.voters;
  mails.answerWith(async ({ to }) => (to === gone?.email ? { code: 550, words: '5.7.1 not to this one' } : undefined));
  await remind();
  await pass7Hours();
  mails.answerWith(async () => undefined);
  await retry();
  expect(mails.taken.map(({ to }) => to).toSorted()).toEqual(roll.voters.map(({ email }) => email));
  await remind();
  expect(mails.taken.filter(({ to }) => to === gone?.email)).toHaveLength(1);
  expect(mails.taken).toHaveLength(5);
});

test('a key that is used while its mail is still noted as sent stays used', async ({
  service,
  account,
  mails,
  work,
}) => {
  const roll = await createRoll(service, account, 1);
  const [voter = { id: '', email: '' }] = roll.voters;
  const client = await service.deps.db.$client.connect();
  const used = Promise.withResolvers<void>();
  mails.answerWith(async () => {
    await client.query('BEGIN');
    await client.query('UPDATE voters SET key_used = true WHERE id = $1', [voter.id]);
    // The job waits for the row by then.
    void pause(500).then(() => client.query('COMMIT').then(() => used.resolve(), used.reject));
    return undefined;
  });
  await roll.mail(roll.voters);
  await work();
  await used.promise;
  await untilTrue(async () => {
    const left = await listJobs(service.deps.db, { task: 'send_voter_key' });
    return left.length === 0;
  });
  client.release();
  const rows = await service.query('SELECT key_used FROM voters WHERE id = $1', [voter.id]);
  expect(rows).toEqual([{ key_used: true }]);
});
