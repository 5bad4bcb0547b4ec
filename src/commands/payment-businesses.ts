import { InvalidArgumentError } from 'commander';
import { notFound } from '#src/platform/errors.ts';
import { countryCodeFault } from '#src/platform/text.ts';
import type { Cli } from './cli.ts';
import type { ConnectOptions } from './connect-payment-business.ts';
import { parseMoment, parseName } from './options.ts';

function parseCountry(text: string): string {
  const fault = countryCodeFault(text.trim());
  if (fault !== undefined) throw new InvalidArgumentError(fault);
  return text.trim().toUpperCase();
}

export const CREDENTIALS_HELP =
  'Set PAYMENT_SECRET_KEY (and PAYMENT_WEBHOOK_SECRET where the provider signs its messages with a secret of their own), or send them as two lines to standard input.';

/** Commands that connect and check payment businesses; the API cannot connect them (contract, "Payment business"). */
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
    .requiredOption('--provider <provider>', 'its name in the API, such as provider_a')
    .requiredOption('--display-name <name>', 'what organizers see', parseName)
    .requiredOption('--country <code>', 'two letters; the provider’s own word goes first', parseCountry)
    .option('--test', 'the keys are of the account’s test mode: no real money moves')
    .option('--sandbox', 'play money: the sandbox of this service answers for the provider')
    .addHelpText(
      'after',
      `\n${CREDENTIALS_HELP}\nAt the provider, have its messages sent to the webhookUrl that is printed.`,
    )
    .action((options: ConnectOptions) =>
      withDeps(async (deps) => (await import('./connect-payment-business.ts')).connect(cli, deps, options)),
    );

  command(businesses, 'list', 'list payment businesses', 'payment-businesses list --account acc_…')
    .option('--account <id>', 'of one account')
    .action((options: { account?: string }) =>
      withDeps(async (deps) => (await import('./connect-payment-business.ts')).list(deps, options.account)),
    );

  command(
    businesses,
    'refresh',
    'ask the provider again what a business may do; takes new keys where they are given',
    'payment-businesses refresh biz_…',
    'PAYMENT_WEBHOOK_SECRET=whsec_… payment-businesses refresh biz_…',
  )
    .argument('<id>', 'the business')
    .action((id: string) =>
      withDeps(async (deps) => (await import('./connect-payment-business.ts')).refresh(cli, deps, id)),
    );

  command(
    businesses,
    'check',
    'ask the provider what is wrong with a business; with --since, list its payments and what became of each here',
    'payment-businesses check --business biz_…',
    'payment-businesses check --business biz_… --since 2026-11-21T09:59:00Z',
  )
    .requiredOption('--business <id>', 'the business')
    .option('--since <time>', 'payments since a moment with its time zone', parseMoment)
    .addHelpText('after', '\nExit status: 0 nothing is wrong, 1 something is, 2 wrong usage.')
    .action(({ business, since }: { business: string; since?: number }) =>
      withDeps(async (deps) =>
        since === undefined
          ? (await import('./check-business.ts')).checkBusiness(deps, business)
          : (await import('./check-business.ts')).checkPayments(deps, business, since),
      ),
    );

  command(
    businesses,
    'owed',
    'list payments whose money a person has to look after: refunds that failed or wait, other amounts than were asked for',
    'payment-businesses owed --business biz_…',
  )
    .requiredOption('--business <id>', 'the business')
    .addHelpText('after', '\nExit status: 0 nothing is owed, 1 something is, 2 wrong usage.')
    .action(({ business }: { business: string }) =>
      withDeps(async (deps) => (await import('./list-owed.ts')).showOwed(deps, business)),
    );

  command(
    businesses,
    'settle',
    'say that a person has settled a payment: it leaves the list of what is owed, and is asked for no more',
    'payment-businesses settle --payment pay_… --note "Paid back by bank transfer"',
  )
    .requiredOption('--payment <id>', 'the payment')
    .requiredOption('--note <text>', 'what was done; it stands in the audit trail')
    .action(({ payment, note }: { payment: string; note: string }) =>
      withDeps(async (deps) => (await import('./list-owed.ts')).settle(deps, payment, note)),
    );

  command(
    businesses,
    'disconnect',
    'take no more payments through a business that no event is paid through; its keys stay for refunds',
    'payment-businesses disconnect biz_…',
  )
    .argument('<id>', 'the business')
    .action((id: string) =>
      withDeps(async (deps) => {
        const { findBusiness } = await import('#src/payments/business-repository.ts');
        const { disconnectBusiness } = await import('#src/payments/connect-business.ts');
        if ((await findBusiness(deps.db, undefined, id)) === undefined) throw notFound();
        await disconnectBusiness(deps, id);
        return { value: { id, disconnected: true } };
      }),
    );
}
