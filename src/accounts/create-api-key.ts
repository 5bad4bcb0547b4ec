import type { Executor } from '#src/database/client.ts';
import type { Scope } from '#src/http/caller.ts';
import { type Clock, DAY_MS } from '#src/platform/clock.ts';
import { invalidField, orNotFound } from '#src/platform/errors.ts';
import type { Ids } from '#src/platform/ids.ts';
import { tagOfRow } from '#src/platform/row-tag.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { generateApiKey, hashApiKey, hintOf, rowOfApiKey } from './api-key.ts';
import { findAccount, insertApiKey } from './repository.ts';

interface NewApiKey {
  readonly accountId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly votingEventId: string | null;
  readonly expiresInDays: number | null;
}

/** Scopes of keys that organizers pass on to others. Each must be its key's only scope, so that a leaked key grants nothing else. */
const STAND_ALONE: readonly Scope[] = ['vote', 'observe', 'log'];
const OF_ONE_EVENT: readonly Scope[] = ['observe', 'log'];

/** `write` implies `read`; `vote`, `observe` and `log` cannot be combined (completions 2.1). @throws ApiError `validation_error` */
export function checkScopes(scopes: readonly Scope[]): readonly Scope[] {
  const wanted = new Set(scopes);
  if (wanted.size === 0) throw invalidField('scopes', 'must name at least one scope');
  if (wanted.size > 1 && STAND_ALONE.some((scope) => wanted.has(scope))) {
    throw invalidField('scopes', 'vote, observe and log stand alone: make a key of its own for each of them');
  }
  return wanted.has('write') ? ['read', 'write'] : [...wanted];
}

export type CreatedApiKey = Awaited<ReturnType<typeof createApiKey>>;

/** @throws ApiError `not_found` for an unknown account, `validation_error` for scopes that cannot be combined */
export async function createApiKey(
  executor: Executor,
  deps: { readonly ids: Ids; readonly clock: Clock; readonly secrets: Secrets },
  input: NewApiKey,
) {
  const scopes = checkScopes(input.scopes);
  if (OF_ONE_EVENT.some((scope) => scopes.includes(scope)) !== (input.votingEventId !== null)) {
    throw invalidField('event', 'belongs to a key with the scope observe or log, and only there');
  }
  orNotFound(await findAccount(executor, input.accountId));
  const key = generateApiKey(scopes);
  const nowMs = deps.clock.now();
  const id = deps.ids.sortable('key');
  const { accountId, name, votingEventId } = input;
  const expiresAt = input.expiresInDays === null ? null : nowMs + input.expiresInDays * DAY_MS;
  const row = { id, accountId, hash: hashApiKey(key), scopes: [...scopes], votingEventId, expiresAt };
  const tag = tagOfRow(deps.secrets, rowOfApiKey(row));
  await insertApiKey(executor, { ...row, name, hint: hintOf(key), tag, createdAt: nowMs });
  // The key itself is shown only once: the database stores its hash.
  return { id, name, scopes, key };
}
