import { type Database, inTransaction } from '#src/database/client.ts';
import type { Clock } from '#src/platform/clock.ts';
import { conflict, notFound } from '#src/platform/errors.ts';
import type { Ids } from '#src/platform/ids.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { findBusiness, insertBusiness, isBusinessLinked, updateBusiness } from './business-repository.ts';
import { openCredentials, sealCredentials } from './credentials.ts';
import type { PaymentProviders } from './payment-providers.ts';
import type { ProviderCredentials, ProviderName } from './providers/provider.ts';
import type { PaymentBusiness } from './types.ts';

export interface BusinessDeps {
  readonly db: Database;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly payments: PaymentProviders;
}

export interface NewConnection {
  readonly id: string;
  readonly accountId: string;
  readonly provider: ProviderName;
  readonly displayName: string;
  /** ISO 3166-1 alpha-2, upper case; the provider's own word goes first. */
  readonly country: string;
  readonly sandbox: boolean;
  readonly credentials: ProviderCredentials;
}

/** Connects a merchant's account: asks the provider what it is, and keeps its credentials sealed (completions 7.7). */
export async function connectBusiness(deps: BusinessDeps, connection: NewConnection): Promise<PaymentBusiness> {
  const { id, accountId, provider, displayName, sandbox } = connection;
  const described = await deps.payments.of(connection).describeAccount(connection.credentials);
  const credentials = { ...connection.credentials, accountId: described.accountId ?? undefined };
  const nowMs = deps.clock.now();
  return insertBusiness(deps.db, {
    id,
    accountId,
    provider,
    displayName,
    sandbox,
    country: described.country ?? connection.country,
    ready: described.ready,
    supportedCurrencies: [...described.supportedCurrencies],
    livemode: described.livemode,
    credentials: sealCredentials(deps.secrets, id, credentials),
    createdAt: nowMs,
    updatedAt: nowMs,
  });
}

/**
 * Asks the provider again what a business may do.
 * @param replacement new keys, where they were changed at the provider
 * @throws ApiError `not_found`
 */
export async function refreshBusiness(
  deps: BusinessDeps,
  id: string,
  replacement?: ProviderCredentials,
): Promise<PaymentBusiness> {
  const business = await findBusiness(deps.db, undefined, id);
  if (business === undefined) throw notFound();
  const credentials = { ...openCredentials(deps.secrets, business), ...replacement };
  const described = await deps.payments.of(business).describeAccount(credentials);
  const updated = await updateBusiness(deps.db, id, {
    country: described.country ?? business.country,
    ready: described.ready,
    supportedCurrencies: [...described.supportedCurrencies],
    livemode: described.livemode,
    credentials: sealCredentials(deps.secrets, id, { ...credentials, accountId: described.accountId ?? undefined }),
    updatedAt: deps.clock.now(),
  });
  if (updated === undefined) throw notFound();
  return updated;
}

/**
 * Disconnects a business: no new payment goes through it. Payments under way are still asked for and refunded, so its
 * keys stay until they are over.
 * @throws ApiError 409 `business_linked` while an event is linked to it
 */
export async function disconnectBusiness(deps: BusinessDeps, id: string): Promise<void> {
  const nowMs = deps.clock.now();
  await inTransaction(deps.db, async (tx) => {
    await updateBusiness(tx, id, { disconnectedAt: nowMs, updatedAt: nowMs });
    if (await isBusinessLinked(tx, id)) {
      throw conflict('business_linked', 'an event is paid through this business: unlink it there first.');
    }
  });
}
