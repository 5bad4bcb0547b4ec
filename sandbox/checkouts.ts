import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

/** The status of a refund, in the sandbox's own words; each provider uses other words. */
export const REFUND_STATUSES = ['pending', 'attention', 'succeeded', 'failed'] as const;
export type RefundStatus = (typeof REFUND_STATUSES)[number];

export const DISPUTE_STATUSES = ['open', 'won', 'lost'] as const;
export type DisputeStatus = (typeof DISPUTE_STATUSES)[number];

const refundSchema = z.object({
  id: z.string(),
  status: z.enum(REFUND_STATUSES),
  /** In the provider's unit. */
  amount: z.number(),
  createdAtMs: z.number(),
});
export type PlayedRefund = z.infer<typeof refundSchema>;

const checkoutSchema = z.object({
  provider: z.enum(['provider_a', 'provider_b']),
  secretKey: z.string(),
  /** The end of the page's URL: the session ID of provider_a, the access code of provider_b. */
  pageId: z.string(),
  /** The merchant's name for the page. */
  reference: z.string(),
  /** The ID of the payment at the provider; valid once there is one. */
  paymentId: z.string(),
  chargeId: z.string(),
  /** In the provider's unit. */
  amount: z.number(),
  currency: z.string(),
  title: z.string(),
  description: z.string().nullable().default(null),
  email: z.string().nullable(),
  metadata: z.unknown(),
  successUrl: z.string().nullable(),
  cancelUrl: z.string().nullable(),
  /** `processing`: paid by a method that takes days. */
  status: z.enum(['open', 'processing', 'paid', 'failed', 'expired']),
  /** Whether the last attempt to pay was refused. */
  declined: z.boolean().default(false),
  paidAmount: z.number().nullable(),
  paidCurrency: z.string().nullable(),
  paidAtMs: z.number().nullable(),
  /** The dispute, if the payer's bank has asked for the money. */
  dispute: z
    .object({
      status: z.enum(DISPUTE_STATUSES),
      openedAtMs: z.number(),
      closedAtMs: z.number().nullable(),
      amount: z.number(),
    })
    .nullable()
    .default(null),
  /** All refunds that were begun, oldest first. */
  refunds: z.array(refundSchema).default([]),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
});

/** A page at one of the providers, with its payment and refunds. */
export type Checkout = z.infer<typeof checkoutSchema>;

/** The state of a new page: open, nothing paid and nothing refunded. */
export const newPage = () =>
  ({
    status: 'open',
    declined: false,
    paidAmount: null,
    paidCurrency: null,
    paidAtMs: null,
    dispute: null,
    refunds: [],
  }) satisfies Partial<Checkout>;

/** The amount that refunds returned or will return; failed refunds do not count. @param status count only refunds with this status */
export function amountBack({ refunds }: Checkout, status?: RefundStatus): number {
  const counted = refunds.filter((one) => (status === undefined ? one.status !== 'failed' : one.status === status));
  return counted.reduce((sum, { amount }) => sum + amount, 0);
}

/** Whether the whole payment was or will be refunded. @param status count only refunds with this status */
export const isAllBack = (checkout: Checkout, status?: RefundStatus): boolean =>
  checkout.status === 'paid' && amountBack(checkout, status) >= (checkout.paidAmount ?? checkout.amount);

const stateSchema = z.object({ checkouts: z.array(checkoutSchema) });

export function newId(prefix: string): string {
  return prefix + randomBytes(12).toString('hex');
}

/** A new ID of provider_b, where IDs are numbers above 2^31. */
export function newNumber(): string {
  return String(4_000_000_000 + randomBytes(4).readUInt32BE());
}

/** Number of pages that are kept; the oldest are dropped. A demo may run for months, and each change rewrites the file. */
const MAX_IN_MEMORY = 20_000;
const MAX_IN_FILE = 1_000;

/** Reads the pages of an earlier run. A file that cannot be read is set aside, because play money must not prevent the start. */
function readState(file: string): Checkout[] {
  if (!existsSync(file)) return [];
  try {
    return stateSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).checkouts;
  } catch {
    renameSync(file, `${file}.unreadable`);
    return [];
  }
}

/** All pages, in memory; for a demo, which must survive restarts, also in a file. */
export class Checkouts {
  readonly #byPage = new Map<string, Checkout>();
  readonly #byReference = new Map<string, Checkout>();
  readonly #byPayment = new Map<string, Checkout>();
  readonly #file: string | undefined;

  constructor(file: string | undefined) {
    this.#file = file;
    if (file === undefined) return;
    for (const checkout of readState(file)) this.#index(checkout);
  }

  #index(checkout: Checkout): void {
    this.#byPage.set(checkout.pageId, checkout);
    this.#byReference.set(`${checkout.secretKey} ${checkout.reference}`, checkout);
    this.#byPayment.set(checkout.paymentId, checkout);
  }

  #forget(checkout: Checkout): void {
    this.#byPage.delete(checkout.pageId);
    this.#byReference.delete(`${checkout.secretKey} ${checkout.reference}`);
    this.#byPayment.delete(checkout.paymentId);
  }

  add(checkout: Checkout): void {
    this.#index(checkout);
    const [oldest] = this.#byPage.values();
    if (this.#byPage.size > MAX_IN_MEMORY && oldest !== undefined) this.#forget(oldest);
    this.save();
  }

  ofPage(pageId: string): Checkout | undefined {
    return this.#byPage.get(pageId);
  }

  ofReference(secretKey: string, reference: string): Checkout | undefined {
    return this.#byReference.get(`${secretKey} ${reference}`);
  }

  ofPayment(secretKey: string, paymentId: string): Checkout | undefined {
    const found = this.#byPayment.get(paymentId);
    return found?.secretKey === secretKey ? found : undefined;
  }

  /** A merchant's pages that were opened since a moment, newest first. */
  since(secretKey: string, sinceMs: number): Checkout[] {
    const own = [...this.#byPage.values()].filter((one) => one.secretKey === secretKey && one.createdAtMs >= sinceMs);
    return own.reverse();
  }

  all(): IterableIterator<Checkout> {
    return this.#byPage.values();
  }

  /** Makes open pages older. */
  age(ms: number): void {
    for (const checkout of this.#byPage.values()) {
      if (checkout.status !== 'open') continue;
      checkout.createdAtMs -= ms;
      checkout.expiresAtMs -= ms;
    }
    this.save();
  }

  /** Rewrites the file. If the process crashes meanwhile, the old file stays. */
  save(): void {
    if (this.#file === undefined) return;
    const checkouts = [...this.#byPage.values()].slice(-MAX_IN_FILE);
    writeFileSync(`${this.#file}.new`, JSON.stringify({ checkouts }), { mode: 0o600 });
    renameSync(`${this.#file}.new`, this.#file);
  }
}

/** Marks an open page as expired if its time is over. Called before each use of a page. */
export function expireWhenOver(checkout: Checkout, nowMs: number): void {
  if (checkout.status === 'open' && checkout.provider === 'provider_a' && nowMs >= checkout.expiresAtMs) {
    checkout.status = 'expired';
  }
}
