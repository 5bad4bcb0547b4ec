import { z } from 'zod';
import { listShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';

/** A visitor's credits on a position (completions 4.10). */
export const balanceView = z
  .object({
    positionId: z.string(),
    visitorId: z.string(),
    baseCredits: z.int(),
    purchasedCredits: z.int(),
    spentCredits: z.int().meta({ description: 'By confirmed ballots.' }),
    heldCredits: z.int().meta({ description: 'By a ballot that is cast and not confirmed yet.' }),
    availableCredits: z.int(),
  })
  .meta({
    id: 'CreditBalance',
    examples: [
      {
        positionId: EXAMPLE.position,
        visitorId: EXAMPLE.visitor,
        baseCredits: 100,
        purchasedCredits: 50,
        spentCredits: 0,
        heldCredits: 9,
        availableCredits: 141,
      },
    ],
  });
export type BalanceView = z.output<typeof balanceView>;

const common = {
  positionId: z.string(),
  visitorId: z.string(),
  provider: z.string(),
  currency: z.string(),
};

/** What a visitor may buy (completions 4.10). */
export const optionsView = z
  .discriminatedUnion('pricingModel', [
    z.object({
      ...common,
      pricingModel: z.literal('ratio'),
      pricePerCreditMinor: z.int(),
      minCredits: z.int(),
      maxCredits: z.int(),
    }),
    z.object({
      ...common,
      pricingModel: z.literal('tiered'),
      tiers: listShape(
        z.object({
          id: z.string(),
          label: z.string(),
          credits: z.int(),
          amountMinor: z.int(),
          amount: z.number().meta({ description: "In the currency's main unit." }),
        }),
      ),
    }),
  ])
  .meta({
    id: 'CreditOptions',
    examples: [
      {
        positionId: EXAMPLE.position,
        visitorId: EXAMPLE.visitor,
        provider: EXAMPLE.provider,
        currency: 'usd',
        pricingModel: 'ratio',
        pricePerCreditMinor: 10,
        minCredits: 1,
        maxCredits: 1_000,
      },
    ],
  });
export type OptionsView = z.output<typeof optionsView>;
