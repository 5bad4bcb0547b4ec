import { afterEach, expect, test, vi } from 'vitest';
import { RoundLog } from '#src/tally/round-log.ts';
import { counted, PLAIN, position, ROOT, values, WHOLE } from './counting.ts';

const SEED = 'ab'.repeat(32);
const LETTERS = (count: number) => Array.from({ length: count }, (_, index) => String.fromCharCode(97 + index));

afterEach(() => void vi.restoreAllMocks());

/** Everything that a count says: its report, and its rounds from several places on. */
function countAll(candidates: number, seats: number, tieBreak: 'lot' | 'candidate_order' | 'joint', drawn: boolean) {
  const of = position('ranked_choice', candidates, { seats, tieBreak });
  const names = LETTERS(candidates);
  const ballot = (...places: number[]) =>
    values(Object.fromEntries(places.map((place, rank) => [names[place % candidates] ?? 'a', rank + 1])));
  const count = counted(of, [
    [ballot(3, 5, 7), 4],
    [ballot(7, 9), 3],
    [ballot(11, 3), 2, 3n * WHOLE],
  ]);
  const options = { ...PLAIN, unitWeights: false, lot: drawn ? { seed: SEED, root: ROOT } : null };
  return {
    report: count.report(options),
    pages: [1, 2, 40, candidates - 3].map((from) => count.rounds(options, from)),
  };
}

const CASES = [20, 120, 300].flatMap((candidates) =>
  [1, 2, 5, 12].flatMap((seats) =>
    (['lot', 'candidate_order', 'joint'] as const).map((tieBreak) => [candidates, seats, tieBreak] as const),
  ),
);

test.each(CASES)(
  '%i candidates, %i seats, ties by %s: rounds that nobody reads are as if each were counted',
  (candidates, seats, tieBreak) => {
    for (const drawn of [true, false]) {
      const skipped = countAll(candidates, seats, tieBreak, drawn);
      const unread = vi.spyOn(RoundLog.prototype, 'unread', 'get').mockReturnValue(0);
      expect(countAll(candidates, seats, tieBreak, drawn)).toEqual(skipped);
      unread.mockRestore();
    }
  },
);

test('rounds in which a thousand candidates without a vote go out cost nothing', () => {
  const opened = vi.spyOn(RoundLog.prototype, 'open');
  for (const seats of [1, 5]) countAll(1_000, seats, 'lot', true).report;
  // Ten rounds are written down in each report and each page.
  expect(opened.mock.calls.length).toBeLessThan(300);
});
