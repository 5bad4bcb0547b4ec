import { loadPaper } from '#src/ballot-paper/paper.ts';
import { listJobs, retryJob } from '#src/jobs/inspect.ts';
import { notFound } from '#src/platform/errors.ts';
import { EventCounter } from '#src/results/count-event.ts';
import { findAnyEvent } from '#src/voting-events/find-event.ts';
import type { Cli } from './cli.ts';

/** Commands for whoever keeps the service running. */
export function addOperationCommands({ program, command, withDeps }: Cli): void {
  command(program, 'migrate', 'bring the database to the newest schema').action(() =>
    withDeps(async () => ({ migrated: true })),
  );

  command(program, 'recount', 'count the box of an event from the first ballot on')
    .requiredOption('--event <idOrCode>', 'the event')
    .action((options: { event: string }) =>
      withDeps(async (deps, json) => {
        const paper = await loadPaper(deps.db, (await findAnyEvent(deps.db, options.event)).id);
        if (paper === undefined) throw notFound();
        const results = await new EventCounter(deps, false).results(paper, 'organizer', deps.clock.now());
        if (json) return { ...results };
        return results.positions.flatMap((position) =>
          position.candidates.map((one) => ({
            position: position.title,
            candidate: one.name,
            votes: one.votesWon,
            weight: one.weightWon,
            winner: one.winner ? (one.tied ? 'tied' : 'yes') : '',
          })),
        );
      }),
    );

  const jobs = program.command('jobs').description('queued work').exitOverride();

  command(jobs, 'list', 'list jobs that wait or have failed').action(() => withDeps(async (deps) => listJobs(deps.db)));

  command(jobs, 'retry', 'run a failed job again now')
    .argument('<id>', 'the job')
    .action((id: string) =>
      withDeps(async (deps) => {
        const job = /^\d{1,18}$/.test(id) ? await retryJob(deps.db, id) : undefined;
        if (job === undefined) throw notFound();
        return job;
      }),
    );
}
