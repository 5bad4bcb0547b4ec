import { readConfig } from '#src/config.ts';
import type { Deps } from '#src/deps.ts';
import { createLog } from '#src/platform/log.ts';
import { EventCounter } from '#src/results/count-event.ts';
import { closeDeps, createDeps } from '#src/service.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { ROWS_TABLE } from './elections.ts';
import { runPlainRunoff } from './plain-runoff.ts';
import { RANKED_CANDIDATES, rankingOf } from './rankings.ts';

export interface RecountTask {
  readonly eventId: string;
  readonly rounds: number;
  readonly seed: number;
  /** Compare with the elimination of so many rankings in memory; with `count(*)` where it is left out. */
  readonly elimination: number | undefined;
}

export interface RecountReport {
  readonly countMs: number[];
  readonly referenceMs: number[];
  /** Of this process, a count. */
  readonly cpuMs: number[];
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

/** Full rankings, one after the other. */
function manyRankings(seed: number, ballots: number): Uint8Array {
  const rankings = new Uint8Array(ballots * RANKED_CANDIDATES);
  for (let ballot = 0; ballot < ballots; ballot += 1) rankings.set(rankingOf(seed, ballot), ballot * RANKED_CANDIDATES);
  return rankings;
}

function referenceOf(deps: Deps, { eventId, seed, elimination }: RecountTask): () => unknown {
  if (elimination === undefined)
    return () => deps.db.$client.query(`SELECT count(*) FROM ${ROWS_TABLE} WHERE voting_event_id = $1`, [eventId]);
  const rankings = manyRankings(seed, elimination);
  return () => runPlainRunoff(rankings, RANKED_CANDIDATES);
}

async function main(task: RecountTask): Promise<RecountReport> {
  const config = readConfig();
  const deps = createDeps(config, config.databaseUrl ?? '', createLog('silent'));
  const event = await findEventById(deps.db, task.eventId);
  const definition = event === undefined ? undefined : await deps.definitions.get(event);
  if (definition === undefined) throw new Error('there is no such event');
  const count = () => new EventCounter(deps).results(definition, 'organizer', Date.now());
  // A count of nothing, so that what is compiled and connected is not taken for memory of the ballots.
  await deps.db.$client.query('SELECT count(*) FROM ballot_blocks WHERE voting_event_id = $1', [task.eventId]);
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  await count();
  const bytes = peakBytes() - before;
  const reference = referenceOf(deps, task);
  await reference();
  // Once more, so that the compiler has seen all of it.
  await reference();
  const report: RecountReport = { countMs: [], referenceMs: [], cpuMs: [], bytes };
  for (let round = 0; round < task.rounds; round += 1) {
    const cpuBefore = process.cpuUsage();
    report.countMs.push(await timed(count));
    const { user, system } = process.cpuUsage(cpuBefore);
    report.cpuMs.push((user + system) / 1_000);
    report.referenceMs.push(await timed(reference));
  }
  await closeDeps(deps);
  return report;
}

const report = await main(JSON.parse(process.argv[2] ?? '') as RecountTask);
process.send?.(report);
process.disconnect?.();
