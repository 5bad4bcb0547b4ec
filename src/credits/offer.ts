import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { QuadraticTopUp } from '#src/ballot-definition/types.ts';
import type { Issue } from '#src/platform/errors.ts';

/** The quadratic position with this ID; undefined if the event has none. */
export function findQuadraticPosition(definition: BallotDefinition, positionId: string) {
  const position = definition.positionById.get(positionId);
  if (position === undefined || position.votingMethod !== 'quadratic') return undefined;
  return { position, baseCredits: position.quadraticBaseCreditBudget ?? 0 };
}

interface Purchase {
  readonly credits: number;
  readonly amountMinor: number;
  readonly currency: string;
  readonly pricingModel: 'ratio' | 'tiered';
}

/** The credits that a request buys, with their price, or the first error in the request. */
export function priceOf(
  offer: QuadraticTopUp,
  wanted: { readonly credits?: number | undefined; readonly tierId?: string | undefined },
): Purchase | Issue {
  const { currency, pricingModel } = offer;
  if (offer.pricingModel === 'tiered') {
    if (wanted.tierId === undefined) return { field: 'tierId', message: 'is required: credits are sold in tiers here' };
    const tier = offer.tiers.find(({ id }) => id === wanted.tierId);
    if (tier === undefined) return { field: 'tierId', message: 'is not one of the tiers of this position' };
    return { credits: tier.credits, amountMinor: tier.amountMinor, currency, pricingModel };
  }
  const { credits } = wanted;
  if (credits === undefined) return { field: 'credits', message: 'is required: credits are sold one by one here' };
  const { minCredits, maxCredits, pricePerCreditMinor } = offer;
  if (credits < minCredits || credits > maxCredits)
    return { field: 'credits', message: `must be from ${minCredits} to ${maxCredits}` };
  return { credits, amountMinor: credits * pricePerCreditMinor, currency, pricingModel };
}

export const NO_OFFER: Issue = { field: 'positionId', message: 'is not a position that sells credits' };

/** Also validates the remaining values of a checkout whose shape was refused, so that one answer lists all errors. */
export function purchaseIssues(
  definition: BallotDefinition,
  wanted: { readonly positionId?: string | undefined } & Parameters<typeof priceOf>[1],
): Issue[] {
  if (wanted.positionId === undefined) return [];
  const offer = findQuadraticPosition(definition, wanted.positionId)?.position.quadraticTopUp;
  if (offer == null) return [NO_OFFER];
  const purchase = priceOf(offer, wanted);
  return 'field' in purchase ? [purchase] : [];
}
