import { z } from 'zod';

const times = z.number().min(0);

/** What the sandbox does wrong, as real providers do now and then. */
const faultsSchema = z.strictObject({
  /** Waits before every answer of the APIs. */
  latencyMs: z.int().min(0).max(120_000),
  /** Answers this status instead of doing anything, so many times; a very large number is always. */
  refuseStatus: z.literal([0, 400, 401, 403, 429, 500, 503]),
  /** What a refusal by a status below 429 is about; null where it is nothing that the payer sent. */
  refuseField: z.enum(['email', 'returnUrl', 'amount']).nullable(),
  refuseTimes: times,
  /** Does what was asked, then cuts the connection instead of answering, so many times. */
  resetAfterTimes: times,
  /** Does what was asked, then answers what is no JSON, so many times. */
  malformedTimes: times,
  /** Does nothing, and answers 403 with a page of a gateway before the provider, so many times. */
  gatewayTimes: times,
  /** What stands in every list of the account besides: rows of another shop of the merchant. */
  foreignRows: z.array(z.unknown()),
  webhooks: z.enum(['normal', 'lost', 'duplicate', 'late', 'reordered', 'wrong_signature', 'older_secret']),
  /** The kinds of messages that the merchant selected at provider_a; null for all. */
  messageKinds: z.array(z.string()).nullable(),
  /** How late a late webhook is, and how long one that waits for its successor is held back at most. */
  lateMs: z.int().min(0).max(120_000),
  /** Pays a page, and sends the message, before the call that made the page is answered. */
  payBeforeAnswer: z.boolean(),
  /** What is said to have been paid, in the provider's unit, instead of what was asked for. */
  paidAmount: z.int().min(0).nullable(),
  paidCurrency: z.string().nullable(),
  /** Payers pay by a method that takes days. */
  delayed: z.boolean(),
  /** provider_b: its fees come on top of what the merchant asks for. */
  payerBearsFees: z.boolean(),
  refuseRefunds: z.boolean(),
  /** How a refund begins: done at once, under way for days, or waiting for the merchant. */
  newRefunds: z.enum(['succeeded', 'pending', 'attention']),
  /** Refuses the payer's card, so many times: the page stays open, and the payer may try another one on it. */
  declineTimes: times,
  /** Takes money on pages that have expired. */
  payAfterExpiry: z.boolean(),
});

export type SandboxFaults = z.infer<typeof faultsSchema>;

/** Any of the faults, as the control endpoint takes them. */
export const someFaultsSchema = faultsSchema.partial();

export const NO_FAULTS: SandboxFaults = {
  latencyMs: 0,
  refuseStatus: 0,
  refuseField: null,
  refuseTimes: 0,
  resetAfterTimes: 0,
  malformedTimes: 0,
  gatewayTimes: 0,
  foreignRows: [],
  webhooks: 'normal',
  messageKinds: null,
  lateMs: 2_000,
  payBeforeAnswer: false,
  paidAmount: null,
  paidCurrency: null,
  delayed: false,
  payerBearsFees: false,
  refuseRefunds: false,
  newRefunds: 'succeeded',
  declineTimes: 0,
  payAfterExpiry: false,
};

/** Takes one of a fault's times, if there is one left. */
export function takeFault(
  faults: SandboxFaults,
  name: 'refuseTimes' | 'resetAfterTimes' | 'malformedTimes' | 'gatewayTimes' | 'declineTimes',
): boolean {
  if (faults[name] <= 0) return false;
  faults[name] -= 1;
  return true;
}
