import { createAccount } from '#src/accounts/create-account.ts';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { PLAN_NAMES, type PlanName } from '#src/accounts/plans.ts';
import { listAccounts, listApiKeys, revokeApiKey, updatePlan } from '#src/accounts/repository.ts';
import { inTransaction } from '#src/database/client.ts';
import type { Scope } from '#src/http/caller.ts';
import { notFound } from '#src/platform/errors.ts';
import { findEventByReference } from '#src/voting-events/find-event.ts';
import type { Cli } from './cli.ts';
import { parseDays, parseEmail, parseName, parsePlan, parseScopes } from './options.ts';

export function addAccountCommands({ program, command, withDeps }: Cli): void {
  const accounts = program.command('accounts').description('accounts of organizers').exitOverride();

  command(accounts, 'create', 'create an account')
    .requiredOption('--name <name>', 'its name', parseName)
    .option('--plan <plan>', PLAN_NAMES.join(', '), parsePlan, 'pro')
    .option('--contact-email <address>', 'where to write when something of it stops working', parseEmail)
    .action((options: { name: string; plan: PlanName; contactEmail?: string }) =>
      withDeps(async (deps) => ({ ...(await createAccount(deps.db, deps, options)) })),
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
}

export function addKeyCommands({ program, command, withDeps }: Cli): void {
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
}
