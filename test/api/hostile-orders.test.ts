import { beforeAll, expect, test } from 'vitest';
import { finishEvent, PLURALITY, sealBallots, votesFor } from '#test/harness/elections.ts';
import { fillEvent, votesOf } from '#test/harness/largest-event.ts';
import { type TestAccount, type TestAnswer, untilTrue, useService } from '#test/harness/test-service.ts';

const service = await useService();
const [hostile, other] = [await service.account('pro'), await service.account('pro')];

/** As much as a free account may make: each count is work for a thread. */
const LARGE = { positions: 12, candidates: 1_000 };
/** Few enough to be quick, enough to be counted in a thread. */
const SMALL = { positions: 6, candidates: 999 };

/** Open polls of ranked positions, with two ballots each. */
async function largePolls(account: TestAccount, size: typeof SMALL, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) {
    const event = await account.event({ type: 'poll' }, [], false);
    await fillEvent(service.deps.db.$client, event.id, size);
    await account.change(`/voting-events/${event.id}`, { status: 'open' });
    for (let kind = 0; kind < 2; kind += 1) await account.votePoll(event, votesOf(kind, size, 10));
    await sealBallots(service, event.id);
    ids.push(event.id);
  }
  return ids;
}

let [attackers, quiet, closing]: [string[], string[], string[]] = [[], [], []];
beforeAll(async () => {
  attackers = await largePolls(hostile, LARGE, 3);
  quiet = await largePolls(other, SMALL, 1);
  closing = await largePolls(other, SMALL, 1);
});

const read = (account: TestAccount, path: string): Promise<TestAnswer> => account.get(`/voting-events/${path}`);

async function report(account: TestAccount, id: string): Promise<{ readonly status: number }> {
  const { headers, status } = await read(account, `${id}/results/pdf`);
  const location = headers.get('location');
  return location === null ? { status } : fetch(`${service.url}${new URL(location).pathname}`);
}

/** A body for a thread: more than a megabyte. */
const largeBody = (account: TestAccount, id: string): Promise<TestAnswer> =>
  account.post(`/voting-events/${id}/voters/import`, {
    mode: 'all',
    dryRun: true,
    voters: Array.from({ length: 4_000 }, (_, index) => ({
      name: 'n'.repeat(200),
      voterId: `${'v'.repeat(90)}${index}`,
    })),
  });

const KINDS: readonly [string, (account: TestAccount, id: string) => Promise<{ readonly status: number }>][] = [
  ['results', (account, id) => read(account, `${id}/results`)],
  ['rounds', (account, id) => read(account, `${id}/results/rounds?positionId=pos_l_1`)],
  ['reports', report],
  ['large bodies', largeBody],
];

test.each(KINDS)(
  'while an account asks for many %s, those of another are answered in between, and none fails',
  async (_, ask) => {
    let ended = 0;
    const orders = Array.from({ length: 8 }, (__, index) =>
      ask(hostile, attackers[index % attackers.length] ?? '').finally(() => {
        ended += 1;
      }),
    );
    const own: number[] = [];
    for (const [, mine] of KINDS) own.push((await mine(other, quiet[0] ?? '')).status);
    expect(own).toEqual([200, 200, 200, 200]);
    await Promise.all(orders);
    expect(ended).toBe(8);
  },
  120_000,
);

/** Occupies every thread until it is aborted. */
function occupyThreads(): { readonly leave: () => Promise<unknown> } {
  const stuck = new URL(
    'data:text/javascript,export const work = () => new Promise(() => setInterval(() => {}, 1000))',
  );
  const controller = new AbortController();
  const order = (account: string) =>
    service.deps.threads.run({ module: stuck, input: 0, account, maxMs: 600_000, gone: controller.signal });
  const held = Promise.allSettled(['a', 'b', 'c'].map(order));
  return {
    leave() {
      controller.abort();
      return held;
    },
  };
}

test('a close does not wait for what an account asks for', async () => {
  const [id = ''] = closing;
  // Nothing that is asked for gets a thread before the close has been signed.
  const threads = occupyThreads();
  await other.change(`/voting-events/${id}`, { status: 'closed' });
  await finishEvent(service, id);
  const [{ close }] = await service.query('SELECT closed_size AS close FROM ballot_logs WHERE voting_event_id = $1', [
    id,
  ]);
  expect(Number(close)).toBeGreaterThan(0);
  await threads.leave();
  expect((await read(other, `${id}/results`)).body.data.final).toBe(true);
});

test('a report that waits for a thread keeps no other reader of its address waiting', async () => {
  // Counted in the event loop, and drawn in a thread.
  const poll = await other.event({ type: 'poll' }, PLURALITY);
  await other.votePoll(poll, votesFor(poll));
  const threads = occupyThreads();
  const { leases } = service.deps;
  const reading = report(other, poll.id);
  await untilTrue(() => leases.threads.held === 4);
  expect(leases.strangersAtWork.held).toBe(0);
  await threads.leave();
  expect((await reading).status).toBe(200);
});
