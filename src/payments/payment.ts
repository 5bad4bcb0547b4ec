import { z } from 'zod';
import { listShape, timeShape, viewer } from '#src/http/answer-shapes.ts';
import { windowFields } from '#src/http/cursor.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { idField, searchField } from '#src/http/fields.ts';
import { amountInMainUnit } from '#src/payment-providers/currencies.ts';
import type { CheckoutPage } from '#src/payment-providers/provider.ts';
import { isProviderName, PROVIDER_NAMES, type ProviderName, providerKind } from '#src/payment-providers/registered.ts';
import { namesOf, pick } from '#src/platform/pick.ts';
import { placesIn, type Secrets } from '#src/platform/secrets.ts';
import type { Refund } from './refund-payment.ts';
import type { paymentAttempts, paymentBusinesses } from './tables.ts';

const PAYMENT_PURPOSES = ['vote', 'candidate_registration', 'quadratic_credits'] as const;
export type PaymentPurpose = (typeof PAYMENT_PURPOSES)[number];

const ATTEMPT_STATUSES = ['created', 'pending', 'succeeded', 'fulfilled', 'failed', 'cancelled'] as const;
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];

/** A merchant's account at a provider, as an operator connected it. Its credentials are encrypted. */
export type PaymentBusiness = Readonly<typeof paymentBusinesses.$inferSelect>;

/** The content of a checkout page. It is stored before the provider is asked, because a retry must send the same content. */
export interface CheckoutTerms {
  readonly title: string;
  readonly description: string | null;
  readonly email: string | null;
  readonly returnUrl: string | null;
  readonly cancelUrl: string | null;
  /** How many quadratic credits the money buys; null for other purposes (contract, "Payment-required body"). */
  readonly credits: number | null;
  readonly pricingModel: 'ratio' | 'tiered' | null;
}

/**
 * The state of a refund. `refused`: the provider refused, and the job asks again. `attention`: the refund waits until the merchant acts
 * at the provider. `failed`: the service no longer asks, or refunded money came back to the merchant.
 */
export type RefundStatus = 'due' | 'pending' | 'attention' | 'refunded' | 'refused' | 'failed';
/** States of a refund that is still requested: the payer does not have the money yet. */
export const OWED: readonly RefundStatus[] = ['due', 'pending', 'attention', 'refused'];

/** Why an attempt ended without fulfilment, or that another amount was paid than requested (completions 7.4). */
const END_REASONS = [
  ...(['page_expired', 'refused', 'payer_cancelled', 'not_cast', 'event_over'] as const),
  ...(['already_voted', 'insufficient_credits', 'amount_mismatch', 'refunded'] as const),
] as const;
export type EndReason = (typeof END_REASONS)[number];

/** An attempt to pay for one purchase. `requestKey` is left out, because only SQL statements use it. */
export type PaymentAttempt = Readonly<Omit<typeof paymentAttempts.$inferSelect, 'requestKey'>>;

export const listBusinessesQuery = z.strictObject({ search: searchField().optional() });
export const linkBusinessBody = z.strictObject({ paymentBusinessId: idField() });
export const listPaymentsQuery = z.strictObject({
  search: searchField().optional(),
  status: z.enum(ATTEMPT_STATUSES).optional(),
  purpose: z.enum(PAYMENT_PURPOSES).optional(),
  attention: z.enum(['true', 'false']).optional().describe('Whether a person has to look at its money.'),
  ...windowFields(),
});

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
    livemode: z.boolean().meta({ description: 'False where its money is play money.' }),
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
        livemode: true,
      },
    ],
  });

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
type AttemptView = z.output<typeof attemptView>;

/** Fields of an attempt that only the organizer sees, for comparison with the provider's own lists (completions 7.4). */
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
  endReason: z.enum(END_REASONS).nullable().meta({
    description:
      'Why the payment gave nothing: `not_cast`: nobody made the second call in 72 hours; `event_over`: what was paid for can be given no more, since the event is over, the candidate withdrew or registration was switched off; `payer_cancelled`: given up on the page of a rehearsal (no provider says so: its page ends as `page_expired`); `amount_mismatch`: other money came than was asked for; `refunded`: you gave it back.',
  }),
  paidMinor: z.int().nullable().meta({ description: 'What was really paid, where the provider says it.' }),
  attention: z.boolean().meta({
    description:
      'A person has to look at its money: another amount was paid, a refund failed, a part went back, or it is older than 72 hours and neither given, back nor settled.',
  }),
};

const ORGANIZER_EXAMPLE = {
  ...ATTEMPT_EXAMPLE,
  providerDetails: {
    reference: null,
    paymentId: 'pi_1',
    paidAt: EXAMPLE.openedAt,
    feeMinor: null,
    livemode: true,
  },
  refund: null,
  endReason: null,
  paidMinor: 500,
  attention: false,
};
const ORGANIZER_DESCRIPTION = 'One payment, from the first call to its end, with what the provider calls it.';

export const organizerAttemptView = attemptView.extend(organizerPart).meta({
  id: 'OrganizerPaymentAttempt',
  description: ORGANIZER_DESCRIPTION,
  examples: [ORGANIZER_EXAMPLE],
});
const { confirmationCode: _code, ...LISTED_EXAMPLE } = ORGANIZER_EXAMPLE;
/** As `organizerAttemptView`, for lists. The confirmation code is left out, because no reader of a list needs it (completions 7.4). */
export const listedAttemptView = organizerAttemptView.omit({ confirmationCode: true }).meta({
  id: 'ListedPaymentAttempt',
  description: ORGANIZER_DESCRIPTION,
  examples: [LISTED_EXAMPLE],
});
type OrganizerAttemptView = z.output<typeof organizerAttemptView>;

/** One optional object for each provider; an answer has only the object of the attempt's provider. */
const pageViews = Object.fromEntries(
  PROVIDER_NAMES.map((name) => [name, providerKind(name).pageView.optional()]),
) as Record<ProviderName, z.ZodOptional<z.ZodObject>>;

const nextStep = (id: string): string =>
  `Send the payer to checkoutUrl. Once the payment has succeeded, call this address again with only { "paymentAttemptId": "${id}" }.`;

/** The body of a 402 (contract, "Payment-required body"). */
const paymentRequiredView = z
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
        next: nextStep(EXAMPLE.payment),
      },
    ],
  });

/** 402 `{ data }`: the only error response without the error envelope (contract, "Errors", rule 1). */
export const PAYMENT_REQUIRED = {
  402: {
    description: 'Payment is needed first, or has not succeeded yet.',
    schema: z.object({ data: paymentRequiredView }),
  },
} as const;

export const SECOND_CALL_REFUSALS = [
  'payment_failed',
  'payment_cancelled',
  'payment_expired',
  'payment_provider_unavailable',
  'payment_unavailable',
  'plan_feature',
] as const;

export const viewBusiness: (business: PaymentBusiness) => z.output<typeof businessView> = viewer(businessView);

export const confirmationCodePlace = placesIn('payment_attempts', 'confirmation_code');
export const answerPlace = placesIn('payment_attempts', 'answer');

/** The code that confirms the ballot of a paid vote; null before the ballot is cast, and for other purposes. */
export const confirmationCodeOf = (
  secrets: Secrets,
  { id, confirmationCode }: Pick<PaymentAttempt, 'id' | 'confirmationCode'>,
): string | null =>
  confirmationCode === null ? null : secrets.open(confirmationCode, confirmationCodePlace(id)).toString('utf8');

const attemptWithoutCode = (attempt: PaymentAttempt) =>
  pick(attempt, namesOf(attemptView.omit({ confirmationCode: true }).shape));

/** A payment attempt (contract, "Payment attempt"). */
export function viewAttempt(secrets: Secrets, attempt: PaymentAttempt): AttemptView {
  return { ...attemptWithoutCode(attempt), confirmationCode: confirmationCodeOf(secrets, attempt) };
}

function statusOfOwed(status: RefundStatus | undefined) {
  if (status === 'failed') return 'failed';
  return status === 'attention' ? 'needs_attention' : 'pending';
}

/** A partial refund by the merchant; null without one, or once all money is back. `finishedAt` is null because `refundedAt` is. */
function partOf({ partRefundedMinor, partRefundedAt, reversedAt }: PaymentAttempt): OrganizerAttemptView['refund'] {
  if (partRefundedAt === null || reversedAt !== null) return null;
  return {
    status: 'partially_refunded',
    amountMinor: partRefundedMinor,
    requestedAt: partRefundedAt,
    finishedAt: null,
  };
}

/** The refund of the attempt's first payment. Duplicate payments have their own refunds, which are not shown. */
export function refundOf(attempt: PaymentAttempt, refunds: readonly Refund[]): OrganizerAttemptView['refund'] {
  const { refundedAt, providerPaymentId, amountMinor } = attempt;
  const row = refunds.find((refund) => refund.providerPaymentId === providerPaymentId);
  if (row === undefined && refundedAt === null) return partOf(attempt);
  return {
    status: refundedAt === null ? statusOfOwed(row?.status) : 'refunded',
    amountMinor: row?.amountMinor ?? amountMinor,
    requestedAt: row?.createdAt ?? refundedAt ?? attempt.updatedAt,
    finishedAt: refundedAt,
  };
}

/** The amount of a payment that went back, in the currency's smallest unit, without fees that the payer bore. */
export function backOf(attempt: PaymentAttempt, refunds: readonly Refund[]): number {
  const { refundedAt, reversedAt, partRefundedMinor, paidMinor, providerPaymentId } = attempt;
  const own = refunds.find((refund) => refund.providerPaymentId === providerPaymentId);
  const isBack = refundedAt !== null || (reversedAt !== null && own?.status !== 'failed');
  return isBack ? (paidMinor ?? 0) : partRefundedMinor;
}

function viewOrganizerPart(attempt: PaymentAttempt, refunds: readonly Refund[]) {
  const { providerPaymentId: paymentId, providerReference: reference, paidAt, feeMinor, livemode } = attempt;
  const details = paymentId === null ? null : { reference, paymentId, paidAt, feeMinor, livemode };
  const { endReason, paidMinor, attentionAt } = attempt;
  const refund = refundOf(attempt, refunds);
  return { providerDetails: details, refund, endReason, paidMinor, attention: attentionAt !== null };
}

/** An attempt for its organizer (completions 7.4). */
export const viewOrganizerAttempt = (
  secrets: Secrets,
  attempt: PaymentAttempt,
  refunds: readonly Refund[],
): OrganizerAttemptView => ({ ...viewAttempt(secrets, attempt), ...viewOrganizerPart(attempt, refunds) });

export const viewListedAttempt = (
  attempt: PaymentAttempt,
  refunds: readonly Refund[],
): z.output<typeof listedAttemptView> => ({
  ...attemptWithoutCode(attempt),
  ...viewOrganizerPart(attempt, refunds),
});

/** The body of a 402 (contract, "Payment-required body"). @param status only in answers to repeated calls */
export function viewPaymentRequired(
  attempt: PaymentAttempt,
  page: CheckoutPage,
  status?: AttemptStatus,
): z.output<typeof paymentRequiredView> {
  const { credits, pricingModel } = attempt.terms;
  if (!isProviderName(page.provider)) throw new Error('a page is of no provider that is known');
  return {
    paymentRequired: true,
    paymentAttemptId: attempt.id,
    amount: amountInMainUnit(attempt.amountMinor, attempt.currency),
    currency: attempt.currency,
    provider: attempt.provider,
    [page.provider]: providerKind(page.provider).pageView.parse(page),
    ...(credits === null ? {} : { credits }),
    ...(pricingModel === null ? {} : { pricingModel }),
    next: nextStep(attempt.id),
    ...(status === undefined ? {} : { status }),
  };
}
