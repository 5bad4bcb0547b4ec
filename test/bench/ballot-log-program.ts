import { setTimeout as pause } from 'node:timers/promises';
import { sequenceLog } from '#src/ballot-log/seal-ballots.ts';
import { readConfig } from '#src/config.ts';
import { createLog } from '#src/platform/log.ts';
import { closeDeps, createDeps } from '#src/service.ts';
import { sealDeps } from '#src/work.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';
import { median } from './line.ts';

export interface BallotLogTask {
  readonly what: 'seal' | 'verify';
  readonly eventId: string;
  readonly url: string;
  readonly key: string;
}

export interface BallotLogReport {
  readonly ms: number;
  /** What the process held in the second fifth of the time, and in the last: the middle of many samples. */
  readonly earlyBytes: number;
  readonly lateBytes: number;
}

const SAMPLE_MS = 50;

async function sealAll({ eventId }: BallotLogTask): Promise<void> {
  const config = readConfig();
  const deps = createDeps(config, config.databaseUrl ?? '', createLog('silent'));
  const seal = sealDeps(deps);
  // The service looks after the log too, and one that finds the other at it leaves it to the other.
  for (let closed = false; !closed; ) {
    await sequenceLog(seal, eventId, 1);
    const { rows } = await deps.db.$client.query<{ closed: boolean }>(
      'SELECT size = closed_size AS closed FROM ballot_logs WHERE voting_event_id = $1',
      [eventId],
    );
    closed = rows[0]?.closed === true;
    if (!closed) await pause(SAMPLE_MS);
  }
  await closeDeps(deps);
}

async function verify({ eventId, url, key }: BallotLogTask): Promise<void> {
  const { verified, checks } = await verifyLog({ read: readOverHttp(url, key), event: eventId });
  const left = checks.filter(({ status }) => status !== 'verified' && status !== 'not_asked');
  if (verified !== 'yes') throw new Error(`not verified: ${JSON.stringify(left)}`);
}

async function main(task: BallotLogTask): Promise<BallotLogReport> {
  const samples: number[] = [];
  const sampling = setInterval(() => samples.push(process.memoryUsage.rss()), SAMPLE_MS);
  const begin = performance.now();
  await (task.what === 'seal' ? sealAll(task) : verify(task));
  const ms = performance.now() - begin;
  clearInterval(sampling);
  const fifth = Math.ceil(samples.length / 5);
  return {
    ms,
    earlyBytes: median(samples.slice(fifth, 2 * fifth)),
    lateBytes: median(samples.slice(-fifth)),
  };
}

const report = await main(JSON.parse(process.argv[2] ?? '') as BallotLogTask);
process.send?.(report);
process.disconnect?.();
