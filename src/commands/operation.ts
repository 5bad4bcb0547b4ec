import { InvalidArgumentError } from 'commander';
import type { JobState } from '#src/jobs/inspect.ts';
import { conflict } from '#src/platform/errors.ts';
import { type Answer, type Cli, commandLine } from './cli.ts';
import { parseChoice } from './options.ts';

const STATES: readonly JobState[] = ['waiting', 'running', 'retrying', 'failed'];

const parseState = parseChoice(STATES);

function parseCount(text: string): number {
  const count = Number(text);
  if (!/^\d{1,6}$/.test(text) || count < 1) throw new InvalidArgumentError('must be a whole number from 1');
  return count;
}

/** A job's ID: the queue counts them. */
function parseJobId(text: string): string {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('must be a number as `jobs list` shows it');
  return text;
}

const WHAT_IS_KEPT =
  'Refused requests are, and those that took more than a second, of the last 10,000; checks, casts and confirms never. The log has a line for every request.';

function parseRequestId(text: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(text)) throw new InvalidArgumentError('has up to 64 letters, digits, - and _');
  return text;
}

export function addOperationCommands({ program, command, group, json, withDeps, withDatabase }: Cli): void {
  command(program, 'migrate', 'bring the database to the newest schema', 'migrate', 'migrate --check')
    .option('--check', 'only say what is to be applied; exit status 1 where something is')
    .action(({ check }: { check?: boolean }) =>
      withDatabase(async (_config, findings, url): Promise<Answer> => {
        // `migrate` judges the schema itself, and needs no key; a restored database is migrated before its folders are marked.
        const failure = (await findings()).find(
          ({ status, name }) => status === 'failed' && !['secret key', 'schema', 'places of keys'].includes(name),
        );
        if (failure !== undefined) throw conflict('database_not_ready', `${failure.detail}. ${failure.cure}`);
        const { listPending, migrate } = await import('#src/database/migrate.ts');
        const { lacking, pending, ...numbers } = await listPending(url);
        if (check !== true)
          await migrate(url, { insists: true, say: (line) => json() || process.stderr.write(`${line}\n`) });
        const value = { ...numbers, pending: check === true ? pending : [], applied: check === true ? [] : pending };
        return { value, ...(check === true && lacking !== undefined ? { refused: true, next: [lacking] } : {}) };
      }),
    );

  const requests = group('requests', 'requests that were refused or took more than a second: the last 10,000');

  command(requests, 'list', 'list them, the newest first', 'requests list --limit 20')
    .option('--limit <count>', 'at most so many', parseCount, 100)
    .action(({ limit }: { limit: number }) =>
      withDeps(async (deps): Promise<Answer> => {
        const { readTraces } = await import('#src/http/read-traces.ts');
        const value = await readTraces(deps.db, { limit });
        return { value, next: value.slice(0, 1).map(({ requestId }) => commandLine(`requests show ${requestId}`)) };
      }),
    );

  command(requests, 'show', 'show why a request was refused', 'requests show 3f1c0a52-7f39-4c1e-9a86-2d7f0f6f3f0e')
    .argument('<requestId>', 'as X-Request-Id of the answer has it', parseRequestId)
    .action((requestId: string) =>
      withDeps(async (deps): Promise<Answer> => {
        const { readTraces } = await import('#src/http/read-traces.ts');
        const { docUrlOf } = await import('#src/http/errors.ts');
        const found = await readTraces(deps.db, { requestId, limit: 100 });
        const value = found.map(({ code, status, reason, ...rest }) => {
          const docUrl = code === null ? null : docUrlOf({ code, status, reason }, deps.config.apiDocUrl);
          return { ...rest, status, code, reason, docUrl };
        });
        if (value.length === 0) throw conflict('request_not_kept', `no request ${requestId} is kept. ${WHAT_IS_KEPT}`);
        return { value };
      }),
    );

  const jobs = group('jobs', 'queued work: mails, deletions, sealing, refunds');

  command(jobs, 'list', 'list jobs that wait, run or have failed', 'jobs list --state failed')
    .option('--state <state>', STATES.join(', '), parseState)
    .option('--task <name>', 'of one kind')
    .option('--limit <count>', 'at most so many, oldest first', parseCount, 1_000)
    .action((options: { state?: JobState; task?: string; limit: number }) =>
      withDeps(async (deps): Promise<Answer> => {
        const { listJobs } = await import('#src/jobs/inspect.ts');
        const value = await listJobs(deps.db, options);
        const failed = value.filter(({ state }) => state === 'failed');
        return {
          value,
          next: failed.slice(0, 1).map(({ id }) => `${commandLine(`jobs retry ${id}`)}   or: jobs retry --all-failed`),
        };
      }),
    );

  command(jobs, 'retry', 'run a job again now, with all its attempts', 'jobs retry 4711', 'jobs retry --all-failed')
    .argument('[id]', 'the job', parseJobId)
    .option('--all-failed', 'every job that has used up its attempts')
    .action((id: string | undefined, { allFailed }: { allFailed?: boolean }, self) => {
      if ((id === undefined) === (allFailed !== true))
        self.error('error: name one job, or --all-failed', { exitCode: 2 });
      return withDeps(async (deps): Promise<Answer> => {
        const { retryFailedJobs, retryJob } = await import('#src/jobs/inspect.ts');
        if (id === undefined) return { value: { retried: await retryFailedJobs(deps.db) } };
        const job = await retryJob(deps.db, id);
        if (job === undefined) throw conflict('job_gone', 'this job is done, was never there, or runs right now.');
        return { value: job, next: [`${commandLine('jobs list')} shows whether it comes through`] };
      });
    });
}
