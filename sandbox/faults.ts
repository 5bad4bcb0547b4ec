import { z } from 'zod';

const times = z.number().min(0);

/** Faults that the sandbox imitates, because real providers have them now and then. */
const faultsSchema = z.strictObject({
  /** Waits this long before each answer of the APIs. */
  latencyMs: z.int().min(0).max(120_000),
  /** Answers `refuseTimes` calls with this status, and does nothing else. A very large number of times means always. */
  refuseStatus: z.literal([0, 400, 401, 403, 429, 500, 503]),
  /** The field that a refusal with a status below 429 names; null for a refusal that is about no input of the payer. */
  refuseField: z.enum(['email', 'returnUrl', 'amount']).nullable(),
  refuseTimes: times,
  /** Number of calls that are carried out, but whose connection is then cut instead of answered. */
  resetAfterTimes: times,
  /** Number of calls that are carried out, but whose answer is not JSON. */
  malformedTimes: times,
  /** Number of calls that are not carried out, but answered with 403 and a page, as by a gateway in front of the provider. */
  gatewayTimes: times,
  /** Rows that each list of the account also contains, as from another shop of the merchant. */
  foreignRows: z.array(z.unknown()),
  webhooks: z.enum(['normal', 'lost', 'duplicate', 'late', 'reordered', 'wrong_signature', 'older_secret']),
  /** The kinds of messages that the merchant has selected at provider_a; null for all. */
  messageKinds: z.array(z.string()).nullable(),
  /** The delay of a late webhook, and how long at most a reordered webhook waits for its successor. */
  lateMs: z.int().min(0).max(120_000),
  /** Pays a page, and sends the message, before the call that made the page is answered. */
  payBeforeAnswer: z.boolean(),
  /** The amount that is reported as paid, in the provider's unit, instead of the requested amount. */
  paidAmount: z.int().min(0).nullable(),
  paidCurrency: z.string().nullable(),
  /** Whether payers use a method that takes days. */
  delayed: z.boolean(),
  /** Whether the fees of provider_b are added to the requested amount. */
  payerBearsFees: z.boolean(),
  refuseRefunds: z.boolean(),
  /** The first status of a refund: done at once, under way for days, or waiting for the merchant. */
  newRefunds: z.enum(['succeeded', 'pending', 'attention']),
  /** Number of attempts to pay that are refused. The page stays open, and the payer may try another card. */
  declineTimes: times,
  /** Whether expired pages still take money. */
  payAfterExpiry: z.boolean(),
});

export type SandboxFaults = z.infer<typeof faultsSchema>;

/** Some of the faults, as the control endpoint accepts them. */
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

/** Uses up one time of a fault, if one is left. @returns whether the fault occurs now */
export function takeFault(
  faults: SandboxFaults,
  name: 'refuseTimes' | 'resetAfterTimes' | 'malformedTimes' | 'gatewayTimes' | 'declineTimes',
): boolean {
  if (faults[name] <= 0) return false;
  faults[name] -= 1;
  return true;
}
