import { expect, test, vi } from 'vitest';
import { listNotifiedVotersJob, mailNotifiedVoterJob } from '#src/voters/notify-voters.ts';
import { sendVoterKeyJob } from '#src/voters/send-voter-key.ts';
import { demand, PLURALITY } from '#test/harness/elections.ts';
import { type TestService, useAccount } from '#test/harness/test-service.ts';

// Without jobs: a mail is sent where the test says so, and the organizer changes its voter while the mail server answers.
const { service, account } = await useAccount({ worker: false });
const FIRST = { id: '1', attempt: 1, last: false };

const payloadOf = async ({ query }: TestService, name: string) =>
  (await query('SELECT payload FROM jobs WHERE name = $1 ORDER BY id DESC LIMIT 1', [name]))[0].payload;

const CHANGES = [
  ['another address', { email: 'right@club.example' }],
  ['a rejection', { status: 'rejected' }],
] as const;

test.each(CHANGES)('%s while a key is mailed leaves a voter without a key, and says so', async (_, change) => {
  const event = await account.event({ type: 'election' }, PLURALITY);
  const of = account.of(event);
  const { id } = await of.make('/voters', { name: 'Vera', email: 'typo@club.example' });
  demand(await of.post(`/voters/${id}/voter-key`, {}), 202);
  using send = vi.spyOn(service.deps.mailer, 'send').mockImplementation(async () => {
    demand(await of.patch(`/voters/${id}`, change), 200);
  });
  await sendVoterKeyJob(service.deps).work(await payloadOf(service, 'send_voter_key'), FIRST);
  expect(send).toHaveBeenCalledOnce();
  const keys = await service.query('SELECT 1 FROM voter_keys WHERE voter_id = $1', [id]);
  expect(keys).toHaveLength(0);
  expect(await of.show(`/voters/${id}`)).toMatchObject({ keyStatus: 'none' });
});

test('another address while a mail to all is sent leaves a voter without a key, and says so', async () => {
  const event = await account.event({ type: 'election' }, PLURALITY);
  const of = account.of(event);
  const { id } = await of.make('/voters', { name: 'Vera', email: 'typo@club.example' });
  demand(await of.post('/voters/notify', { audience: 'all', kind: 'key' }), 202);
  await listNotifiedVotersJob(service.deps.db).work(await payloadOf(service, 'list_notified_voters'), FIRST);
  using send = vi.spyOn(service.deps.mailer, 'send').mockImplementation(async () => {
    demand(await of.patch(`/voters/${id}`, { email: 'right@club.example' }), 200);
  });
  await mailNotifiedVoterJob(service.deps).work(await payloadOf(service, 'mail_notified_voter'), FIRST);
  expect(send).toHaveBeenCalledOnce();
  expect(await service.query('SELECT 1 FROM voter_keys WHERE voter_id = $1', [id])).toHaveLength(0);
  expect(await of.show(`/voters/${id}`)).toMatchObject({ keyStatus: 'none' });
});
