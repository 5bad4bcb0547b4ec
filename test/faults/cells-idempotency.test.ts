import { expect, onTestFinished, test } from 'vitest';
import { refusalOf } from '#test/harness/answers.ts';
import { holdStatement } from '#test/harness/intercept-statements.ts';
import { shareEvent } from '#test/harness/sharing.ts';
import { startTestService } from '#test/harness/test-service.ts';
import { use, useDatabase } from '#test/harness/use.ts';

// docs/scaling.md: an Idempotency-Key serves one request in all cells of its key, also while the first still runs (interfaces 2.4).

const databaseB = await useDatabase();
const service = await use(startTestService({ environment: { DATABASE_CELLS: `b=${databaseB.url}` } }));
const [owner, guest] = [await service.account('enterprise', 'b'), await service.account('enterprise', 'main')];
const [theirs, own] = [await owner.event(), await guest.event()];
await shareEvent(service, owner, theirs, guest, 'editor');

test('a key is not used up by another one that has its name', async () => {
  const ask = (key: string) => guest.of(own).post('/groups', { name: key }, { 'Idempotency-Key': key });
  for (const key of ['turn/7', '7', 'turn/turn/7']) expect([key, (await ask(key)).status]).toEqual([key, 201]);
});

test.each([
  ['in the cell of the event', theirs, own],
  ['in the cell of the guest', own, theirs],
] as const)(
  'a key whose first request runs %s is refused in the other one, and freed by a failure',
  async (_where, first, second) => {
    const headers = { 'Idempotency-Key': `first-${first.id}` };
    const ask = (event: typeof own, name: string) => guest.of(event).post('/groups', { name }, headers);
    // A body that is refused uses no key.
    expect((await ask(first, '')).status).toBe(422);
    const { reached, free, restore } = holdStatement(/insert into "groups"/i);
    onTestFinished(restore);
    const running = ask(first, 'One');
    await reached;
    const refused = await ask(second, 'One');
    free();
    const made = await running;
    expect([made.status, refusalOf(refused)[0]]).toEqual([201, 422]);
    expect(refusalOf(await ask(second, 'One'))[0]).toBe(422);
    expect((await ask(first, 'One')).body).toEqual(made.body);
  },
);
