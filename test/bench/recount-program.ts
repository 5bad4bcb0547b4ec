import { readConfig } from '#src/config.ts';
import type { Deps } from '#src/deps.ts';
import { createLog } from '#src/platform/log.ts';
import { EventCounter } from '#src/results/count-event.ts';
import { closeDeps, createDeps } from '#src/service.ts';
import { startCount } from '#src/tally/start-count.ts';
import type { PositionCount } from '#src/tally/types.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { RANKED_CANDIDATES, rankingOf } from './rankings.ts';

export interface RecountTask {
  readonly eventId: string;
  readonly rounds: number;
  /** Compare with the elimination of so many rankings in memory; with `count(*)` where it is left out. */
  readonly elimination: number | undefined;
}

export interface RecountReport {
  readonly countMs: number[];
  readonly referenceMs: number[];
  /** What the first count took beyond what the process held before. */
  readonly bytes: number;
}

/** The most that the process held so far. */
const peakBytes = (): number => process.resourceUsage().maxRSS * 1_024;

async function timed(work: () => unknown): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

function rankedCount(rankings: number): PositionCount {
  const candidates = Array.from({ length: RANKED_CANDIDATES }, (_, index) => ({
    ...{ id: `cnd_${index}`, name: `Candidate ${index}`, sortOrder: index, withdrawn: false, referendumRole: null },
  }));
  const settings = { seats: 1, tieBreak: 'joint', rules: null } as const;
  const count = startCount({ id: 'pos', title: 'Position', votingMethod: 'ranked_choice', ...settings, candidates });
  const values = Array.from({ length: RANKED_CANDIDATES }, (_, place) => place + 1);
  for (let index = 0; index < rankings; index += 1) {
    count.add({ length: RANKED_CANDIDATES, candidates: rankingOf(index), values }, 1_000_000n);
  }
  return count;
}

function referenceOf(deps: Deps, { eventId, elimination }: RecountTask): () => unknown {
  if (elimination === undefined) {
    return () => deps.db.$client.query('SELECT count(*) FROM ballots WHERE voting_event_id = $1', [eventId]);
  }
  const count = rankedCount(elimination);
  return () => count.report({ lot: null, electorateMicro: null, wholeWeights: true, unitWeights: true });
}

async function main(task: RecountTask): Promise<RecountReport> {
  const config = readConfig();
  const deps = createDeps(config, config.databaseUrl ?? '', createLog('silent'));
  const event = await findEventById(deps.db, task.eventId);
  const paper = event === undefined ? undefined : await deps.papers.take(event);
  if (paper === undefined) throw new Error('there is no such event');
  const count = () => new EventCounter(deps, false).results(paper, 'organizer', Date.now());
  // A count of nothing, so that what is compiled and connected is not taken for memory of the ballots.
  await deps.db.$client.query('SELECT count(*) FROM ballots WHERE voting_event_id = $1', [task.eventId]);
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  await count();
  const bytes = peakBytes() - before;
  const reference = referenceOf(deps, task);
  await reference();
  const report: RecountReport = { countMs: [], referenceMs: [], bytes };
  for (let round = 0; round < task.rounds; round += 1) {
    report.countMs.push(await timed(count));
    report.referenceMs.push(await timed(reference));
  }
  await closeDeps(deps);
  return report;
}

const report = await main(JSON.parse(process.argv[2] ?? '') as RecountTask);
process.send?.(report);
process.disconnect?.();
