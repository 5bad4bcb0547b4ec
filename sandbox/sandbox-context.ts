import type { Checkout, Checkouts } from './checkouts.ts';
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
  /** Sends the merchant what happened to a page; resolves when the message was delivered or given up. */
  readonly tell: (checkout: Checkout, happening: Happening) => Promise<void>;
}

export type Happening = 'paid' | 'failed' | 'expired' | 'refunded' | 'disputed';

export interface ApiCall {
  readonly account: SandboxAccount;
  readonly request: ApiRequest;
}

/** Takes the money for a page: the payer pressed Pay. */
export function markPaid({ faults, now, checkouts }: SandboxContext, checkout: Checkout): void {
  checkout.status = 'paid';
  checkout.paidAmount = faults.paidAmount ?? checkout.amount;
  checkout.paidCurrency = faults.paidCurrency ?? checkout.currency;
  checkout.paidAtMs = now();
  checkouts.save();
}
