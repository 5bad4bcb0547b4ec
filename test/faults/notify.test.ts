import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { demand } from '#test/harness/elections.ts';
import { createRoll } from '#test/harness/mail-voters.ts';
import { test } from '#test/harness/sending.ts';
import { eventually, type TestAccount, untilTrue } from '#test/harness/test-service.ts';

type Roll = Awaited<ReturnType<typeof createRoll>>;

const notify = async (account: TestAccount, roll: Roll, audience = 'all'): Promise<string> => {
  const body = { audience, kind: 'key' };
  const path = `/voting-events/${roll.event.id}/voters/notify`;
  return demand(await account.post(path, body), 202).id;
};
const read = async (account: TestAccount, roll: Roll, id: string) => {
  const path = `/voting-events/${roll.event.id}/notifications/${id}`;
  return await account.show(path);
};
const ended = (account: TestAccount, roll: Roll, id: string) =>
  eventually(async () => {
    const shown = await read(account, roll, id);
    return shown.finishedAt === null ? undefined : shown;
  });

test('kill -9 in the middle of mails to many voters loses none and doubles at most those under way, each with its key and name', async ({
  service,
  account,
  mails,
  work,
}) => {
  mails.answerWith(async () => {
    await pause(100);
    return undefined;
  });
  // More than one page of the roll.
  const roll = await createRoll(service, account, 620);
  const id = await notify(account, roll);
  for (const share of [10, 300]) {
    const pair = await Promise.all([work(), work()]);
    await untilTrue(() => mails.received.length >= share, 60_000);
    await pair[0].kill();
    await untilTrue(() => mails.received.length >= share + 20, 60_000);
    await pair[1].kill();
  }
  mails.answerWith(async () => undefined);
  await work();
  expect(await ended(account, roll, id)).toMatchObject({ total: 620, sent: 620, failed: 0, skipped: 0 });
  expect(new Set(mails.taken.map(({ to }) => to)).size).toBe(620);
  // Five at a time in each of four processes.
  expect(mails.received.length).toBeLessThanOrEqual(620 + 4 * 5);
  for (const { email } of roll.voters) {
    const own = mails.received.filter(({ to }) => to === email);
    expect(new Set(own.map(({ messageId }) => messageId)).size).toBe(1);
    expect(new Set(own.map(({ voterKey }) => voterKey)).size).toBe(1);
  }
});

test('somebody who holds a row for longer than a statement waits makes no voter get a mail twice', async ({
  service,
  account,
  mails,
  work,
}) => {
  const roll = await createRoll(service, account, 20);
  const holder = await service.deps.db.$client.connect();
  const id = await notify(account, roll);
  try {
    await work();
    await untilTrue(() => mails.received.length > 0, 60_000);
    await holder.query('BEGIN');
    await holder.query("SET LOCAL lock_timeout = '20s'");
    await holder.query('SELECT 1 FROM notifications WHERE id = $1 FOR UPDATE', [id]);
    await pause(3_500);
    await holder.query('COMMIT');
  } finally {
    holder.release();
  }
  expect(await ended(account, roll, id)).toMatchObject({ total: 20, sent: 20 });
  expect(mails.received.map(({ to }) => to).sort()).toEqual(roll.voters.map(({ email }) => email).sort());
});

test('a mail that is refused for good counts as failed and stands so at its voter, who may be mailed again at once', async ({
  service,
  account,
  mails,
  work,
}) => {
  const roll = await createRoll(service, account, 3);
  const [gone, content] = roll.voters;
  mails.refuse(gone?.email ?? '', 550);
  mails.answerWith(async ({ to }) => (to === content?.email ? { code: 554, words: '5.7.1 refused' } : undefined));
  await work();
  const id = await notify(account, roll);
  expect(await ended(account, roll, id)).toMatchObject({ total: 3, sent: 1, failed: 2, skipped: 0 });
  for (const voter of [gone, content]) expect(await roll.keyStatus(voter?.id ?? '')).toBe('failed');
  mails.answerWith(async () => undefined);
  const again = await notify(account, roll);
  expect(await ended(account, roll, again)).toMatchObject({ total: 3, sent: 1, failed: 1, skipped: 1 });
});

test('a mail to who has not voted that is refused for good looks at its voter like one that arrived', async ({
  service,
  account,
  mails,
  work,
}) => {
  const roll = await createRoll(service, account, 3);
  for (const { email } of roll.voters.slice(0, 2)) mails.refuse(email, 550);
  await work();
  const id = await notify(account, roll, 'not_voted');
  expect(await ended(account, roll, id)).toMatchObject({
    total: 3,
    handled: 3,
    sent: null,
    failed: null,
    skipped: null,
  });
  for (const { id: voterId } of roll.voters) expect(await roll.keyStatus(voterId)).toBe('sent');
});

test('a single voter key is mailed before the mails to many that wait', async ({ service, account, mails, work }) => {
  mails.answerWith(async () => {
    await pause(200);
    return undefined;
  });
  const roll = await createRoll(service, account, 100);
  await work();
  await notify(account, roll);
  await untilTrue(() => mails.received.length >= 5, 60_000);
  const last = roll.voters.slice(-1);
  const before = mails.received.length;
  await roll.mail(last);
  await untilTrue(() => mails.received.some(({ to }) => to === last[0]?.email), 60_000);
  expect(mails.received.length - before).toBeLessThan(50);
});
