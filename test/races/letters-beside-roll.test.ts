import { expect, test } from 'vitest';
import { printLettersJob } from '#src/letters/print-letters.ts';
import { demand, PLURALITY } from '#test/harness/elections.ts';
import { useAccount } from '#test/harness/test-service.ts';

// Without jobs: letters are printed where the test says so.
const { service, account } = await useAccount({ worker: false });

/** Prints what was ordered, as the job does. */
async function print(eventId: string, runId: string): Promise<void> {
  const job = printLettersJob(service.deps);
  for (let rest = 0; rest < 5; rest += 1) await job.work({ eventId, runId }, { id: '1', attempt: 1, last: false });
}

test('who was counted when letters were ordered gets one, whoever joins the audience before they are printed', async () => {
  const event = await account.event({ type: 'election' }, PLURALITY);
  const of = account.of(event);
  const earlier = await of.make('/voters', { name: 'Ada', email: 'ada@club.example' });
  const counted = await of.make('/voters', { name: 'Bo', voterId: 'M-2' });
  const run = demand(await of.post('/voters/letters', { audience: 'without_email' }), 202);
  expect(run.total).toBe(1);
  await of.change(`/voters/${earlier.id}`, { email: null, voterId: 'M-1' });
  await print(event.id, run.id);
  expect(await of.show(`/letters/${run.id}`)).toMatchObject({ finishedAt: expect.any(Number) });
  expect(await of.show(`/voters/${counted.id}`)).toMatchObject({ keyStatus: 'printed' });
});

test('an approval before the letters to all are printed leaves nobody out', async () => {
  const settings = { type: 'election', voter: { selfRegistration: true, approval: 'manual' } };
  const event = await account.event(settings, PLURALITY);
  const of = account.of(event);
  const registered = demand(
    await account.page(event, 'register/voter', { name: 'Reg', email: 'reg@club.example' }),
    201,
  );
  const counted = await of.make('/voters', { name: 'Bo', voterId: 'M-2' });
  const run = demand(await of.post('/voters/letters', { audience: 'all' }), 202);
  await of.change(`/voters/${registered.id}`, { status: 'approved' });
  await print(event.id, run.id);
  expect(await of.show(`/letters/${run.id}`)).toMatchObject({ finishedAt: expect.any(Number) });
  expect(await of.show(`/voters/${counted.id}`)).toMatchObject({ keyStatus: 'printed' });
});
