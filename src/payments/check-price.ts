import type { Executor } from '#src/database/client.ts';
import type { PriceFault } from '#src/voting-events/pricing.ts';
import { findBusiness } from './business-repository.ts';
import type { PaymentBusiness } from './payment.ts';
import type { PaymentProviders } from './payment-providers.ts';

/** What is wrong with taking a price through a business, or undefined (completions 3, rule 5). */
export function priceFault(
  payments: PaymentProviders,
  business: PaymentBusiness | undefined,
  price: { readonly amountMinor: number; readonly currency: string },
): PriceFault | undefined {
  if (business === undefined || !business.ready)
    return { about: 'business', message: 'needs a linked, ready payment business' };
  if (!business.supportedCurrencies.includes(price.currency)) {
    const known = business.supportedCurrencies.join(', ');
    return { about: 'currency', message: `must be in a currency of the linked payment business: ${known}` };
  }
  const message = payments.rules(business.provider).checkPrice(price.currency, price.amountMinor);
  return message === null ? undefined : { about: 'amount', message };
}

/** The rule about prices that events and positions ask for, with the businesses that this slice keeps. */
export function createPricing(payments: PaymentProviders) {
  return {
    async fault(
      executor: Executor,
      event: { readonly accountId: string; readonly paymentBusinessId: string | null },
      price: { readonly amountMinor: number; readonly currency: string },
    ): Promise<PriceFault | undefined> {
      const { accountId, paymentBusinessId } = event;
      const business =
        paymentBusinessId === null ? undefined : await findBusiness(executor, accountId, paymentBusinessId);
      return priceFault(payments, business, price);
    },
  };
}
