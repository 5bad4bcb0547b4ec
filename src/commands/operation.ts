import type { JobState } from '#src/jobs/inspect.ts';
import { conflict } from '#src/platform/errors.ts';
import { type Answer, type Cli, commandLine } from './cli.ts';
import { parseChoice, parseEvent, parseLike, parseWhole } from './options.ts';

const STATES: readonly JobState[] = ['waiting', 'running', 'retrying', 'failed'];

const parseState = parseChoice(STATES);

const parseJobId = parseLike(/^\d{1,18}$/, 'must be a number as `jobs list` shows it');
const parseRequestId = parseLike(/^[A-Za-z0-9_-]{1,64}$/, 'has up to 64 letters, digits, - and _');

const WHAT_IS_KEPT =
  'Refused requests are, and those that took more than a second, of the last 10,000; checks, casts and confirms never. The log has a line for every request.';

export function addOperationCommands({ program, command, group, json, withDeps, withDatabase }: Cli): void {
  command(program, 'migrate', 'bring the database to the newest schema', 'migrate', 'migrate --check')
    .option('--check', 'only say what is to be applied; exit status 1 where something is')
    .action(({ check }: { check?: boolean }) =>
      withDatabase(async (_config, findings, url): Promise<Answer> => {
        // Ignores three checks: `migrate` checks the schema itself, needs no key, and runs before `ballot-keys init` after a restore.
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
    .option('--limit <count>', 'at most so many', parseWhole(6), 100)
    .action(({ limit }: { limit: number }) =>
      withDeps(async (deps): Promise<Answer> => {
        const { readTraces } = await import('#src/http/trace-requests.ts');
        const value = await readTraces(deps.db, { limit });
        return { value, next: value.slice(0, 1).map(({ requestId }) => commandLine(`requests show ${requestId}`)) };
      }),
    );

  command(requests, 'show', 'show why a request was refused', 'requests show 3f1c0a52-7f39-4c1e-9a86-2d7f0f6f3f0e')
    .argument('<requestId>', 'as X-Request-Id of the answer has it', parseRequestId)
    .action((requestId: string) =>
      withDeps(async (deps): Promise<Answer> => {
        const { readTraces } = await import('#src/http/trace-requests.ts');
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
    .option('--limit <count>', 'at most so many, oldest first', parseWhole(6), 1_000)
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

const RECOUNT_HELP = `
The count is held against the roll (who voted), the signed log with each ballot's leaf, and after the end against the
result that the log bears. What the running service answers is checked from outside, by "log verify".

Exit status: 0 everything agrees, 1 something differs (the last table says what), 2 wrong usage.`;

/** `recount`: counts all ballots from scratch and compares the result (completions 9.3; trust I9). */
export function addRecountCommand(cli: Cli): void {
  cli
    .command(
      cli.program,
      'recount',
      'count the box of an event from the first ballot on, and compare',
      'recount --event CODE',
    )
    .requiredOption('--event <idOrCode>', 'the event')
    .addHelpText('after', RECOUNT_HELP)
    .action(({ event }: { event: string }) =>
      cli.withDeps(async (deps) => (await import('./recount.ts')).recount(deps, event)),
    );
}

const SET_BACK_HELP = `
A waiting ballot is set back where its row is not as the service wrote it: somebody else wrote to the database. It counts nowhere, and
its event is disputed and not final as long as it is there. Find out first who wrote, and whether a backup holds the row as it was.`;

/** `ballots set-back list|drop`: waiting ballots whose rows were changed by SQL outside the service (completions 6.7, 9.3). */
export function addSetBackCommands({ command, group, withDeps }: Cli): void {
  const setBack = group('ballots', 'confirmed ballots on their way to the log')
    .command('set-back')
    .description('waiting ballots whose rows the service did not write')
    .exitOverride();

  command(setBack, 'list', 'list them, at most 1,000', 'ballots set-back list --event CODE')
    .requiredOption('--event <idOrCode>', 'the event', parseEvent)
    .addHelpText('after', SET_BACK_HELP)
    .action(({ event: reference }: { event: string }) =>
      withDeps(async ({ db }): Promise<Answer> => {
        const { listSetBack } = await import('#src/ballot-log/set-back.ts');
        const { findAnyEvent } = await import('#src/voting-events/access.ts');
        const event = await findAnyEvent(db, reference);
        const ballots = (await listSetBack(db, event.id)).map((id) => ({ ballot: id }));
        return {
          value: { votingEventId: event.id, ballots },
          shown: ballots,
          next: ballots.length === 0 ? [] : [commandLine(`ballots set-back drop --event ${event.code}`)],
        };
      }),
    );

  command(setBack, 'drop', 'drop them for good; the log says how many', 'ballots set-back drop --event CODE')
    .requiredOption('--event <idOrCode>', 'the event', parseEvent)
    .addHelpText('after', SET_BACK_HELP)
    .action(({ event: reference }: { event: string }) =>
      withDeps(async (deps): Promise<Answer> => {
        const { dropSetBack } = await import('#src/ballot-log/set-back.ts');
        const { findAnyEvent } = await import('#src/voting-events/access.ts');
        const event = await findAnyEvent(deps.db, reference);
        const dropped = await dropSetBack(deps, event.id);
        if (dropped === undefined) throw conflict('no_log', 'the event has no log yet, and no ballot waits.');
        const verify = commandLine(`log verify --base-url https://vote.example.org --event ${event.code}`);
        return { value: { votingEventId: event.id, ...dropped }, next: [verify] };
      }),
    );
}

const MARKS = { ok: '✓', warning: '!', failed: '✗' } as const;

export function addDoctorCommand({ program, command, withDatabase }: Cli): void {
  command(
    program,
    'doctor',
    'check settings, keys, database, mail server, address and disk; nothing is changed',
    'doctor',
  ).action(() =>
    withDatabase(async (config, check, url): Promise<Answer> => {
      const { checkSurroundings } = await import('./doctor.ts');
      const { checkLivingKeys } = await import('#src/voting-events/check-ballot-keys.ts');
      const start = await check(true);
      const isUnusable = start.some(({ name, status }) => /^(?:database|schema)$/.test(name) && status === 'failed');
      const keys = isUnusable ? [] : await checkLivingKeys(config, url);
      const findings = [...start, ...keys, ...(await checkSurroundings(config))];
      return {
        value: findings.map(({ name, status, detail, cure }) => ({ name, status, detail, cure })),
        shown: findings.map(({ name, status, detail }) => ({ ' ': MARKS[status], check: name, found: detail })),
        next: findings
          .filter(({ cure, status }) => status !== 'ok' && cure !== '')
          .map(({ name, cure }) => `${name}: ${cure}`),
        refused: findings.some(({ status }) => status === 'failed'),
      };
    }),
  );
}
