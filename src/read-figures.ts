import { readCloseDue } from '#src/ballot-log/due-repository.ts';
import { countStandbys } from '#src/database/check-server.ts';
import type { Database } from '#src/database/client.ts';
import { isSilent, MAIN_CELL } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import { countFailedJobs } from '#src/jobs/inspect.ts';
import type { AnyJob } from '#src/jobs/queue.ts';
import type { Readings } from '#src/server/metrics.ts';
import type { WitnessPlace } from '#src/service-log/ask-witness.ts';
import { readWitnessLag } from './service-log/ask-witnesses.ts';

/** Figures that only the database has. @param jobs all kinds of jobs, so that kinds without pending or failed jobs show 0 */
export async function readFigures(
  db: Database,
  jobs: readonly Pick<AnyJob, 'name' | 'group'>[],
  witnesses: readonly WitnessPlace[] = [],
): Promise<Readings> {
  const tasks = jobs.map(({ name }) => name);
  const mails = jobs.filter(({ group }) => group === 'mails').map(({ name }) => name);
  const { rows } = await db.$client.query<{ webhooks: string; webhook: string; ballots: string; alarms: string }>(`
    WITH due AS MATERIALIZED (
      SELECT d.next_try_at FROM webhook_deliveries d
      JOIN webhook_endpoints e ON e.id = d.endpoint_id AND e.status = 'active'
      WHERE d.status = 'pending' AND d.next_try_at <= now_ms())
    SELECT (SELECT count(*) FROM due)::text AS webhooks,
      (SELECT coalesce(now_ms() - min(next_try_at), 0) FROM due)::text AS webhook,
      (SELECT count(*) FROM ballot_queue)::text AS ballots,
      (SELECT count(*) FROM voting_events WHERE alarm IS NOT NULL AND deleted_at IS NULL)::text AS alarms`);
  const { rows: due } = await db.$client.query<{ task: string; seconds: string }>(`
    SELECT name AS task, ((now_ms() - min(run_at)) / 1000.0)::text AS seconds FROM jobs
    WHERE run_at <= now_ms() AND held_by IS NULL AND attempts < max_attempts GROUP BY 1`);
  // Measure from the creation of a mail: that is how long its voter has waited. Each retry moves the due time.
  const { rows: waiting } = await db.$client.query<{ seconds: string }>(
    `SELECT coalesce((now_ms() - min(created_at)) / 1000.0, 0)::text AS seconds FROM jobs
     WHERE name = ANY ($1) AND attempts < max_attempts`,
    [mails],
  );
  const [row] = rows;
  const failed = await countFailedJobs(db);
  const none = tasks.map((task) => [task, 0] as const);
  return {
    failedJobs: new Map([...none, ...failed]),
    poolWaiting: db.$client.waiting,
    oldestJobSeconds: new Map([...none, ...due.map(({ task, seconds }) => [task, Number(seconds)] as const)]),
    oldestMailSeconds: Number(waiting[0]?.seconds ?? 0),
    pendingWebhooks: Number(row?.webhooks ?? 0),
    oldestWebhookSeconds: Number(row?.webhook ?? 0) / 1_000,
    unsealedBallots: Number(row?.ballots ?? 0),
    closeDueSeconds: (await readCloseDue(db)) / 1_000,
    logAlarms: Number(row?.alarms ?? 0),
    standbys: await countStandbys(db.$client),
    witnessLagSeconds: new Map(
      [...(await readWitnessLag(db, witnesses))].map(([name, ms]) => [name, ms / 1_000] as const),
    ),
    silentCells: new Map(),
  };
}

/** Figures that are added up over the cells. Of any other figure, the service shows the greatest. */
const ADDED: readonly (keyof Readings)[] = [
  'poolWaiting',
  'pendingWebhooks',
  'unsealedBallots',
  'logAlarms',
  'failedJobs',
];

type Figure = Readings[keyof Readings];

function join(name: keyof Readings, one: Figure, other: Figure): Figure {
  const together = (a: number, b: number): number => {
    if (name === 'standbys') return Math.min(a, b);
    return ADDED.includes(name) ? a + b : Math.max(a, b);
  };
  if (typeof one === 'number' || typeof other === 'number') return together(Number(one), Number(other));
  const both = new Map(one);
  for (const [key, value] of other) {
    const before = both.get(key);
    both.set(key, before === undefined ? value : together(before, value));
  }
  return both;
}

/** The figures of all cells that answer, combined into one set. */
export async function readFiguresOfCells(
  cells: readonly Deps[],
  jobs: Parameters<typeof readFigures>[1],
): Promise<Readings> {
  const asked = cells.filter((cell) => cells.length === 1 || !isSilent(cell));
  const found = await Promise.all(
    asked.map(({ cell, db, config }) => readFigures(db, jobs, cell === MAIN_CELL ? config.witnesses : [])),
  );
  const [first, ...others] = found;
  if (first === undefined) throw new Error('no cell answers');
  if (cells.length === 1) return first;
  const names = Object.keys(first) as (keyof Readings)[];
  const joined = others.reduce(
    (one, other) =>
      Object.fromEntries(names.map((name) => [name, join(name, one[name], other[name])])) as unknown as Readings,
    first,
  );
  return { ...joined, silentCells: new Map(cells.map((cell) => [cell.cell, isSilent(cell) ? 1 : 0])) };
}
