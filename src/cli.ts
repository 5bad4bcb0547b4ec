import '#src/platform/quick-start.ts';
import { Command, CommanderError, Option } from 'commander';
import { addAccountCommands, addKeyCommands } from '#src/commands/accounts.ts';
import { addBackupCommands } from '#src/commands/backup-commands.ts';
import { addCellCommands } from '#src/commands/cells.ts';
import { type Answer, type Cli, commandLine } from '#src/commands/cli.ts';
import {
  addDoctorCommand,
  addOperationCommands,
  addRecountCommand,
  addSetBackCommands,
} from '#src/commands/operation.ts';
import { addOrganizerCommands } from '#src/commands/organizer-commands.ts';
import { addPaymentBusinessCommands } from '#src/commands/payment-businesses.ts';
import { addSecretCommands } from '#src/commands/secrets.ts';
import { addLogCommands } from '#src/commands/verify-log.ts';
import { addVoterCommands } from '#src/commands/voters.ts';
import { readVersion } from '#src/platform/version.ts';

// Loads only the command tree. A command imports its implementation when it runs.

const REFUSED = 1;
const USAGE = 2;

/** Searches argv, because `--json` must also apply if the command line cannot be parsed. */
const isJson = (): boolean => process.argv.includes('--json');

/** Whether the running command uses HTTP. Its errors are then explained without loading database code. */
let isRemote = false;

const HELP = `
Settings are those of the service: the environment, or the file .env of the checkout (DATABASE_URL, SECRET_KEY, DATA_DIR …).
Without DATABASE_URL, commands use the embedded database below DATA_DIR, whether the service runs or not.
With DATABASE_CELLS, what an argument names is looked for in every cell; --cell NAME says in which one a command works, main if left out.
Secrets come from the environment or standard input, and are never printed again.
Organizers’ commands (event, watch, results, voters import, notify and letters) work over HTTP with VOTING_API_KEY, a key
of an account, on the service at VOTING_API, and need no database.

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
  // With `--json`, `report` prints the error as JSON instead.
  .configureOutput({ writeErr: (text) => (isJson() ? undefined : process.stderr.write(text)) })
  .showHelpAfterError('(--help shows the options and an example)')
  .exitOverride();

const show = (answer: Promise<Answer>): Promise<void> =>
  answer.then(async (given) => (await import('#src/commands/print.ts')).print(given, isJson()));

const cli: Cli = {
  program,
  command: (parent, name, description, ...examples) =>
    parent
      .command(name)
      .description(description)
      .option('--json', 'print one JSON value and nothing else')
      .addOption(new Option('--cell <name>', 'in which of several databases (DATABASE_CELLS)').hideHelp())
      .addHelpText('after', `\nExample:\n${examples.map((words) => `  $ ${commandLine(words)}\n`).join('')}`)
      .exitOverride(),
  group: (name, description) => program.command(name).description(description).exitOverride(),
  withDeps: async (work) => show((await import('#src/run-command.ts')).withDeps(work)),
  withDatabase: async (work) => show((await import('#src/run-command.ts')).withDatabase(work)),
  withServer: async (work) => show((await import('#src/run-command.ts')).withServer(work)),
  withPrograms: async (work) => show((await import('#src/run-command.ts')).withPrograms(work)),
  withApi: async (work) => {
    isRemote = true;
    return show((await import('#src/run-remote.ts')).withApi(work));
  },
  withOwnService: async (event, work) => show((await import('#src/run-command.ts')).withOwnService(event, work)),
  hasApiKey: async () => (await import('#src/run-remote.ts')).isRemote(),
  json: isJson,
  config: () => import('#src/config.ts'),
};

addAccountCommands(cli);
addKeyCommands(cli);
addVoterCommands(cli);
addOrganizerCommands(cli);
addPaymentBusinessCommands(cli);
addRecountCommand(cli);
addSetBackCommands(cli);
addLogCommands(cli);
addOperationCommands(cli);
addBackupCommands(cli);
addSecretCommands(cli);
addDoctorCommand(cli);
addCellCommands(cli);

const printFault = (error: { readonly message: string }): void => {
  process.stdout.write(`${JSON.stringify({ error })}\n`);
};

/** Prints an error. @returns the exit status */
async function report(fault: unknown): Promise<number> {
  if (fault instanceof CommanderError) {
    if (fault.exitCode !== 0 && isJson()) printFault({ message: fault.message.replace(/^error: /, '') });
    return fault.exitCode === 0 ? 0 : USAGE;
  }
  const remote = isRemote ? await import('#src/run-remote.ts') : undefined;
  const words = (remote ?? (await import('#src/run-command.ts'))).wordsOf(fault);
  if (words === undefined) throw fault;
  if (isJson()) printFault(remote?.faultOf(fault) ?? { message: words });
  else process.stderr.write(`${words}\n`);
  return REFUSED;
}

// A reader such as `head` may close the pipe early. That is no failure of the command.
process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
  if (fault.code !== 'EPIPE') throw fault;
  process.exit();
});

try {
  await program.parseAsync();
} catch (fault) {
  process.exitCode = await report(fault);
}
