import { Command, CommanderError } from 'commander';
import { addAccountCommands, addKeyCommands } from '#src/commands/accounts.ts';
import type { Cli, Row } from '#src/commands/cli.ts';
import { addOperationCommands } from '#src/commands/operation.ts';
import { addPaymentBusinessCommands } from '#src/commands/payment-businesses.ts';
import { print } from '#src/commands/print.ts';
import { addLogCommands } from '#src/commands/verify-log.ts';
import {
  ConfigError,
  loadEnvironmentFile,
  readConfig,
  readPaymentCredentials,
  verifierEnvironment,
} from '#src/config.ts';
import { connectEmbeddedDatabase } from '#src/database/embedded.ts';
import { EmbeddedDatabaseInUse } from '#src/database/embedded-lock.ts';
import { migrate } from '#src/database/migrate.ts';
import type { Deps } from '#src/deps.ts';
import type { ProviderAddresses } from '#src/payments/payment-providers.ts';
import { PaymentProviderRefused, PaymentProviderUnavailable } from '#src/payments/providers/provider.ts';
import { readSandboxAddress } from '#src/payments/sandbox/sandbox-address.ts';
import { ApiError } from '#src/platform/errors.ts';
import { createLog } from '#src/platform/log.ts';
import { withSecretKey } from '#src/secret-key.ts';
import { closeDeps, createDeps } from '#src/service.ts';

const REFUSED = 1;
const USAGE = 2;

function sandboxOf(dataDir: string): ProviderAddresses | undefined {
  const url = readSandboxAddress(dataDir);
  return url === undefined ? undefined : { providerA: url, providerB: url };
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
    const deps = createDeps(withSecretKey(given), url, createLog('silent'), sandboxOf(given.dataDir));
    try {
      print(await work(deps, json), json);
    } finally {
      await closeDeps(deps);
    }
  } finally {
    await database?.stop();
  }
}

const program = new Command('cli')
  .description('The operator’s commands. They work while the service runs and while it does not.')
  .option('--json', 'print one JSON value and nothing else')
  .showHelpAfterError()
  .exitOverride();

const cli: Cli = {
  program,
  command: (parent, name, description) =>
    parent
      .command(name)
      .description(description)
      .option('--json', 'print one JSON value and nothing else')
      .hook('preAction', (_root, action) => {
        if (action.opts<{ json?: boolean }>().json === true) program.setOptionValue('json', true);
      })
      .exitOverride(),
  withDeps,
  paymentCredentials: () => readPaymentCredentials(),
};

addAccountCommands(cli);
addKeyCommands(cli);
addPaymentBusinessCommands(cli);
addOperationCommands(cli);
addLogCommands(cli, verifierEnvironment);

/** Says what was wrong and what would be right; the exit status tells programs. */
function report(fault: unknown): number {
  if (fault instanceof CommanderError) return fault.exitCode === 0 ? 0 : USAGE;
  if (fault instanceof ApiError) {
    process.stderr.write(`Refused: ${fault.code === 'not_found' ? 'there is nothing with this ID.' : fault.message}\n`);
    return REFUSED;
  }
  if (fault instanceof PaymentProviderUnavailable || fault instanceof PaymentProviderRefused) {
    process.stderr.write(`Refused: ${fault.message}. Check the credentials, and that the provider can be reached.\n`);
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
