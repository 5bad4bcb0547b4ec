import { randomBytes } from 'node:crypto';
import { text as readText } from 'node:stream/consumers';
import { readSandboxAddress } from '#sandbox/sandbox-address.ts';
import { sandboxKey, sandboxWebhookSecret } from '#sandbox/sandbox-keys.ts';
import { findAccount } from '#src/accounts/repository.ts';
import type { Deps } from '#src/deps.ts';
import type { ProviderCredentials } from '#src/payment-providers/provider.ts';
import { isProviderName, PROVIDER_NAMES } from '#src/payment-providers/registered.ts';
import { listBusinesses } from '#src/payments/business-repository.ts';
import { connectBusiness, refreshBusiness } from '#src/payments/connect-business.ts';
import { type PaymentBusiness, viewBusiness } from '#src/payments/payment.ts';
import { conflict, notFound } from '#src/platform/errors.ts';
import { type Answer, type Cli, commandLine, type Row } from './cli.ts';
import { CREDENTIALS_HELP } from './payment-businesses.ts';

export interface ConnectOptions {
  readonly account: string;
  readonly provider: string;
  readonly displayName: string;
  readonly country: string;
  readonly sandbox?: boolean;
  readonly test?: boolean;
}

/** Reads keys from two lines of standard input: arguments would appear in the list of processes. */
async function askCredentials(): Promise<ProviderCredentials | undefined> {
  if (process.stdin.isTTY) return undefined;
  const [secretKey = '', webhookSecret = ''] = (await readText(process.stdin)).split('\n').map((line) => line.trim());
  return secretKey === '' ? undefined : { secretKey, ...(webhookSecret === '' ? {} : { webhookSecret }) };
}

function show(deps: Deps, business: PaymentBusiness): Row {
  const webhookUrl = `${deps.config.baseUrl}/provider-webhooks/${business.provider}/${business.id}`;
  return { ...viewBusiness(business), livemode: business.livemode, webhookUrl };
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
  const { secretKey, ...more } = (await cli.config()).readPaymentCredentials();
  const credentials = secretKey === undefined ? await askCredentials() : { secretKey, ...more };
  if (credentials === undefined) throw conflict('no_credentials', CREDENTIALS_HELP);
  return credentials;
}

/** Connects an account at a provider. @throws ApiError for an unknown account or provider, or without keys */
export async function connect(cli: Cli, deps: Deps, options: ConnectOptions): Promise<Answer> {
  const { account: accountId, provider, displayName, country, sandbox = false, test = false } = options;
  if (!isProviderName(provider)) {
    throw conflict('unknown_provider', `there is no provider of this name: write ${PROVIDER_NAMES.join(' or ')}.`);
  }
  if ((await findAccount(deps.db, accountId)) === undefined) throw notFound();
  const id = deps.ids.sortable('biz');
  const credentials = await credentialsFor(cli, deps, id, options);
  const connection = { id, accountId, provider, displayName, country, sandbox, test, credentials };
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

export async function list(deps: Deps, accountId: string | undefined): Promise<Answer> {
  const businesses = await listBusinesses(deps.db, accountId);
  return {
    value: businesses.map((business) => {
      const { accountId: account, sandbox, livemode } = business;
      return { ...viewBusiness(business), accountId: account, sandbox, livemode };
    }),
  };
}

/** Reads the account of a business at its provider again, with new keys if they are given. */
export async function refresh(cli: Cli, deps: Deps, id: string): Promise<Answer> {
  return { value: show(deps, await refreshBusiness(deps, id, (await cli.config()).readPaymentCredentials())) };
}
