import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { createAccount } from '#src/accounts/create-account.ts';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { PLAN_NAMES, type PlanName } from '#src/accounts/plans.ts';
import { listAccounts, listApiKeys, revokeApiKey, updatePlan } from '#src/accounts/repository.ts';
import { loadPaper } from '#src/ballot-paper/paper.ts';
import { ConfigError, loadEnvironmentFile, readConfig } from '#src/config.ts';
import { inTransaction } from '#src/database/client.ts';
import { connectEmbeddedDatabase } from '#src/database/embedded.ts';
import { EmbeddedDatabaseInUse } from '#src/database/embedded-lock.ts';
import { migrate } from '#src/database/migrate.ts';
import type { Deps } from '#src/deps.ts';
import type { Scope } from '#src/http/caller.ts';
import { listJobs, retryJob } from '#src/jobs/inspect.ts';
import { ApiError, notFound } from '#src/platform/errors.ts';
import { createLog } from '#src/platform/log.ts';
import { nameFault, normaliseText } from '#src/platform/text.ts';
import { EventCounter } from '#src/results/count-event.ts';
import { withSecretKey } from '#src/secret-key.ts';
import { createDeps } from '#src/service.ts';
import { findAnyEvent, findEventByReference } from '#src/voting-events/find-event.ts';

const REFUSED = 1;
const USAGE = 2;

type Row = Record<string, unknown>;

/** Prints for programs (one JSON value) or for people (a table, or lines of name and value). */
function print(value: Row | readonly Row[], json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(value)}\n`);
    return;
  }
  const text = (cell: unknown): string => (Array.isArray(cell) ? cell.join(',') : cell === null ? '–' : String(cell));
  if (!Array.isArray(value)) {
    for (const [name, cell] of Object.entries(value)) process.stdout.write(`${name.padEnd(14)} ${text(cell)}\n`);
    return;
  }
  const rows: readonly Row[] = value;
  const [first] = rows;
  if (first === undefined) {
    process.stdout.write('none\n');
    return;
  }
  const names = Object.keys(first);
  const widths = names.map((name) => Math.max(name.length, ...rows.map((row) => text(row[name]).length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  process.stdout.write(`${line(names)}\n${rows.map((row) => line(names.map((name) => text(row[name])))).join('\n')}\n`);
}

/** Opens the database of the running service, or its own for the time of the command, and does the work. */
async function withDeps(work: (deps: Deps, json: boolean) => Promise<Row | readonly Row[]>): Promise<void> {
  const json = program.opts<{ json?: boolean }>().json === true;
  loadEnvironmentFile();
  const given = readConfig();
  const database = given.databaseUrl === undefined ? await connectEmbeddedDatabase(given.dataDir) : undefined;
  const url = given.databaseUrl ?? database?.url ?? '';
  try {
    await migrate(url);
    const deps = createDeps(withSecretKey(given), url, createLog('silent'));
    try {
      print(await work(deps, json), json);
    } finally {
      deps.mailer.close();
      await deps.db.$client.end();
    }
  } finally {
    await database?.stop();
  }
}

function parseName(text: string): string {
  const name = normaliseText(text);
  const fault = name.length > 200 ? 'must have at most 200 characters' : nameFault(name);
  if (fault !== undefined) throw new InvalidArgumentError(fault);
  return name;
}

function parsePlan(text: string): PlanName {
  const plan = PLAN_NAMES.find((name) => name === text);
  if (plan === undefined) throw new InvalidArgumentError(`must be one of ${PLAN_NAMES.join(', ')}`);
  return plan;
}

const SCOPES: readonly Scope[] = ['read', 'write', 'vote', 'observe'];

function parseScopes(text: string): Scope[] {
  return text.split(',').map((part) => {
    const scope = SCOPES.find((name) => name === part.trim());
    if (scope === undefined)
      throw new InvalidArgumentError(`must be read, write, vote or observe, several with commas`);
    return scope;
  });
}

function parseDays(text: string): number {
  const days = Number(text);
  if (!/^\d{1,5}$/.test(text) || days < 1) throw new InvalidArgumentError('must be a whole number of days');
  return days;
}

const program = new Command('cli')
  .description('The operator’s commands. They work while the service runs and while it does not.')
  .option('--json', 'print one JSON value and nothing else')
  .showHelpAfterError()
  .exitOverride();

/** `--json` may stand anywhere. */
function command(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .option('--json', 'print one JSON value and nothing else')
    .hook('preAction', (_root, action) => {
      if (action.opts<{ json?: boolean }>().json === true) program.setOptionValue('json', true);
    })
    .exitOverride();
}

const accounts = program.command('accounts').description('accounts of organizers').exitOverride();

command(accounts, 'create', 'create an account')
  .requiredOption('--name <name>', 'its name', parseName)
  .option('--plan <plan>', PLAN_NAMES.join(', '), parsePlan, 'pro')
  .action((options: { name: string; plan: PlanName }) =>
    withDeps(async (deps) => ({ ...(await createAccount(deps.db, deps, { name: options.name, plan: options.plan })) })),
  );

command(accounts, 'list', 'list accounts').action(() =>
  withDeps(async (deps) =>
    (await listAccounts(deps.db)).map(({ id, name, plan, createdAt }) => ({ id, name, plan, createdAt })),
  ),
);

command(accounts, 'set-plan', 'put an account on another plan')
  .requiredOption('--account <id>', 'the account')
  .requiredOption('--plan <plan>', PLAN_NAMES.join(', '), parsePlan)
  .action((options: { account: string; plan: PlanName }) =>
    withDeps(async (deps) => {
      const row = await updatePlan(deps.db, options.account, options.plan);
      if (row === undefined) throw notFound();
      return { id: row.id, name: row.name, plan: row.plan };
    }),
  );

const keys = program.command('keys').description('API keys').exitOverride();

command(keys, 'create', 'create an API key; it is shown once')
  .requiredOption('--account <id>', 'the account')
  .requiredOption('--name <name>', 'what the key is for', parseName)
  .requiredOption('--scopes <scopes>', 'read,write or vote or observe', parseScopes)
  .option('--event <idOrCode>', 'the event that an observe key reads')
  .option('--expires-in-days <days>', 'when it ends', parseDays)
  .action((options: { account: string; name: string; scopes: Scope[]; event?: string; expiresInDays?: number }) =>
    withDeps(async (deps) => {
      const event =
        options.event === undefined ? null : await findEventByReference(deps.db, options.account, options.event);
      return {
        ...(await createApiKey(deps.db, deps, {
          accountId: options.account,
          name: options.name,
          scopes: options.scopes,
          votingEventId: event?.id ?? null,
          expiresInDays: options.expiresInDays ?? null,
        })),
      };
    }),
  );

command(keys, 'list', 'list API keys')
  .option('--account <id>', 'of one account')
  .action((options: { account?: string }) =>
    withDeps(async (deps) =>
      (await listApiKeys(deps.db, options.account)).map((key) => ({
        id: key.id,
        accountId: key.accountId,
        name: key.name,
        hint: key.hint,
        scopes: key.scopes,
        expiresAt: key.expiresAt,
        revokedAt: key.revokedAt,
        lastUsedAt: key.lastUsedAt,
        createdAt: key.createdAt,
      })),
    ),
  );

command(keys, 'revoke', 'revoke an API key; every process drops it at once')
  .argument('[id]', 'the key')
  .option('--key <id>', 'the key')
  .action((id: string | undefined, options: { key?: string }) =>
    withDeps(async (deps) => {
      const row = await inTransaction(deps.db, (tx) => revokeApiKey(tx, id ?? options.key ?? '', deps.clock.now()));
      if (row === undefined) throw notFound();
      return { id: row.id, name: row.name, revokedAt: row.revokedAt };
    }),
  );

command(program, 'migrate', 'bring the database to the newest schema').action(() =>
  withDeps(async () => ({ migrated: true })),
);

command(program, 'recount', 'count the box of an event from the first ballot on')
  .requiredOption('--event <idOrCode>', 'the event')
  .action((options: { event: string }) =>
    withDeps(async (deps, json) => {
      const paper = await loadPaper(deps.db, (await findAnyEvent(deps.db, options.event)).id);
      if (paper === undefined) throw notFound();
      const results = await new EventCounter(deps.db, deps.secrets).results(paper, 'organizer', deps.clock.now());
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

/** Says what was wrong and what would be right; the exit status tells programs. */
function report(fault: unknown): number {
  if (fault instanceof CommanderError) return fault.exitCode === 0 ? 0 : USAGE;
  if (fault instanceof ApiError) {
    process.stderr.write(`Refused: ${fault.code === 'not_found' ? 'there is nothing with this ID.' : fault.message}\n`);
    return REFUSED;
  }
  if (fault instanceof ConfigError || fault instanceof EmbeddedDatabaseInUse) {
    process.stderr.write(`${fault.message}\n`);
    return REFUSED;
  }
  throw fault;
}

try {
  await program.parseAsync();
} catch (fault) {
  process.exitCode = report(fault);
}
