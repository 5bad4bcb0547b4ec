import { and, eq } from 'drizzle-orm';
import { z } from 'zod';
import type { QuadraticTopUp } from '#src/ballot-definition/types.ts';
import type { Executor } from '#src/database/client.ts';
import { listShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import {
  BESIDE_FAULTY_FIELDS,
  emailField,
  idField,
  nameField,
  returnUrlField,
  voterIdField,
} from '#src/http/fields.ts';
import { amountInMainUnit } from '#src/payment-providers/currencies.ts';
import type { PayerNeed } from '#src/payment-providers/provider.ts';
import { makeOnceEach } from '#src/platform/make-once.ts';
import { pick } from '#src/platform/pick.ts';
import { visitorIdField, visitorKey } from '#src/voters/voter-identity.ts';
import { creditBalances } from './tables.ts';

/** Both parameters are required (contract, "Public voting endpoints"). */
export const creditsQuery = z.strictObject({ positionId: idField(), visitorId: visitorIdField() });

interface CheckoutRules {
  /** Whether return URLs may use plain http to this machine: with the embedded database or play money. */
  readonly embedded: boolean;
  /** Fields of the payer that the event's payment provider requires. */
  readonly needs: readonly PayerNeed[];
}

/** The body of a first call (contract, "Quadratic credit checkout body"). */
export const creditCheckoutBody = makeOnceEach(({ embedded, needs }: CheckoutRules) =>
  z
    .strictObject({
      positionId: idField(),
      visitorId: visitorIdField(),
      credits: z
        .int('must be a whole number')
        .min(1, 'must be at least 1')
        .max(1_000_000)
        .optional()
        .describe('With a price for each credit.'),
      tierId: idField().optional().describe('With prices in tiers.'),
      email: needs.includes('email') ? emailField() : emailField().optional(),
      voterId: voterIdField().optional(),
      name: nameField().optional(),
      returnUrl: needs.includes('returnUrl') ? returnUrlField(embedded) : returnUrlField(embedded).optional(),
      cancelUrl: returnUrlField(embedded).optional(),
    })
    .superRefine(({ credits, tierId }, context) => {
      if ((credits === undefined) !== (tierId === undefined)) return;
      const [field, message] =
        credits === undefined ? ['credits', 'is required, or tierId'] : ['tierId', 'must not be sent with credits'];
      context.addIssue({ code: 'custom', path: [field], message });
    }, BESIDE_FAULTY_FIELDS),
);

export type CreditCheckout = z.output<ReturnType<typeof creditCheckoutBody>>;

/** A visitor's credits on a position (completions 4.10). */
export const balanceView = z
  .object({
    positionId: z.string(),
    visitorId: z.string(),
    baseCredits: z.int(),
    purchasedCredits: z.int(),
    spentCredits: z.int().meta({ description: 'By confirmed ballots that are not void.' }),
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
type BalanceView = z.output<typeof balanceView>;

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
type OptionsView = z.output<typeof optionsView>;

type CreditBalance = Pick<typeof creditBalances.$inferSelect, 'base' | 'purchased' | 'held' | 'spent'>;

/** A visitor's balances by position; a position without any change of credits has no entry. */
export async function listBalances(
  executor: Executor,
  votingEventId: string,
  visitorId: string,
): Promise<Map<string, CreditBalance>> {
  const rows = await executor
    .select()
    .from(creditBalances)
    .where(and(eq(creditBalances.votingEventId, votingEventId), eq(creditBalances.visitorId, visitorKey(visitorId))));
  return new Map(rows.map((row) => [row.positionId, row]));
}

/** A visitor's credits on a position (completions 4.10). Available credits are neither spent nor held. */
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

export function viewOptions(
  positionId: string,
  visitorId: string,
  provider: string,
  offer: QuadraticTopUp,
): OptionsView {
  const common = { positionId, visitorId, provider, currency: offer.currency };
  if (offer.pricingModel === 'ratio') {
    return { ...common, ...pick(offer, ['pricingModel', 'pricePerCreditMinor', 'minCredits', 'maxCredits']) };
  }
  const tiers = offer.tiers.map((tier) => ({ ...tier, amount: amountInMainUnit(tier.amountMinor, offer.currency) }));
  return { ...common, pricingModel: offer.pricingModel, tiers };
}
