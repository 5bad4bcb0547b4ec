import { z } from 'zod';
import { mailAccount } from '#src/accounts/mail-account.ts';
import { type Executor, inTransaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import type { AccountDescription, PaymentProvider, ProviderCredentials } from '#src/payment-providers/provider.ts';
import { PaymentProviderRefused, PaymentProviderUnavailable } from '#src/payment-providers/provider-fault.ts';
import { MINUTE_MS } from '#src/platform/clock.ts';
import { ApiError, orNotFound } from '#src/platform/errors.ts';
import { summariseFault } from '#src/platform/log.ts';
import { renewMissing } from '#src/voting-events/guard-change.ts';
import {
  findBusiness,
  findBusinessEver,
  listUnopenedEvents,
  listUnreadyBusinesses,
  openCredentials,
  takeCheck,
  updateBusiness,
} from './business-repository.ts';
import type { PaymentBusiness } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';

const payload = z.strictObject({ businessId: z.string(), refusal: z.string().nullable() });
const CHECK_BUSINESS = { name: 'check_business', maxAttempts: 12, group: 'payments', payload } as const;

type CheckDeps = Pick<PaymentDeps, 'db' | 'clock' | 'log' | 'secrets' | 'payments'>;

const MAILS = {
  unready: {
    subject: 'Your payment business takes no payments',
    text: 'the payment provider refuses the account. Payers are refused meanwhile, and what was paid waits. Look at the account and its\nkeys in the dashboard of the provider; a new key is handed in by the operator.',
  },
  comparison: {
    subject: 'Your payments could not be compared with your payment provider',
    text: 'its payments could not be held against the lists of the provider for two days. Refunds and disputes whose messages\nwere lost are not noticed meanwhile. Ask the operator of the service to look at it.',
  },
} as const;

export const mailBusinessOwner = (
  executor: Executor,
  { id, accountId, displayName }: PaymentBusiness,
  about: keyof typeof MAILS,
): Promise<void> =>
  mailAccount(
    executor,
    accountId,
    MAILS[about].subject,
    (name) => `about the payment business "${displayName}" (${id}) of "${name}":\n${MAILS[about].text}`,
  );

/** Queues a job that asks the provider what a business may do. @param refusal the provider's code if a refusal is the cause */
export async function planBusinessCheck(
  executor: Executor,
  businessId: string,
  refusal: string | null,
  runAtMs?: number,
): Promise<void> {
  const when = runAtMs === undefined ? {} : { runAtMs };
  await enqueue(executor, CHECK_BUSINESS, { businessId, refusal }, { key: `check-business:${businessId}`, ...when });
}

/** Minimum time between two checks of an account that refusals by the provider cause. */
const CHECKED_EVERY_MS = MINUTE_MS;

/** Calls a provider. After a refusal that may concern the account, checks the account: only that check can make the business unready. */
export async function askBusiness<T>(
  deps: CheckDeps,
  business: PaymentBusiness,
  ask: (provider: PaymentProvider, credentials: ProviderCredentials) => Promise<T>,
): Promise<T> {
  try {
    return await ask(deps.payments.of(business), openCredentials(deps.secrets, business));
  } catch (fault) {
    if (fault instanceof PaymentProviderRefused && fault.blocksAccount && business.ready) {
      await checkSoon(deps, business);
    }
    throw fault;
  }
}

/** Checks the account at once; if it was checked within the last minute, a job checks it when that minute is over. */
async function checkSoon(deps: CheckDeps, business: PaymentBusiness): Promise<void> {
  const last = await takeCheck(deps.db, business.id, CHECKED_EVERY_MS);
  if (last !== null) return planBusinessCheck(deps.db, business.id, null, last + CHECKED_EVERY_MS);
  try {
    await checkBusiness(deps, business);
  } catch (fault) {
    if (!(fault instanceof PaymentProviderRefused || fault instanceof PaymentProviderUnavailable)) throw fault;
    await planBusinessCheck(deps.db, business.id, null);
  }
}

export function checkBusinessJob(deps: CheckDeps): Job<z.output<typeof payload>> {
  return defineJob({
    ...CHECK_BUSINESS,
    async work({ businessId, refusal }) {
      const business = await findBusiness(deps.db, undefined, businessId);
      if (business === undefined) return;
      const isReady = await checkBusiness(deps, business);
      if (!isReady || refusal === null) return;
      deps.log.error(
        { business: businessId, code: refusal, alarm: 'payment_refused' },
        'a provider refuses the payments of a business that is ready: look at prices and currencies of its events',
      );
    },
  });
}

/** Asks the provider what a business may do, and stores the answer. @returns whether it takes payments */
async function checkBusiness(deps: CheckDeps, business: PaymentBusiness): Promise<boolean> {
  const described = await describe(deps, business);
  const ready = described?.ready === true;
  const { country, supportedCurrencies } = described ?? business;
  const isCurrent = await inTransaction(deps.db, async (tx) => {
    const changes = { country: country ?? business.country, supportedCurrencies: [...supportedCurrencies] };
    const before = await updateBusiness(tx, business, changes);
    if (before === undefined || before.ready === ready) return before !== undefined;
    await updateBusiness(tx, business, { ready, updatedAt: deps.clock.now() });
    if (ready) return true;
    deps.log.error(
      { business: business.id, alarm: 'business_not_ready' },
      'a payment business takes no payments any more: its provider refuses',
    );
    await mailBusinessOwner(tx, business, 'unready');
    return true;
  });
  // The provider answered to keys that were replaced meanwhile: ask with the new keys.
  if (!isCurrent) return checkBusiness(deps, orNotFound(await findBusinessEver(deps.db, business.id)));
  await renewEvents(deps, business);
  return ready;
}

/**
 * Stores for each event of a business whether it may open now. Call after the commit of the business's `ready`, because other changes
 * lock an event before its business. If an event fails, for example because an import holds it, a later check of the business repeats it.
 */
export async function renewEvents(deps: Pick<CheckDeps, 'db' | 'log'>, business: PaymentBusiness): Promise<void> {
  let fault: unknown;
  for (const id of await listUnopenedEvents(deps.db, business))
    await inTransaction(deps.db, (tx) => renewMissing(tx, id)).catch((failed: unknown) => {
      fault = failed;
    });
  if (fault === undefined) return;
  deps.log.warn(
    { business: business.id, fault: summariseFault(fault) },
    'events of a business are renewed by its next check',
  );
  await planBusinessCheck(deps.db, business.id, null, (await readNow(deps.db)) + CHECKED_EVERY_MS);
}

/** The provider's description of an account. Null if the provider refuses the account, which then takes no payments. */
async function describe(deps: CheckDeps, business: PaymentBusiness): Promise<AccountDescription | null> {
  try {
    return await deps.payments.of(business).describeAccount(openCredentials(deps.secrets, business));
  } catch (fault) {
    if (fault instanceof PaymentProviderRefused && fault.blocksAccount) return null;
    throw fault;
  }
}

/** Checks the businesses that are not ready, because a provider may lift a restriction without a message. */
export async function checkUnreadyBusinesses(deps: CheckDeps): Promise<void> {
  for (const business of await listUnreadyBusinesses(deps.db)) {
    try {
      await takeCheck(deps.db, business.id, 0);
      await checkBusiness(deps, business);
    } catch (fault) {
      // These errors are normal while the provider is unavailable, or if another process runs the sandbox: the next run tries again.
      const expected = [PaymentProviderUnavailable, PaymentProviderRefused, ApiError].some(
        (kind) => fault instanceof kind,
      );
      if (!expected)
        deps.log.error({ business: business.id, fault: summariseFault(fault) }, 'a business was not checked');
    }
  }
}
