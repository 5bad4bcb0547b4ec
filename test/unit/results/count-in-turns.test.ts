import { setImmediate } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { RunningCount } from '#src/results/running-count.ts';

const work = vi.hoisted(() => ({ reports: 0, mostBetweenTurns: 0 }));
vi.mock('#src/tally/start-count.ts', () => ({
  startCount: () => ({
    report: () => {
      work.reports += 1;
      work.mostBetweenTurns = Math.max(work.mostBetweenTurns, work.reports);
      const end = performance.now() + 11;
      while (performance.now() < end);
      return { candidates: [] };
    },
  }),
}));

test('the results of long positions are made one at a time, and the event loop has its turn in between', async () => {
  const positions = Array.from({ length: 8 }, (_, index) => ({ number: index + 1, allCandidates: [] }));
  const running = new RunningCount({ event: { definitionVersion: 1 }, positions } as unknown as BallotDefinition);
  let ended = false;
  const other = (async () => {
    while (!ended) {
      work.reports = 0;
      await setImmediate();
    }
  })();
  const options = { electorateMicro: null, wholeWeights: true, unitWeights: true, lot: null };
  expect(await running.report(options)).toHaveLength(8);
  ended = true;
  await other;
  expect(work.mostBetweenTurns).toBe(1);
});
