import type { Executor } from '#src/database/client.ts';
import { findBusiness } from './business-repository.ts';
import type { PaymentProviders } from './payment-providers.ts';
import type { PaymentBusiness } from './types.ts';

/** What is wrong with taking a price through a business, or undefined (completions 3, rule 5). */
export function priceFault(
  payments: PaymentProviders,
  business: PaymentBusiness | undefined,
  price: { readonly amountMinor: number; readonly currency: string },
): string | undefined {
  if (business === undefined || !business.ready) return 'needs a linked, ready payment business';
  if (!business.supportedCurrencies.includes(price.currency)) {
    return `must be in a currency of the linked payment business: ${business.supportedCurrencies.join(', ')}`;
  }
  return payments.rules(business.provider).checkPrice(price.currency, price.amountMinor) ?? undefined;
}

/** The rule about prices that events and positions ask for, with the businesses that this slice keeps. */
export function createPricing(payments: PaymentProviders) {
  return {
    async fault(
      executor: Executor,
      event: { readonly accountId: string; readonly paymentBusinessId: string | null },
      price: { readonly amountMinor: number; readonly currency: string },
    ): Promise<string | undefined> {
      const { accountId, paymentBusinessId } = event;
      const business =
        paymentBusinessId === null ? undefined : await findBusiness(executor, accountId, paymentBusinessId);
      return priceFault(payments, business, price);
    },
  };
}
