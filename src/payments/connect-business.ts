import { inTransaction } from '#src/database/client.ts';
import type { AccountDescription, PaymentProvider, ProviderCredentials } from '#src/payment-providers/provider.ts';
import { conflict, orNotFound } from '#src/platform/errors.ts';
import { findTakenPayment } from './attempt-repository.ts';
import {
  findBusinessEver,
  insertBusiness,
  isBusinessLinked,
  markDisconnected,
  openCredentials,
  sealCredentials,
  updateBusiness,
} from './business-repository.ts';
import { renewEvents } from './check-business.ts';
import type { PaymentBusiness } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';

type BusinessDeps = Pick<PaymentDeps, 'db' | 'clock' | 'log' | 'secrets' | 'payments'>;

/** `country`: ISO 3166-1 alpha-2, upper case; used only if the provider names no country. */
interface NewConnection
  extends Pick<PaymentBusiness, 'id' | 'accountId' | 'provider' | 'displayName' | 'country' | 'sandbox'> {
  /** Whether the operator wants to connect an account in test mode. */
  readonly test?: boolean;
  readonly credentials: ProviderCredentials;
}

/**
 * Connects a merchant's account: asks the provider to describe it, and stores its credentials encrypted (completions 7.7).
 * @throws ApiError 409 `wrong_key` for a key of another kind; `test_key` for a key of test mode without `test` or `sandbox`;
 *   `live_key` for a key of live mode with `test` or `sandbox`
 */
export async function connectBusiness(deps: BusinessDeps, connection: NewConnection): Promise<PaymentBusiness> {
  const { id, accountId, provider, displayName, sandbox, test = false } = connection;
  const adapter = deps.payments.of(connection);
  refuseWrongKey(adapter, connection.credentials);
  const described = await adapter.describeAccount(connection.credentials);
  const playMoney = sandbox || test;
  if (!described.livemode && !playMoney) {
    throw conflict('test_key', 'this key moves play money: connect it with --test, or send the key of live mode.');
  }
  if (described.livemode && playMoney) {
    throw conflict('live_key', 'this key moves real money: connect it without --test.');
  }
  const credentials = { ...connection.credentials, accountId: described.accountId ?? undefined };
  const nowMs = deps.clock.now();
  return insertBusiness(deps.db, {
    ...{ id, accountId, provider, displayName, sandbox },
    ...columnsOf(described, connection.country),
    livemode: described.livemode,
    credentials: sealCredentials(deps.secrets, id, credentials),
    createdAt: nowMs,
    updatedAt: nowMs,
  });
}

/** @param known the country to store if the provider names none */
const columnsOf = ({ country, ready, supportedCurrencies }: AccountDescription, known: string) => ({
  country: country ?? known,
  ready,
  supportedCurrencies: [...supportedCurrencies],
});

function refuseWrongKey(provider: PaymentProvider, keys: Partial<ProviderCredentials>): void {
  const fault = provider.keyFault(keys);
  if (fault !== null) throw conflict('wrong_key', `${fault}.`);
}

/**
 * Asks the provider again what a business may do, and stores the answer and replaced keys (completions 7.7). Also for a disconnected
 * business, which stays so: its payments are still refunded, after its old key has ended too.
 * @param replacement keys that the merchant changed at the provider; the other keys stay
 * @throws ApiError `not_found`; 409 `wrong_key` for a key of another kind, `other_mode` or `other_account` for a key of another
 *   account, which could not read the payments of the connected account
 */
export async function refreshBusiness(
  deps: BusinessDeps,
  id: string,
  replacement: Partial<ProviderCredentials> = {},
): Promise<PaymentBusiness> {
  const business = orNotFound(await findBusinessEver(deps.db, id));
  const adapter = deps.payments.of(business);
  refuseWrongKey(adapter, replacement);
  const known = openCredentials(deps.secrets, business);
  const credentials = { ...known, ...replacement };
  const described = await adapter.describeAccount(credentials);
  if (described.livemode !== business.livemode) {
    throw conflict('other_mode', `this key is of ${described.livemode ? 'live' : 'test'} mode, unlike the business.`);
  }
  if (!(await isSameAccount(deps, business, known, credentials, described.accountId))) {
    throw conflict(
      'other_account',
      'this key belongs to another account at the provider: connect that as a business of its own.',
    );
  }
  const updated = await updateBusiness(deps.db, business, {
    ...columnsOf(described, business.country),
    credentials: sealCredentials(deps.secrets, id, { ...credentials, accountId: described.accountId ?? undefined }),
    updatedAt: deps.clock.now(),
  });
  // Another command has stored other keys meanwhile: add the replacement to them.
  if (updated === undefined) return refreshBusiness(deps, id, replacement);
  await renewEvents(deps, business);
  return updated;
}

/** Disconnects a business. Its keys stay: earlier payments are still settled and refunded. @throws ApiError 409 `business_linked` */
export async function disconnectBusiness(deps: BusinessDeps, id: string): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    await markDisconnected(tx, id, deps.clock.now());
    if (await isBusinessLinked(tx, id)) {
      throw conflict('business_linked', 'an event is paid through this business: unlink it there first.');
    }
  });
}

/** Compares account IDs if the provider has them. Otherwise the new key must be able to read a payment that was made under the old key. */
async function isSameAccount(
  deps: BusinessDeps,
  business: PaymentBusiness,
  known: ProviderCredentials,
  credentials: ProviderCredentials,
  accountId: string | null,
): Promise<boolean> {
  if (credentials.secretKey === known.secretKey) return true;
  if (accountId !== null && known.accountId !== undefined) return accountId === known.accountId;
  const taken = await findTakenPayment(deps.db, business.id);
  if (taken === undefined) return true;
  const handle = { reference: taken.providerReference ?? '', page: taken.page };
  return (await deps.payments.of(business).readCheckout(credentials, handle)).kind !== 'missing';
}
