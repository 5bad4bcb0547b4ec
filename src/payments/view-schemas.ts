import { z } from 'zod';
import { listShape, timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { PROVIDER_NAMES, type ProviderName, providerKind } from '#src/payment-providers/registered.ts';
import { ATTEMPT_STATUSES, PAYMENT_PURPOSES } from './types.ts';

const provider = z.enum(PROVIDER_NAMES);
const status = z.enum(ATTEMPT_STATUSES);

/** A payment business (contract, "Payment business"). */
export const businessView = z
  .object({
    id: z.string(),
    provider,
    displayName: z.string(),
    country: z.string(),
    ready: z.boolean().meta({ description: 'Link it only when it is ready.' }),
    supportedCurrencies: listShape(z.string()),
  })
  .meta({
    id: 'PaymentBusiness',
    description: 'A merchant at a payment provider.',
    examples: [
      {
        id: EXAMPLE.business,
        provider: EXAMPLE.provider,
        displayName: 'Reading club',
        country: 'DE',
        ready: true,
        supportedCurrencies: ['eur', 'usd'],
      },
    ],
  });
export type BusinessView = z.output<typeof businessView>;

const ATTEMPT_EXAMPLE = {
  id: EXAMPLE.payment,
  votingEventId: EXAMPLE.event,
  purpose: 'vote' as const,
  status: 'succeeded' as const,
  provider: EXAMPLE.provider,
  livemode: true,
  amountMinor: 500,
  currency: 'usd',
  confirmationCode: null,
  createdAt: EXAMPLE.openedAt,
  updatedAt: EXAMPLE.openedAt,
  refundedAt: null,
  reversedAt: null,
};

/** A payment attempt (contract, "Payment attempt"). */
export const attemptView = z
  .object({
    id: z.string(),
    votingEventId: z.string(),
    purpose: z.enum(PAYMENT_PURPOSES),
    status,
    provider,
    livemode: z.boolean().meta({ description: 'False where the money is play money: a business in test mode.' }),
    amountMinor: z.int(),
    currency: z.string(),
    confirmationCode: z.string().nullable().meta({ description: 'Once a paid ballot has been cast.' }),
    createdAt: timeShape(),
    updatedAt: timeShape(),
    refundedAt: timeShape().nullable(),
    reversedAt: timeShape().nullable().meta({ description: 'When the payer took the money back at the provider.' }),
  })
  .meta({
    id: 'PaymentAttempt',
    description: 'One payment, from the first call to its end.',
    examples: [ATTEMPT_EXAMPLE],
  });
export type AttemptView = z.output<typeof attemptView>;

/** What only the organizer sees of an attempt: what stands beside it in the provider's own lists (completions 7.4). */
const organizerPart = {
  providerDetails: z
    .object({
      reference: z.string().nullable().meta({ description: 'Which of the references of the attempt was paid.' }),
      paymentId: z.string(),
      paidAt: timeShape().nullable(),
      feeMinor: z.int().nullable().meta({
        description:
          "The provider's fee, in the payment's currency; null where it does not say, or says it in another currency. It may come a day after the payment.",
      }),
      livemode: z.boolean(),
    })
    .nullable()
    .meta({ description: 'Once the provider has taken money.' }),
  refund: z
    .object({
      status: z.enum(['pending', 'needs_attention', 'refunded', 'failed', 'partially_refunded']).meta({
        description:
          '`needs_attention`: it waits for the merchant at the provider. `failed`: the provider did not give it back in 30 days, or the money came back to the merchant later: pay it back by hand. `partially_refunded`: you gave a part back at the provider; what was bought stays.',
      }),
      amountMinor: z.int().meta({
        description:
          'What goes back: with the fees that the payer bore, where the provider adds them; a part only where the status says so.',
      }),
      requestedAt: timeShape(),
      finishedAt: timeShape().nullable().meta({ description: 'When the payer had it back: `refundedAt`.' }),
    })
    .nullable()
    .meta({ description: 'Once the payment was given back, or is to be.' }),
};

/** A payment attempt for its organizer. */
export const organizerAttemptView = attemptView.extend(organizerPart).meta({
  id: 'OrganizerPaymentAttempt',
  description: 'One payment, from the first call to its end, with what the provider calls it.',
  examples: [
    {
      ...ATTEMPT_EXAMPLE,
      providerDetails: {
        reference: null,
        paymentId: 'pi_1',
        paidAt: EXAMPLE.openedAt,
        feeMinor: null,
        livemode: true,
      },
      refund: null,
    },
  ],
});
export type OrganizerAttemptView = z.output<typeof organizerAttemptView>;

/** One object for each provider, of which the one that is paid through is present. */
const pageViews = Object.fromEntries(
  PROVIDER_NAMES.map((name) => [name, providerKind(name).pageView.optional()]),
) as Record<ProviderName, z.ZodOptional<z.ZodObject>>;

/** The body of a 402 (contract, "Payment-required body"). */
export const paymentRequiredView = z
  .object({
    paymentRequired: z.literal(true),
    paymentAttemptId: z.string().meta({ description: 'Send it back to finish.' }),
    amount: z.number().meta({ description: "In the currency's main unit." }),
    currency: z.string(),
    provider: provider.meta({ description: 'Says which of the two objects is present.' }),
    ...pageViews,
    credits: z.int().optional().meta({ description: 'Credit checkouts only.' }),
    pricingModel: z.enum(['ratio', 'tiered']).optional().meta({ description: 'Credit checkouts only.' }),
    next: z.string().meta({ description: 'What to do now, for people.' }),
    status: status.optional().meta({ description: 'On a second call: how the payment stands.' }),
  })
  .meta({
    id: 'PaymentRequired',
    description: 'Where to send the payer.',
    examples: [
      {
        paymentRequired: true,
        paymentAttemptId: EXAMPLE.payment,
        amount: 5,
        currency: 'usd',
        provider: EXAMPLE.provider,
        [EXAMPLE.provider]: { checkoutUrl: 'https://pay.example/c/cs_1', checkoutSessionId: 'cs_1' },
        next: `Send the payer to checkoutUrl. Once the payment has succeeded, call this address again with only { "paymentAttemptId": "${EXAMPLE.payment}" }.`,
      },
    ],
  });
export type PaymentRequiredView = z.output<typeof paymentRequiredView>;

/** 402 `{ data }`: the one refusal without an envelope (contract, "Errors", rule 1). */
export const PAYMENT_REQUIRED = {
  402: {
    description: 'Payment is needed first, or has not succeeded yet.',
    schema: z.object({ data: paymentRequiredView }),
  },
} as const;

/** What every second call of a checkout may be refused with. */
export const SECOND_CALL_REFUSALS = [
  'payment_failed',
  'payment_cancelled',
  'payment_expired',
  'payment_provider_unavailable',
  'payment_unavailable',
  'plan_feature',
] as const;
