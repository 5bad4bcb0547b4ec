import { randomBytes } from 'node:crypto';
import { text as readText } from 'node:stream/consumers';
import { InvalidArgumentError } from 'commander';
import { findAccount } from '#src/accounts/repository.ts';
import type { Deps } from '#src/deps.ts';
import { countryCodeField } from '#src/http/fields.ts';
import { findBusiness, listBusinesses } from '#src/payments/business-repository.ts';
import { connectBusiness, disconnectBusiness, refreshBusiness } from '#src/payments/connect-business.ts';
import type { ProviderCredentials, ProviderName } from '#src/payments/providers/provider.ts';
import { readSandboxAddress } from '#src/payments/sandbox/sandbox-address.ts';
import { sandboxKey, sandboxWebhookSecret } from '#src/payments/sandbox/sandbox-keys.ts';
import type { PaymentBusiness } from '#src/payments/types.ts';
import { viewBusiness } from '#src/payments/views.ts';
import { conflict, notFound } from '#src/platform/errors.ts';
import { type Answer, type Cli, commandLine, type Row } from './cli.ts';
import { parseName } from './options.ts';

interface ConnectOptions {
  readonly account: string;
  readonly provider: ProviderName;
  readonly displayName: string;
  readonly country: string;
  readonly sandbox?: boolean;
}

function parseProvider(text: string): ProviderName {
  if (text === 'provider_a' || text === 'provider_b') return text;
  throw new InvalidArgumentError('must be provider_a or provider_b');
}

function parseCountry(text: string): string {
  const parsed = countryCodeField().safeParse(text);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(parsed.error.issues[0]?.message ?? 'must be a country code');
}

/** Two lines of standard input: arguments would stand in the list of processes. */
async function askCredentials(): Promise<ProviderCredentials | undefined> {
  if (process.stdin.isTTY) return undefined;
  const [secretKey = '', webhookSecret = ''] = (await readText(process.stdin)).split('\n').map((line) => line.trim());
  return secretKey === '' ? undefined : { secretKey, ...(webhookSecret === '' ? {} : { webhookSecret }) };
}

const NO_CREDENTIALS =
  'Set PAYMENT_SECRET_KEY (and PAYMENT_WEBHOOK_SECRET for provider_a), or send them as two lines to standard input.';

function show(deps: Deps, business: PaymentBusiness): Row {
  const webhookUrl = `${deps.config.baseUrl}/provider-webhooks/${business.provider}/${business.id}`;
  return { ...viewBusiness(business), webhookUrl };
}

async function credentialsFor(cli: Cli, deps: Deps, id: string, options: ConnectOptions): Promise<ProviderCredentials> {
  if (options.sandbox === true) {
    if (readSandboxAddress(deps.config.dataDir) === undefined) {
      throw conflict(
        'no_sandbox',
        'the sandbox does not run: start the service with its embedded database (npm start).',
      );
    }
    const secretKey = sandboxKey(id, options.country, randomBytes(16).toString('hex'));
    return { secretKey, webhookSecret: sandboxWebhookSecret(secretKey) };
  }
  const credentials = cli.paymentCredentials() ?? (await askCredentials());
  if (credentials === undefined) throw conflict('no_credentials', NO_CREDENTIALS);
  return credentials;
}

async function connect(cli: Cli, deps: Deps, options: ConnectOptions): Promise<Answer> {
  if ((await findAccount(deps.db, options.account)) === undefined) throw notFound();
  const id = deps.ids.sortable('biz');
  const { account: accountId, provider, displayName, country, sandbox = false } = options;
  const credentials = await credentialsFor(cli, deps, id, options);
  const connection = { id, accountId, provider, displayName, country, sandbox, credentials };
  const value = show(deps, await connectBusiness(deps, connection));
  return {
    value,
    next: [
      ...(sandbox ? [] : [`At ${provider}, have messages sent to ${String(value['webhookUrl'])}`]),
      `PUT /voting-events/EVENT/payment-business with {"paymentBusinessId":"${id}"} lets an event be paid through it`,
      ...(value['ready'] === true
        ? []
        : [`Not ready yet. Once it is, ${commandLine(`payment-businesses refresh ${id}`)}`]),
    ],
  };
}

/** Payment businesses are connected here, not through the API (contract, "Payment business"). */
export function addPaymentBusinessCommands(cli: Cli): void {
  const { command, group, withDeps } = cli;
  const businesses = group('payment-businesses', 'accounts at the payment providers');

  command(
    businesses,
    'connect',
    'connect an account at a provider; its keys come from the environment or standard input',
    'payment-businesses connect --account acc_… --provider provider_a --display-name "Our club" --country DE < keys.txt',
    'payment-businesses connect --account acc_… --provider provider_b --display-name "Play money" --country NG --sandbox',
  )
    .requiredOption('--account <id>', 'the account that may be paid through it')
    .requiredOption('--provider <provider>', 'provider_a or provider_b', parseProvider)
    .requiredOption('--display-name <name>', 'what organizers see', parseName)
    .requiredOption('--country <code>', 'two letters; the provider’s own word goes first', parseCountry)
    .option('--sandbox', 'play money: the sandbox of this service answers for the provider')
    .addHelpText(
      'after',
      `\n${NO_CREDENTIALS}\nAt the provider, have its messages sent to the webhookUrl that is printed.`,
    )
    .action((options: ConnectOptions) => withDeps((deps) => connect(cli, deps, options)));

  command(businesses, 'list', 'list payment businesses', 'payment-businesses list --account acc_…')
    .option('--account <id>', 'of one account')
    .action((options: { account?: string }) =>
      withDeps(async (deps) => ({
        value: (await listBusinesses(deps.db, options.account)).map((business) => ({
          ...viewBusiness(business),
          accountId: business.accountId,
          sandbox: business.sandbox,
        })),
      })),
    );

  command(
    businesses,
    'refresh',
    'ask the provider again what a business may do; takes new keys where they are given',
    'payment-businesses refresh biz_…',
  )
    .argument('<id>', 'the business')
    .action((id: string) =>
      withDeps(async (deps) => ({ value: show(deps, await refreshBusiness(deps, id, cli.paymentCredentials())) })),
    );

  command(
    businesses,
    'disconnect',
    'forget the keys of a business that no event is paid through',
    'payment-businesses disconnect biz_…',
  )
    .argument('<id>', 'the business')
    .action((id: string) =>
      withDeps(async (deps) => {
        if ((await findBusiness(deps.db, undefined, id)) === undefined) throw notFound();
        await disconnectBusiness(deps, id);
        return { value: { id, disconnected: true } };
      }),
    );
}
