import { expect, test, vi } from 'vitest';
import { expireRegistrations } from '#src/voters/expire-registrations.ts';
import { mailRegistrationJob } from '#src/voters/mail-registration.ts';
import { sendVoterKeyJob } from '#src/voters/send-voter-key.ts';
import { demand } from '#test/harness/answers.ts';
import { PLURALITY } from '#test/harness/elections.ts';
import { ageRegistrations } from '#test/harness/genuine-rows.ts';
import { voterKeyIn } from '#test/harness/mails.ts';
import { useAccount } from '#test/harness/test-service.ts';

// Without jobs: the mail of a registration is sent where the test says so, and others come between.
const { service, account } = await useAccount({ worker: false });
const FIRST = { id: '1', attempt: 1, last: false };

async function register(email: string) {
  const event = await account.event({ type: 'election', voter: { selfRegistration: true } });
  const { id } = demand(await account.page(event, 'register/voter', { name: 'Reg', email }), 201);
  const of = account.of(event);
  const payloadOf = async (name: string) =>
    (await service.query('SELECT payload FROM jobs WHERE name = $1 ORDER BY id DESC LIMIT 1', [name]))[0].payload;
  /** Whether the registration is still there a week later. */
  const lasts = async (): Promise<boolean> => {
    await ageRegistrations(service, event.id, 7 * 86_400_000 + 60_000);
    await expireRegistrations(service.deps);
    return (await of.show('/voters')).length === 1;
  };
  return { event, id, of, payloadOf, lasts };
}

/** The services of a job, with something that happens after it has read the voter. */
function meanwhile(what: () => Promise<unknown>) {
  const { db } = service.deps;
  const execute = vi.fn(async (statement: never) => {
    const answer = await db.execute(statement);
    if (execute.mock.calls.length === 1) await what();
    return answer;
  });
  return { ...service.deps, db: Object.create(db, { execute: { value: execute } }) as typeof db };
}

test('a registration whose address the organizer corrects while its mail is written has no link to use, and does not expire', async () => {
  const { id, of, payloadOf, lasts } = await register('typo@week.example');
  const correct = async () => demand(await of.patch(`/voters/${id}`, { email: 'right@week.example' }), 200);
  await mailRegistrationJob(meanwhile(correct)).work(await payloadOf('mail_registration'), FIRST);
  expect(await lasts()).toBe(true);
});

test('a registration whose address the organizer corrects stays when the old address refuses its mail', async () => {
  const { id, of, payloadOf } = await register('typo@gone.example');
  using send = vi.spyOn(service.deps.mailer, 'send').mockImplementation(async () => {
    demand(await of.patch(`/voters/${id}`, { email: 'right@week.example' }), 200);
    throw Object.assign(new Error('refused'), { command: 'RCPT TO', responseCode: 550 });
  });
  await mailRegistrationJob(service.deps).work(await payloadOf('mail_registration'), FIRST);
  expect(send).toHaveBeenCalledOnce();
  expect(await of.show('/voters')).toMatchObject([{ id, email: 'right@week.example' }]);
});

test('a registration to which a voter key was mailed first does not expire by its own, later mail', async () => {
  const { event, payloadOf, lasts } = await register('keyed@week.example');
  demand(await account.page(event, 'voter-key/request', { email: 'keyed@week.example' }), 200);
  await sendVoterKeyJob(service.deps).work(await payloadOf('send_voter_key'), FIRST);
  await mailRegistrationJob(service.deps).work(await payloadOf('mail_registration'), FIRST);
  expect(await lasts()).toBe(true);
});

const refuseMails = () =>
  vi
    .spyOn(service.deps.mailer, 'send')
    .mockRejectedValue(Object.assign(new Error('refused'), { command: 'RCPT TO', responseCode: 550 }));

test('a voter key that was mailed stays valid where a later mail to its voter is refused', async () => {
  const { event, id, of, payloadOf } = await register('full@week.example');
  const request = async () => {
    demand(await account.page(event, 'voter-key/request', { email: 'full@week.example' }), 200);
    await sendVoterKeyJob(service.deps).work(await payloadOf('send_voter_key'), FIRST);
  };
  await request();
  const voterKey = service.mails().map(voterKeyIn).findLast(Boolean);
  using _refused = refuseMails();
  await request();
  expect(await of.show('/voters')).toMatchObject([{ id }]);
  const check = await account.page(event, 'voter/check', { voterKey, email: 'full@week.example' });
  expect(demand(check, 200).eligible).toBe(true);
});

test('a rehearsal in which a mail is refused deletes no registration of before, and one of its own', async () => {
  const event = await account.event({ type: 'election', voter: { selfRegistration: true } }, PLURALITY, false);
  const of = account.of(event);
  await of.change('', { startsAt: Date.now() + 86_400_000 });
  const registerWith = async (email: string) => {
    demand(await account.page(event, 'register/voter', { name: 'Reg', email }), 201);
  };
  await registerWith('before@week.example');
  await of.change('', { status: 'rehearsal' });
  await registerWith('within@week.example');
  using _refused = refuseMails();
  for (const email of ['before@week.example', 'within@week.example']) {
    demand(await account.page(event, 'voter-key/request', { email }), 200);
    const [{ payload }] = await service.query(
      "SELECT payload FROM jobs WHERE name = 'send_voter_key' ORDER BY id DESC LIMIT 1",
    );
    await sendVoterKeyJob(service.deps).work(payload, FIRST);
  }
  expect(await of.show('/voters')).toMatchObject([{ email: 'before@week.example' }]);
  await of.change('', { status: 'draft' });
  expect(await of.show('/voters')).toMatchObject([{ email: 'before@week.example' }]);
});
