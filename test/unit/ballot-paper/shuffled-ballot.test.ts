import { beforeEach, expect, test, vi } from 'vitest';
import type { BallotPaper } from '#src/ballot-paper/paper.ts';
import { BallotText } from '#src/ballot-paper/views.ts';

const shuffles = vi.hoisted(() => ({ candidates: [] as number[] }));
vi.mock('#src/ballot-paper/shuffle.ts', async (importOriginal) => {
  const original = await importOriginal<typeof import('#src/ballot-paper/shuffle.ts')>();
  return {
    ...original,
    inOrder: (items: readonly unknown[], positionId: string, order: number) => {
      shuffles.candidates.push(items.length);
      return original.inOrder(items, positionId, order);
    },
  };
});
beforeEach(() => {
  shuffles.candidates = [];
});

/** A hundred positions that share 900 candidates; each has one more of its own where `own` is set. */
function paperOf(own: boolean): BallotPaper {
  const candidate = (id: string) => ({ id, name: id, description: null, positionIds: [], groupId: null });
  const shared = Array.from({ length: 900 }, (_, index) => candidate(`cnd_${index}`));
  const positions = Array.from({ length: 100 }, (_, index) => ({
    id: `pos_${index}`,
    title: 'P',
    votingMethod: 'approval',
    groupId: null,
    candidates: own ? [...shared, candidate(`cnd_own_${index}`)] : shared,
  }));
  return { event: { id: 'evt_1' }, positions, groups: [], sponsors: [] } as unknown as BallotPaper;
}

test('a shuffled ballot shuffles one position at most between two of its pieces, where others have their turn', () => {
  let before = 0;
  for (const _ of new BallotText(paperOf(true)).write(7)) {
    expect(shuffles.candidates.length - before).toBeLessThanOrEqual(1);
    before = shuffles.candidates.length;
  }
  expect(shuffles.candidates).toHaveLength(100);
  expect(Math.max(...shuffles.candidates)).toBe(901);
});

test('candidates that all positions share are shuffled once', () => {
  const pieces = [...new BallotText(paperOf(false)).write(7)];
  expect(shuffles.candidates).toEqual([900]);
  expect(JSON.parse(pieces.join('')).data.candidates).toHaveLength(900);
});
