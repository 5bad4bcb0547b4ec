import type { QuadraticTopUp } from '#src/ballot-paper/types.ts';
import type { CreditBalance } from './repository.ts';
import type { BalanceView, OptionsView } from './view-schemas.ts';

/** A visitor's credits on a position (completions 4.10). What is available is what is neither spent nor held. */
export function viewBalance(
  positionId: string,
  visitorId: string,
  baseCredits: number,
  balance: CreditBalance | undefined,
): BalanceView {
  const { base, purchased, spent, held } = balance ?? { base: baseCredits, purchased: 0, spent: 0, held: 0 };
  return {
    positionId,
    visitorId,
    baseCredits: base,
    purchasedCredits: purchased,
    spentCredits: spent,
    heldCredits: held,
    availableCredits: base + purchased - spent - held,
  };
}

/** What a visitor may buy (completions 4.10). @param mainUnit an amount in the currency's main unit */
export function viewOptions(
  positionId: string,
  visitorId: string,
  provider: string,
  offer: QuadraticTopUp,
  mainUnit: (amountMinor: number, currency: string) => number,
): OptionsView {
  const common = { positionId, visitorId, provider, currency: offer.currency };
  if (offer.pricingModel === 'ratio') {
    const { pricingModel, pricePerCreditMinor, minCredits, maxCredits } = offer;
    return { ...common, pricingModel, pricePerCreditMinor, minCredits, maxCredits };
  }
  const tiers = offer.tiers.map((tier) => ({ ...tier, amount: mainUnit(tier.amountMinor, offer.currency) }));
  return { ...common, pricingModel: offer.pricingModel, tiers };
}
