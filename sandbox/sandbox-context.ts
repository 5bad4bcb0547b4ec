import type { Checkout, Checkouts, PlayedRefund, RefundStatus } from './checkouts.ts';
import type { SandboxFaults } from './faults.ts';
import type { SandboxAccount } from './sandbox-keys.ts';

/** A request to one of the APIs, as the sandbox keeps it for tests. */
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

/** What both APIs and the pages work with. */
export interface SandboxContext {
  readonly checkouts: Checkouts;
  readonly faults: SandboxFaults;
  /** The one clock: pages are made older, it never moves. */
  readonly now: () => number;
  /** The address under which it is reached. */
  readonly origin: () => string;
  /** Keys of accounts that take no payments. */
  readonly restricted: Set<string>;
  /** Where an account's messages go. */
  readonly target: (account: {
    readonly secretKey: string;
    readonly provider: Checkout['provider'];
  }) => string | undefined;
  /** Sends the merchant that the account changed, where the provider has such a message. */
  readonly tellAccount: (secretKey: string) => Promise<void>;
  /** Sends the merchant what happened to a page; resolves when the message was delivered or given up. */
  readonly tell: (checkout: Checkout, happening: Happening) => Promise<void>;
}

export type Happening =
  | 'paid'
  | 'declined'
  | 'failed'
  | 'expired'
  | 'refunded'
  | 'refund_pending'
  | 'refund_attention'
  | 'refund_failed'
  | 'disputed';

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

/** Takes the money for a page: the payer pressed Pay. */
export function markPaid({ faults, now, checkouts }: SandboxContext, checkout: Checkout): void {
  checkout.status = 'paid';
  checkout.declined = false;
  checkout.paidAmount = faults.paidAmount ?? checkout.amount;
  checkout.paidCurrency = faults.paidCurrency ?? checkout.currency;
  checkout.paidAtMs = now();
  checkouts.save();
}

/** Begins a refund, in the state that the faults say, and sends its message. */
export function beginRefund(context: SandboxContext, checkout: Checkout, id: string, amount: number): PlayedRefund {
  const refund: PlayedRefund = { id, amount, status: context.faults.newRefunds, createdAtMs: context.now() };
  checkout.refunds.push(refund);
  context.checkouts.save();
  void context.tell(checkout, REFUND_HAPPENINGS[refund.status]);
  return refund;
}

/** The newest refund of a payment goes on, or fails after it had succeeded. @throws Error where there is none */
export async function moveRefund(context: SandboxContext, reference: string, status: RefundStatus): Promise<void> {
  const checkout = [...context.checkouts.all()].find((one) => one.reference === reference);
  const refund = checkout?.refunds.at(-1);
  if (checkout === undefined || refund === undefined) throw new Error('there is no refund of this page');
  refund.status = status;
  context.checkouts.save();
  await context.tell(checkout, REFUND_HAPPENINGS[status]);
}

/** The merchant gives a payment back by hand, or the payer's bank takes it. @throws Error where nothing was paid */
export async function reversePayment(
  context: SandboxContext,
  reference: string,
  kind: 'refund' | 'dispute',
  refundId: string,
): Promise<void> {
  const checkout = [...context.checkouts.all()].find((one) => one.reference === reference);
  if (checkout?.status !== 'paid') throw new Error('only a paid page can be reversed');
  const nowMs = context.now();
  if (kind === 'dispute') checkout.disputedAtMs = nowMs;
  else {
    const amount = checkout.paidAmount ?? checkout.amount;
    checkout.refunds.push({ id: refundId, amount, status: 'succeeded', createdAtMs: nowMs });
  }
  context.checkouts.save();
  await context.tell(checkout, kind === 'refund' ? 'refunded' : 'disputed');
}

/** The provider restricts an account, or lets it take payments again. */
export function setAccountReady(context: SandboxContext, secretKey: string, ready: boolean): void {
  if (ready) context.restricted.delete(secretKey);
  else context.restricted.add(secretKey);
  void context.tellAccount(secretKey);
}
