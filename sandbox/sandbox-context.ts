import type { Checkout, Checkouts, DisputeStatus, PlayedRefund, RefundStatus } from './checkouts.ts';
import type { SandboxFaults } from './faults.ts';
import type { SandboxAccount } from './sandbox-keys.ts';

/** A request to one of the APIs, kept so that tests can look at it. */
export interface ApiRequest {
  readonly provider: 'provider_a' | 'provider_b';
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly idempotencyKey: string | undefined;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Objects that both APIs and the pages use. */
export interface SandboxContext {
  readonly checkouts: Checkouts;
  readonly faults: SandboxFaults;
  /** The time. It is never advanced: to let pages expire, the sandbox makes them older. */
  readonly now: () => number;
  /** The URL under which the sandbox is reached. */
  readonly origin: () => string;
  /** Keys of accounts that take no payments. */
  readonly restricted: Set<string>;
  /** The URL to which an account's messages go. */
  readonly target: (account: {
    readonly secretKey: string;
    readonly provider: Checkout['provider'];
  }) => string | undefined;
  /** Sends the merchant a message that the account changed, if the provider has such a message. */
  readonly tellAccount: (secretKey: string) => Promise<void>;
  /** Sends the merchant a message about a page. Resolves when the message was delivered or given up. */
  readonly tell: (checkout: Checkout, happening: Happening) => Promise<void>;
}

export type Happening =
  | 'paid'
  | 'processing'
  | 'arrived'
  | 'declined'
  | 'failed'
  | 'expired'
  | 'refunded'
  | 'refund_pending'
  | 'refund_attention'
  | 'refund_failed'
  | 'dispute_opened'
  | 'dispute_closed';

const REFUND_HAPPENINGS: Readonly<Record<RefundStatus, Happening>> = {
  pending: 'refund_pending',
  attention: 'refund_attention',
  succeeded: 'refunded',
  failed: 'refund_failed',
};

export interface ApiCall {
  readonly account: SandboxAccount;
  readonly request: ApiRequest;
}

/** The fee of provider_b: 1.5 %. */
export const feeOfB = (amount: number): number => Math.floor((amount * 15) / 100_000) * 100;

/** Pays a page, as if the payer had pressed Pay. */
export function markPaid({ faults, now, checkouts }: SandboxContext, checkout: Checkout): void {
  checkout.status = 'paid';
  checkout.declined = false;
  checkout.paidAmount = faults.paidAmount ?? checkout.amount + (faults.payerBearsFees ? feeOfB(checkout.amount) : 0);
  checkout.paidCurrency = faults.paidCurrency ?? checkout.currency;
  checkout.paidAtMs = now();
  checkouts.save();
}

/** Begins a refund, in the status that the faults set, and sends its message. */
export function beginRefund(context: SandboxContext, checkout: Checkout, id: string, amount: number): PlayedRefund {
  const refund: PlayedRefund = { id, amount, status: context.faults.newRefunds, createdAtMs: context.now() };
  checkout.refunds.push(refund);
  context.checkouts.save();
  void context.tell(checkout, REFUND_HAPPENINGS[refund.status]);
  return refund;
}

/** Moves the newest refund of a payment to a status. It may fail after it had succeeded. @throws Error if there is no refund */
export async function moveRefund(context: SandboxContext, reference: string, status: RefundStatus): Promise<void> {
  const checkout = [...context.checkouts.all()].find((one) => one.reference === reference);
  const refund = checkout?.refunds.at(-1);
  if (checkout === undefined || refund === undefined) throw new Error('there is no refund of this page');
  refund.status = status;
  context.checkouts.save();
  await context.tell(checkout, REFUND_HAPPENINGS[status]);
}

/** Returns a payment by a refund of the merchant or by the payer's bank. @throws Error if nothing was paid */
export async function reversePayment(
  context: SandboxContext,
  reference: string,
  kind: 'refund' | 'dispute',
  { id, amount }: { readonly id: string; readonly amount?: number | undefined },
): Promise<void> {
  if (kind === 'dispute') return disputePayment(context, reference, 'lost', amount);
  const checkout = paidPage(context, reference);
  const whole = checkout.paidAmount ?? checkout.amount;
  checkout.refunds.push({ id, amount: amount ?? whole, status: 'succeeded', createdAtMs: context.now() });
  context.checkouts.save();
  await context.tell(checkout, 'refunded');
}

function paidPage(context: SandboxContext, reference: string): Checkout {
  const checkout = [...context.checkouts.all()].find((one) => one.reference === reference);
  if (checkout?.status !== 'paid') throw new Error('only a paid page can be reversed');
  return checkout;
}

/** Opens or decides a dispute of the payer's bank. @throws Error if nothing was paid */
/** @param amount the disputed part of the payment; by default the whole payment */
export async function disputePayment(
  context: SandboxContext,
  reference: string,
  status: DisputeStatus,
  amount?: number,
): Promise<void> {
  const checkout = paidPage(context, reference);
  const nowMs = context.now();
  const openedAtMs = checkout.dispute?.openedAtMs ?? nowMs;
  const disputed = amount ?? checkout.dispute?.amount ?? checkout.paidAmount ?? checkout.amount;
  checkout.dispute = { status, openedAtMs, closedAtMs: status === 'open' ? null : nowMs, amount: disputed };
  context.checkouts.save();
  await context.tell(checkout, status === 'open' ? 'dispute_opened' : 'dispute_closed');
}

/** Lets a payment by a method that takes days arrive or fail. @throws Error if none is under way */
export async function finishDelayed(context: SandboxContext, reference: string, arrives: boolean): Promise<void> {
  const checkout = [...context.checkouts.all()].find((one) => one.reference === reference);
  if (checkout?.status !== 'processing') throw new Error('no payment of this page is under way');
  if (arrives) markPaid(context, checkout);
  else endUnpaid(context, checkout);
  await context.tell(checkout, arrives ? 'arrived' : 'failed');
}

/** How long a page of provider_b may stay unpaid until the service gives it up. The provider itself ends no page. */
const PROVIDER_B_PAGE_MS = 24 * 3_600_000;

/** Ends a page whose last attempt to pay was refused. */
export function endUnpaid(context: SandboxContext, checkout: Checkout): void {
  checkout.status = 'failed';
  if (checkout.provider === 'provider_b') checkout.createdAtMs -= PROVIDER_B_PAGE_MS;
  context.checkouts.save();
}

/** Restricts an account as the provider would, or lets it take payments again. */
export function setAccountReady(context: SandboxContext, secretKey: string, ready: boolean): void {
  if (ready) context.restricted.delete(secretKey);
  else context.restricted.add(secretKey);
  void context.tellAccount(secretKey);
}
