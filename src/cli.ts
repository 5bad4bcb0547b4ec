import { Command, CommanderError } from 'commander';
import { addAccountCommands, addKeyCommands } from '#src/commands/accounts.ts';
import { type Answer, type Cli, commandLine } from '#src/commands/cli.ts';
import { addDoctorCommand } from '#src/commands/doctor.ts';
import { explainFault } from '#src/commands/explain-fault.ts';
import { addVoterCommands } from '#src/commands/import-voters.ts';
import { addOperationCommands } from '#src/commands/operation.ts';
import { addPaymentBusinessCommands } from '#src/commands/payment-businesses.ts';
import { print } from '#src/commands/print.ts';
import { addRecountCommand } from '#src/commands/recount.ts';
import { addLogCommands } from '#src/commands/verify-log.ts';
import {
  ConfigError,
  loadEnvironmentFile,
  readConfig,
  readPaymentCredentials,
  readVersion,
  readVotingKey,
  verifierEnvironment,
} from '#src/config.ts';
import { connectEmbeddedDatabase } from '#src/database/embedded.ts';
import { EmbeddedDatabaseInUse } from '#src/database/embedded-lock.ts';
import { migrate } from '#src/database/migrate.ts';
import type { Deps } from '#src/deps.ts';
import type { ProviderAddresses } from '#src/payments/payment-providers.ts';
import { readSandboxAddress } from '#src/payments/sandbox/sandbox-address.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createLog } from '#src/platform/log.ts';
import { checkStart, joinRunning } from '#src/prepare-start.ts';
import { withSecretKey } from '#src/secret-key.ts';
import { closeDeps, createDeps } from '#src/service.ts';

const REFUSED = 1;
const USAGE = 2;

function sandboxOf(dataDir: string): ProviderAddresses | undefined {
  const url = readSandboxAddress(dataDir);
  return url === undefined ? undefined : { providerA: url, providerB: url };
}

/** Wherever `--json` stands, and also where the rest of the line is wrong. */
const isJson = (): boolean => process.argv.includes('--json');

/** Opens the database of the running service, or its own for the time of the command, does the work, and prints. */
async function withDeps(work: (deps: Deps) => Promise<Answer>): Promise<void> {
  loadEnvironmentFile();
  const given = readConfig();
  const database = given.databaseUrl === undefined ? await connectEmbeddedDatabase(given.dataDir) : undefined;
  const url = given.databaseUrl ?? database?.url ?? '';
  try {
    // The embedded database is this checkout's own; another one is migrated by `migrate` and by the start alone.
    if (database !== undefined) await migrate(url);
    const deps = createDeps(
      await joinRunning(withSecretKey(given), url),
      url,
      createLog('silent'),
      sandboxOf(given.dataDir),
    );
    try {
      const answer = await work(deps);
      print(answer, isJson());
      if (answer.refused === true) process.exitCode = REFUSED;
    } finally {
      await closeDeps(deps);
    }
  } finally {
    await database?.stop();
  }
}

/** Gives the settings, with the address of the embedded database where there is no other; nothing is migrated or checked. */
async function withDatabase(work: Parameters<Cli['withDatabase']>[0]): Promise<void> {
  loadEnvironmentFile();
  const given = readConfig();
  const database = given.databaseUrl === undefined ? await connectEmbeddedDatabase(given.dataDir) : undefined;
  try {
    const config = withSecretKey(given);
    const url = given.databaseUrl ?? database?.url ?? '';
    const answer = await work(config, () => checkStart(config, url, () => systemClock.now()), url);
    print(answer, isJson());
    if (answer.refused === true) process.exitCode = REFUSED;
  } finally {
    await database?.stop();
  }
}

const HELP = `
Settings are those of the service: the environment, or the file .env of the checkout (DATABASE_URL, SECRET_KEY, DATA_DIR …).
Without DATABASE_URL, commands use the embedded database below DATA_DIR, whether the service runs or not.
Secrets come from the environment or standard input, and are never printed again.

First steps:
  $ ${commandLine('accounts create --name "Reading club"')}
  $ ${commandLine('keys create --account acc_… --name "our server" --scopes read,write')}
  $ ${commandLine('voters import --event CODE --file roll.csv --dry-run')}

Exit status: 0 done, 1 refused or something is not right, 2 wrong usage.`;

const program = new Command('cli')
  .description('The operator’s commands. They work while the service runs and while it does not.')
  .option('--json', 'print one JSON value and nothing else')
  .version(readVersion(), '--version', 'print the version')
  .addHelpText('after', HELP)
  // A program gets what was wrong as JSON, from `report`.
  .configureOutput({ writeErr: (text) => (isJson() ? undefined : process.stderr.write(text)) })
  .showHelpAfterError('(--help shows the options and an example)')
  .exitOverride();

const cli: Cli = {
  program,
  command: (parent, name, description, ...examples) =>
    parent
      .command(name)
      .description(description)
      .option('--json', 'print one JSON value and nothing else')
      .addHelpText('after', `\nExample:\n${examples.map((words) => `  $ ${commandLine(words)}\n`).join('')}`)
      .exitOverride(),
  group: (name, description) => program.command(name).description(description).exitOverride(),
  withDeps,
  withDatabase,
  json: isJson,
  paymentCredentials: () => readPaymentCredentials(),
  votingKey: (given) => given ?? readVotingKey(),
};

addAccountCommands(cli);
addKeyCommands(cli);
addVoterCommands(cli);
addPaymentBusinessCommands(cli);
addRecountCommand(cli);
addLogCommands(cli, verifierEnvironment);
addOperationCommands(cli);
addDoctorCommand(cli);

const printFault = (message: string): void => {
  process.stdout.write(`${JSON.stringify({ error: { message } })}\n`);
};

/** Says what was wrong and what would be right; the exit status tells programs. */
function report(fault: unknown): number {
  if (fault instanceof CommanderError) {
    if (fault.exitCode !== 0 && isJson()) printFault(fault.message.replace(/^error: /, ''));
    return fault.exitCode === 0 ? 0 : USAGE;
  }
  const words =
    fault instanceof ConfigError || fault instanceof EmbeddedDatabaseInUse ? fault.message : explainFault(fault);
  if (words === undefined) throw fault;
  if (isJson()) printFault(words);
  else process.stderr.write(`${words}\n`);
  return REFUSED;
}

// A reader such as `head` may close the pipe before everything is printed.
process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
  if (fault.code !== 'EPIPE') throw fault;
  process.exit();
});

try {
  await program.parseAsync();
} catch (fault) {
  process.exitCode = report(fault);
}
