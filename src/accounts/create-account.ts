import type { Executor } from '#src/database/client.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Ids } from '#src/platform/ids.ts';
import type { PlanName } from './plans.ts';
import { insertAccount } from './repository.ts';

export interface AccountView {
  readonly id: string;
  readonly name: string;
  readonly plan: PlanName;
}

export async function createAccount(
  executor: Executor,
  deps: { readonly ids: Ids; readonly clock: Clock },
  input: { readonly name: string; readonly plan: PlanName },
): Promise<AccountView> {
  const id = deps.ids.sortable('acc');
  await insertAccount(executor, { id, name: input.name, plan: input.plan, createdAt: deps.clock.now() });
  return { id, name: input.name, plan: input.plan };
}
