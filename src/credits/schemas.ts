import { z } from 'zod';
import {
  BESIDE_FAULTY_FIELDS,
  emailField,
  idField,
  nameField,
  returnUrlField,
  voterIdField,
} from '#src/http/fields.ts';
import type { PayerNeed } from '#src/payment-providers/provider.ts';
import { visitorIdField } from '#src/voters/schemas.ts';

/** Both are required (contract, "Public voting endpoints"). */
export const creditsQuery = z.strictObject({ positionId: idField(), visitorId: visitorIdField() });

export interface CheckoutRules {
  /** Where a payer may be sent back over plain http: to the own machine, with the embedded database. */
  readonly embedded: boolean;
  /** What its payment provider needs of a payer. */
  readonly needs: readonly PayerNeed[];
}

/** The body of a first call (contract, "Quadratic credit checkout body"). */
export const creditCheckoutBody = ({ embedded, needs }: CheckoutRules) =>
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
    }, BESIDE_FAULTY_FIELDS);

export type CreditCheckout = z.output<ReturnType<typeof creditCheckoutBody>>;
