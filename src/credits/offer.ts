import type { BallotPaper, PaperPosition } from '#src/ballot-paper/paper.ts';
import type { QuadraticTopUp } from '#src/ballot-paper/types.ts';
import { invalidField } from '#src/platform/errors.ts';

export interface QuadraticPosition {
  readonly position: PaperPosition;
  readonly baseCredits: number;
}

/** The quadratic position that a request names, if the event has it. */
export function findQuadraticPosition(paper: BallotPaper, positionId: string): QuadraticPosition | undefined {
  const position = paper.positionById.get(positionId);
  if (position === undefined || position.votingMethod !== 'quadratic') return undefined;
  return { position, baseCredits: position.quadraticBaseCreditBudget ?? 0 };
}

export interface Purchase {
  readonly credits: number;
  readonly amountMinor: number;
  readonly currency: string;
  readonly pricingModel: 'ratio' | 'tiered';
}

/** What a request buys, at the offer's price. @throws ApiError 422 on `credits` or `tierId` */
export function priceOf(
  offer: QuadraticTopUp,
  wanted: { readonly credits?: number | undefined; readonly tierId?: string | undefined },
): Purchase {
  const { currency, pricingModel } = offer;
  if (offer.pricingModel === 'tiered') {
    if (wanted.tierId === undefined) throw invalidField('tierId', 'is required: credits are sold in tiers here');
    const tier = offer.tiers.find(({ id }) => id === wanted.tierId);
    if (tier === undefined) throw invalidField('tierId', 'is not one of the tiers of this position');
    return { credits: tier.credits, amountMinor: tier.amountMinor, currency, pricingModel };
  }
  const { credits } = wanted;
  if (credits === undefined) throw invalidField('credits', 'is required: credits are sold one by one here');
  const { minCredits, maxCredits, pricePerCreditMinor } = offer;
  if (credits < minCredits || credits > maxCredits) {
    throw invalidField('credits', `must be from ${minCredits} to ${maxCredits}`);
  }
  return { credits, amountMinor: credits * pricePerCreditMinor, currency, pricingModel };
}
