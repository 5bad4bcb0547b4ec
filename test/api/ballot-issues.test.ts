import { describe, expect, test } from 'vitest';
import { type TestEvent, visitor } from '#test/harness/elections.ts';
import { useService } from '#test/harness/test-service.ts';

const service = await useService();
const account = await service.account();

async function issuesOf(event: TestEvent, votes: readonly unknown[]): Promise<string[]> {
  const { status, body } = await account.page(event, 'ballot/cast', { visitorId: visitor(), votes });
  expect(status).toBe(422);
  return body.error.details.issues.map(({ field }: { field: string }) => field).toSorted();
}

/** A ballot of four entries in which the second names no candidate of the position. */
function entries(event: TestEvent, mark: (place: number) => object) {
  const [position] = event.positions;
  const [a, b, c] = position?.candidates ?? [];
  return [a, 'cnd_of_nobody', b, c].map((candidateId, place) => ({
    positionId: position?.id,
    candidateId,
    ...mark(place),
  }));
}

const NAMES = { candidates: ['Ada', 'Bea', 'Cy', 'Di'] };

describe('a ballot with several faults is told all of them at once', () => {
  test('a rank that a wrong entry has taken, and one that is taken twice', async () => {
    const event = await account.event({}, [{ ...NAMES, votingMethod: 'ranked_choice' }]);
    expect(
      await issuesOf(
        event,
        entries(event, (place) => ({ rank: place < 2 ? 1 : 2 })),
      ),
    ).toEqual([...['votes[1].candidateId', 'votes[1].rank', 'votes[3].rank']]);
  });

  test('more choices than are allowed, wrong ones among them', async () => {
    const event = await account.event({}, [{ ...NAMES, votingMethod: 'approval', settings: { maxSelections: 2 } }]);
    expect(
      await issuesOf(
        event,
        entries(event, () => ({})),
      ),
    ).toEqual([...['votes[1].candidateId', 'votes[2].candidateId', 'votes[3].candidateId']]);
  });

  test('points beyond the budget, those of a wrong entry among them', async () => {
    const event = await account.event({}, [
      { ...NAMES, votingMethod: 'cumulative', settings: { cumulativePointBudget: 10 } },
    ]);
    expect(
      await issuesOf(
        event,
        entries(event, () => ({ value: 3 })),
      ),
    ).toEqual(['votes[1].candidateId', 'votes[3].value']);
  });
});
