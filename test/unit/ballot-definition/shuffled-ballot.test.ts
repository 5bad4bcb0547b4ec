import { beforeEach, expect, test, vi } from 'vitest';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { BallotCache, BallotText } from '#src/ballot-definition/ballot-text.ts';
import { inOrder, pickOrder } from '#src/ballot-definition/shuffle.ts';

const shuffles = vi.hoisted(() => ({ begun: 0, steps: 0 }));
vi.mock('#src/ballot-definition/shuffle.ts', async (importOriginal) => {
  const original = await importOriginal<typeof import('#src/ballot-definition/shuffle.ts')>();
  return {
    ...original,
    *inOrder(items: readonly unknown[], order: string) {
      shuffles.begun += 1;
      for (const item of original.inOrder(items, order)) {
        shuffles.steps += 1;
        yield item;
      }
    },
  };
});
beforeEach(() => {
  Object.assign(shuffles, { begun: 0, steps: 0 });
});

/** A hundred positions that share 900 candidates; each has one more of its own where `own` is set. */
function definitionOf(own: boolean): BallotDefinition {
  const candidate = (id: string) => ({ id, name: id, description: null, positionIds: [], groupId: null });
  const shared = Array.from({ length: 900 }, (_, index) => candidate(`cnd_${index}`));
  const positions = Array.from({ length: 100 }, (_, index) => ({
    id: `pos_${index}`,
    title: 'P',
    votingMethod: 'approval',
    groupId: null,
    candidates: own ? [...shared, candidate(`cnd_own_${index}`)] : shared,
  }));
  const candidates = [...shared, ...positions.flatMap((position) => position.candidates.slice(900))];
  return { event: { id: 'evt_1' }, positions, candidates, groups: [], sponsors: [] } as unknown as BallotDefinition;
}

test('a shuffled ballot draws one candidate between two of its pieces, where others have their turn', () => {
  let [before, pieces] = [0, ''];
  for (const piece of new BallotText(definitionOf(true)).write('7')) {
    expect(shuffles.steps - before).toBeLessThanOrEqual(1);
    before = shuffles.steps;
    pieces += piece;
  }
  // A candidate of a hundred positions is drawn and listed once.
  expect(shuffles).toEqual({ begun: 1, steps: 1_000 });
  const { candidates } = JSON.parse(pieces).data as { candidates: { id: string }[] };
  expect(new Set(candidates.map(({ id }) => id)).size).toBe(1_000);
});

test('every place of a ballot is as likely for each candidate, whatever the seeds', () => {
  const names = Array.from({ length: 12 }, (_, index) => index);
  const [seeds, first, orders] = [24_000, new Array<number>(12).fill(0), new Set<string>()];
  for (let seed = 0; seed < seeds; seed += 1) {
    const order = [...inOrder(names, pickOrder(`visitor ${seed}`, 'evt_1'))];
    orders.add(order.join());
    first[order[0] ?? 0] = (first[order[0] ?? 0] ?? 0) + 1;
  }
  const expected = seeds / 12;
  const chiSquare = first.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  // 11 degrees of freedom: above 31.3 once in a thousand draws; these seeds are always the same.
  expect(chiSquare).toBeLessThan(31.3);
  expect(orders.size).toBeGreaterThan(seeds * 0.99);
  expect(pickOrder('one', 'evt_1')).toBe(pickOrder('one', 'evt_1'));
  expect(pickOrder(undefined, 'evt_1')).not.toBe(pickOrder(undefined, 'evt_1'));
});

test('a long ballot is put together in turns, and one that is kept waits for none', async () => {
  const definition = {
    ...definitionOf(false),
    event: { id: 'evt_1', definitionVersion: 1, candidateOrder: 'shuffled' },
  };
  const cache = new BallotCache();
  const turn = Promise.withResolvers<void>();
  const enter = vi.fn(() => turn.promise);
  const take = (seed: string | undefined) => cache.take(definition as unknown as BallotDefinition, seed, enter);
  const both = [take('a'), take('a')];
  await Promise.resolve();
  expect([enter.mock.calls.length, shuffles.begun]).toEqual([2, 0]);
  turn.resolve();
  const [one, other] = await Promise.all(both);
  expect(one).toBe(other);
  expect(await take('a')).toBe(one);
  expect(enter).toHaveBeenCalledTimes(2);
  // Without a seed none is kept: each waits.
  await take(undefined);
  expect(enter).toHaveBeenCalledTimes(3);
});

test.each([
  [1_000, 100, 0],
  [1_000, 1_001, 1],
  [2, 500_001, 1],
])('of %d candidates with descriptions of %d characters a ballot waits for %d turns', async (count, length, waits) => {
  const candidates = Array.from({ length: count }, (_, index) => ({
    ...{ id: `cnd_${index}`, name: 'N', description: 'd'.repeat(length), positionIds: ['pos_1'], groupId: null },
  }));
  const positions = [{ id: 'pos_1', title: 'P', votingMethod: 'approval', groupId: null, candidates }];
  const event = { id: 'evt_1', definitionVersion: 1, candidateOrder: 'shuffled' };
  const definition = { event, positions, candidates, groups: [], sponsors: [] } as unknown as BallotDefinition;
  const enter = vi.fn(async () => undefined);
  await new BallotCache().take(definition, undefined, enter);
  expect(enter).toHaveBeenCalledTimes(waits);
});

test('ballots are kept by the memory that they take: compressed ones for longer', async () => {
  const shared = definitionOf(false);
  const [position] = shared.positions;
  // A megabyte each, and a hundredth of it compressed.
  const candidates = (position?.candidates ?? []).map((one) => ({ ...one, description: 'x'.repeat(1_000) }));
  const definition = {
    ...{ ...shared, candidates, positions: [{ ...position, candidates }] },
    event: { id: 'evt_1', definitionVersion: 1, candidateOrder: 'shuffled' },
  } as unknown as BallotDefinition;
  for (const isCompressed of [true, false]) {
    const cache = new BallotCache();
    const take = (seed: number) => cache.take(definition, `seed ${seed}`, async () => undefined);
    const first = await take(0);
    for (let seed = 0; seed < 80; seed += 1) {
      const ballot = await take(seed);
      if (isCompressed) await ballot.gzipped();
    }
    expect((await take(0)) === first).toBe(isCompressed);
  }
});
