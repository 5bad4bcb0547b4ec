import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { visitor } from '#test/harness/elections.ts';
import { useService } from '#test/harness/test-service.ts';

// Without jobs, whose transactions would be counted too.
const service = await useService({ worker: false });
const [busy, other] = [await service.account(), await service.account()];
const edited = await busy.event();
const voted = await other.event();

/** How many transactions were open at once at most, from now on. */
function watchTransactions() {
  let [open, most] = [0, 0];
  const query = pg.Client.prototype.query;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...words: never[]) {
    const [first] = words as unknown[];
    const text = String(typeof first === 'object' && first !== null ? Reflect.get(first, 'text') : first).toLowerCase();
    if (text.startsWith('begin')) open += 1;
    if (text.startsWith('commit') || text.startsWith('rollback')) open -= 1;
    most = Math.max(most, open);
    return Reflect.apply(query, this, words);
  } as typeof query);
  return { most: () => most, end: () => spy.mockRestore() };
}

test('changes of one account have few connections at a time: they wait for each other, and the voters of others vote meanwhile', async () => {
  const transactions = watchTransactions();
  try {
    const position = `/voting-events/${edited.id}/positions/${edited.positions[0]?.id}`;
    const changes = Array.from({ length: 40 }, (_, number) =>
      busy.patch(position, { description: `Change ${number}` }),
    );
    const [first] = voted.positions;
    const votes = [{ positionId: first?.id, candidateId: first?.candidates[0] }];
    const casts = Array.from({ length: 8 }, () => other.page(voted, 'ballot/cast', { visitorId: visitor(), votes }));
    expect((await Promise.all(casts)).map(({ status }) => status)).toEqual(casts.map(() => 201));
    const answers = await Promise.all(changes);
    // On a slow machine the last ones are asked to come again.
    expect(answers.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(8);
  } finally {
    transactions.end();
  }
  // Four of the account, and what else the service asks meanwhile.
  expect(transactions.most()).toBeLessThan(8);
  expect(transactions.most()).toBeGreaterThan(1);
});
