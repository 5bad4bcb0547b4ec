import type { CreatedApiKey } from '#src/accounts/create-api-key.ts';
import { PLAN_NAMES, type PlanName } from '#src/accounts/plan-names.ts';
import type { Deps } from '#src/deps.ts';
import type { Scope } from '#src/http/caller.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { type Answer, type Cli, commandLine, type Row } from './cli.ts';
import { parseChoice, parseEmail, parseName, parseScopes, parseWhole } from './options.ts';

export function addAccountCommands({ command, group, withDeps }: Cli): void {
  const accounts = group('accounts', 'accounts of organizers');

  command(accounts, 'create', 'create an account', 'accounts create --name "Reading club" --plan pro')
    .requiredOption('--name <name>', 'its name', parseName)
    .option('--plan <plan>', PLAN_NAMES.join(', '), parseChoice(PLAN_NAMES), 'pro')
    .option('--contact-email <address>', 'where to write when something of it stops working', parseEmail)
    .action((options: { name: string; plan: PlanName; contactEmail?: string }) =>
      withDeps(async (deps) => {
        const { createAccount } = await import('#src/accounts/repository.ts');
        const account = await createAccount(deps.db, deps, options);
        const keys = ['--name "our server" --scopes read,write', '--name "voting page" --scopes vote'];
        return {
          value: { ...account },
          next: keys.map((rest) => commandLine(`keys create --account ${account.id} ${rest}`)),
        };
      }),
    );

  command(accounts, 'list', 'list accounts', 'accounts list', 'accounts list --json').action(() =>
    withDeps(async (deps) => {
      const { listAccounts } = await import('#src/accounts/repository.ts');
      const { otherCells, requireServed } = await import('#src/database/other-cells.ts');
      const others = otherCells(deps);
      const found = await Promise.all(
        [deps, ...others].map(async (cell) => {
          const rows = await listAccounts(requireServed(cell).db);
          const where = others.length === 0 ? {} : { cell: cell.cell };
          return rows.map(({ id, name, plan, createdAt }) => ({ id, name, plan, ...where, createdAt }));
        }),
      );
      return { value: found.flat() };
    }),
  );

  command(accounts, 'set-plan', 'put an account on another plan', 'accounts set-plan --account acc_… --plan enterprise')
    .requiredOption('--account <id>', 'the account')
    .requiredOption('--plan <plan>', PLAN_NAMES.join(', '), parseChoice(PLAN_NAMES))
    .action((options: { account: string; plan: PlanName }) =>
      withDeps(async (deps) => {
        const { updatePlan } = await import('#src/accounts/repository.ts');
        const row = orNotFound(await updatePlan(deps.db, options.account, options.plan));
        return { value: { id: row.id, name: row.name, plan: row.plan } };
      }),
    );
}

const KEY_SHOWN_ONCE = 'Keep the key now: it is shown this once, and the service keeps only its hash.';

/** Command lines that use a new key; they never contain the key itself. */
function useOfKey({ scopes }: CreatedApiKey): string[] {
  if (scopes.includes('observe') || scopes.includes('log'))
    return [KEY_SHOWN_ONCE, `VOTING_KEY=… ${commandLine('log verify --base-url URL --event ID')}`];
  const route = scopes.includes('vote') ? 'public/voting-events/CODE' : 'voting-events';
  return [KEY_SHOWN_ONCE, `curl -H "Authorization: Bearer $KEY" BASE_URL/${route}`];
}

interface CreateKeyOptions {
  readonly account: string;
  readonly name: string;
  readonly scopes: Scope[];
  readonly event?: string;
  readonly expiresInDays?: number;
}

export function addKeyCommands({ command, group, withDeps }: Cli): void {
  const keys = group('keys', 'API keys');

  command(
    keys,
    'create',
    'create an API key; it is shown once',
    'keys create --account acc_… --name "our server" --scopes read,write',
    'keys create --account acc_… --name "voting page" --scopes vote --expires-in-days 30',
    'keys create --account acc_… --name "observers" --scopes observe --event CODE',
    'keys create --account acc_… --name "voters who verify" --scopes log --event CODE',
  )
    .requiredOption('--account <id>', 'the account')
    .requiredOption('--name <name>', 'what the key is for', parseName)
    .requiredOption('--scopes <scopes>', 'read,write or vote or observe or log', parseScopes)
    .option('--event <idOrCode>', 'the event that an observe or log key reads')
    .option('--expires-in-days <days>', 'when it ends', parseWhole(5, 'of days'))
    .action(({ account: accountId, name, scopes, event, expiresInDays }: CreateKeyOptions) =>
      withDeps(async (deps) => {
        const { createApiKey } = await import('#src/accounts/create-api-key.ts');
        const { findEventByReference } = await import('#src/voting-events/access.ts');
        const found = event === undefined ? null : await findEventByReference(deps, accountId, event);
        const input = {
          accountId,
          name,
          scopes,
          votingEventId: found?.id ?? null,
          expiresInDays: expiresInDays ?? null,
        };
        const key = await createApiKey(deps.db, deps, input);
        return { value: { ...key }, next: useOfKey(key) };
      }),
    );

  command(keys, 'list', 'list API keys', 'keys list --account acc_…')
    .option('--account <id>', 'of one account')
    .action((options: { account?: string }) => withDeps(async (deps) => listKeys(deps, options.account)));

  command(keys, 'revoke', 'revoke an API key; every process drops it at once', 'keys revoke key_…')
    .argument('[id]', 'the key')
    .option('--key <id>', 'the key')
    .action((id: string | undefined, options: { key?: string }, self) => {
      const named = id ?? options.key;
      if (named === undefined || (id !== undefined && options.key !== undefined))
        return self.error('error: name one key', { exitCode: 2 });
      return withDeps(async (deps) => {
        const { revokeApiKey } = await import('#src/accounts/repository.ts');
        const { inTransaction } = await import('#src/database/client.ts');
        const row = orNotFound(await inTransaction(deps.db, (tx) => revokeApiKey(tx, named, deps.clock.now())));
        return { value: { id: row.id, name: row.name, revokedAt: row.revokedAt } };
      });
    });
}

async function listKeys(deps: Deps, accountId: string | undefined): Promise<Answer> {
  const { listApiKeys } = await import('#src/accounts/repository.ts');
  const keys = await listApiKeys(deps.db, accountId);
  const value = keys.map(({ id, accountId: account, name, hint, scopes, createdAt, ...key }) => {
    const { expiresAt, revokedAt, lastUsedAt } = key;
    return { id, accountId: account, name, hint, scopes, expiresAt, revokedAt, lastUsedAt, createdAt };
  });
  // A terminal has no room for all columns: it leaves out the account and the time of creation.
  const shown = value.map(({ accountId: _account, createdAt: _createdAt, ...row }): Row => row);
  return { value, shown };
}
