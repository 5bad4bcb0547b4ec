import type { Executor } from '#src/database/client.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Ids } from '#src/platform/ids.ts';
import type { PlanName } from './plans.ts';
import { insertAccount } from './repository.ts';

interface AccountView {
  readonly id: string;
  readonly name: string;
  readonly plan: PlanName;
}

export async function createAccount(
  executor: Executor,
  deps: { readonly ids: Ids; readonly clock: Clock },
  input: { readonly name: string; readonly plan: PlanName; readonly contactEmail?: string },
): Promise<AccountView> {
  const id = deps.ids.sortable('acc');
  const { name, plan, contactEmail = null } = input;
  await insertAccount(executor, { id, name, plan, contactEmail, createdAt: deps.clock.now() });
  return { id, name, plan };
}
