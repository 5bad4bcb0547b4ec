import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

/** How a refund stands, in the sandbox's own words; each provider has others for them. */
export const REFUND_STATUSES = ['pending', 'attention', 'succeeded', 'failed'] as const;
export type RefundStatus = (typeof REFUND_STATUSES)[number];

export const DISPUTE_STATUSES = ['open', 'won', 'lost'] as const;
export type DisputeStatus = (typeof DISPUTE_STATUSES)[number];

const refundSchema = z.object({
  id: z.string(),
  status: z.enum(REFUND_STATUSES),
  /** In the provider's own unit. */
  amount: z.number(),
  createdAtMs: z.number(),
});
export type PlayedRefund = z.infer<typeof refundSchema>;

const checkoutSchema = z.object({
  provider: z.enum(['provider_a', 'provider_b']),
  secretKey: z.string(),
  /** What the page's address ends in: the session of provider_a, the access code of provider_b. */
  pageId: z.string(),
  /** What the merchant calls it. */
  reference: z.string(),
  /** The payment at the provider, once there may be one. */
  paymentId: z.string(),
  chargeId: z.string(),
  /** In the provider's own unit. */
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
  /** The last try to pay was refused. */
  declined: z.boolean().default(false),
  paidAmount: z.number().nullable(),
  paidCurrency: z.string().nullable(),
  paidAtMs: z.number().nullable(),
  /** The payer's bank asks for the money. */
  dispute: z
    .object({
      status: z.enum(DISPUTE_STATUSES),
      openedAtMs: z.number(),
      closedAtMs: z.number().nullable(),
      amount: z.number(),
    })
    .nullable()
    .default(null),
  /** Every refund that was begun, oldest first. */
  refunds: z.array(refundSchema).default([]),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
});

/** A page at one of the providers, and what became of it. */
export type Checkout = z.infer<typeof checkoutSchema>;

/** How a page begins: open, and nothing paid or given back. */
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

/** What refunds have given back of a payment, or are to: failed ones gave nothing. @param status counts those alone */
export function amountBack({ refunds }: Checkout, status?: RefundStatus): number {
  const counted = refunds.filter((one) => (status === undefined ? one.status !== 'failed' : one.status === status));
  return counted.reduce((sum, { amount }) => sum + amount, 0);
}

/** Whether the whole of a payment went back, or is to. @param status counts refunds in that one alone */
export const isAllBack = (checkout: Checkout, status?: RefundStatus): boolean =>
  checkout.status === 'paid' && amountBack(checkout, status) >= (checkout.paidAmount ?? checkout.amount);

const stateSchema = z.object({ checkouts: z.array(checkoutSchema) });

export function newId(prefix: string): string {
  return prefix + randomBytes(12).toString('hex');
}

/** IDs of provider_b are numbers beyond 2^31. */
export function newNumber(): string {
  return String(4_000_000_000 + randomBytes(4).readUInt32BE());
}

/** A demo may run for months, and every change rewrites the file: the oldest pages are forgotten. */
const MAX_IN_MEMORY = 20_000;
const MAX_IN_FILE = 1_000;

/** What an earlier run left behind. A file that cannot be read is set aside: play money must not keep a service down. */
function readState(file: string): Checkout[] {
  if (!existsSync(file)) return [];
  try {
    return stateSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).checkouts;
  } catch {
    renameSync(file, `${file}.unreadable`);
    return [];
  }
}

/** All pages, in memory and, for a demo that must survive restarts, in a file. */
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

  /** Pages of a merchant that were opened since a moment, newest first. */
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

  /** Rewrites the file; a crash in between leaves the old one. */
  save(): void {
    if (this.#file === undefined) return;
    const checkouts = [...this.#byPage.values()].slice(-MAX_IN_FILE);
    writeFileSync(`${this.#file}.new`, JSON.stringify({ checkouts }), { mode: 0o600 });
    renameSync(`${this.#file}.new`, this.#file);
  }
}

/** An open page whose time is over has expired, however it is read. */
export function expireWhenOver(checkout: Checkout, nowMs: number): void {
  if (checkout.status === 'open' && checkout.provider === 'provider_a' && nowMs >= checkout.expiresAtMs) {
    checkout.status = 'expired';
  }
}
