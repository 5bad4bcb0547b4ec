import { z } from 'zod';
import type { Executor } from '#src/database/client.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import {
  type AccountDescription,
  PaymentProviderRefused,
  PaymentProviderUnavailable,
} from '#src/payment-providers/provider.ts';
import { ApiError } from '#src/platform/errors.ts';
import { summariseFault } from '#src/platform/log.ts';
import {
  findBusiness,
  listUnreadyBusinesses,
  openCredentials,
  setReady,
  updateBusiness,
} from './business-repository.ts';
import type { PaymentBusiness } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';

const payload = z.strictObject({ businessId: z.string(), refusal: z.string().nullable() });
type CheckBusiness = z.output<typeof payload>;
const CHECK_BUSINESS = { name: 'check_business', maxAttempts: 12, group: 'payments', payload } as const;

type CheckDeps = Pick<PaymentDeps, 'db' | 'clock' | 'log' | 'secrets' | 'payments'>;

/** Has a job ask the provider what a business may do now. @param refusal what it refused, where it did */
export async function planBusinessCheck(executor: Executor, businessId: string, refusal: string | null): Promise<void> {
  await enqueue(executor, CHECK_BUSINESS, { businessId, refusal }, { key: `check-business:${businessId}` });
}

/**
 * Takes note that a provider refuses a payment for a reason that no payer can mend. Where it is about the account, the business
 * is not ready from now on: further payers are refused without being asked for anything.
 */
export async function noteRefusal(
  deps: CheckDeps,
  business: PaymentBusiness,
  fault: PaymentProviderRefused,
): Promise<void> {
  if (!fault.blocksAccount) return planBusinessCheck(deps.db, business.id, fault.code ?? String(fault.status));
  const { status, code } = fault;
  if (await setReady(deps.db, business.id, false, deps.clock.now())) alarmUnready(deps, business.id, { status, code });
}

function alarmUnready(deps: CheckDeps, business: string, why: Readonly<Record<string, unknown>>): void {
  deps.log.error(
    { business, ...why, alarm: 'business_not_ready' },
    'a payment business takes no payments any more: its provider refuses',
  );
}

export function checkBusinessJob(deps: CheckDeps): Job<CheckBusiness> {
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

/** Asks the provider what a business may do, stores it, and answers whether it takes payments. */
async function checkBusiness(deps: CheckDeps, business: PaymentBusiness): Promise<boolean> {
  const described = await describe(deps, business);
  const ready = described?.ready === true;
  await updateBusiness(deps.db, business.id, {
    ready,
    ...(described === null
      ? {}
      : { country: described.country ?? business.country, supportedCurrencies: [...described.supportedCurrencies] }),
    updatedAt: deps.clock.now(),
  });
  if (business.ready && !ready) alarmUnready(deps, business.id, {});
  return ready;
}

/** Null where the provider refuses to describe the account: then it takes no payment either. */
async function describe(deps: CheckDeps, business: PaymentBusiness): Promise<AccountDescription | null> {
  try {
    return await deps.payments.of(business).describeAccount(openCredentials(deps.secrets, business));
  } catch (fault) {
    if (fault instanceof PaymentProviderRefused) return null;
    throw fault;
  }
}

/** Asks again about every business that is not ready, since a restriction may be lifted without a message. */
export async function checkUnreadyBusinesses(deps: CheckDeps): Promise<void> {
  for (const business of await listUnreadyBusinesses(deps.db)) {
    try {
      await checkBusiness(deps, business);
    } catch (fault) {
      // A provider that is away, or a business of a sandbox that runs elsewhere: its turn comes again.
      const expected = fault instanceof PaymentProviderUnavailable || fault instanceof ApiError;
      if (!expected)
        deps.log.error({ business: business.id, fault: summariseFault(fault) }, 'a business was not checked');
    }
  }
}
