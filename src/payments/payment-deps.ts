import type { Config } from '#src/config.ts';
import type { Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { RateLimiter } from '#src/http/rate-limit.ts';
import { refuse } from '#src/http/refusals.ts';
import type { PaymentProvider } from '#src/payment-providers/provider.ts';
import { PROVIDER_NAMES, type ProviderName, providerKind } from '#src/payment-providers/registered.ts';
import type { PaymentAttempt, PaymentPurpose } from './payment.ts';

export interface Fulfilled {
  readonly data: unknown;
  /** The confirmation code of a ballot. It is stored with the attempt, so that the payer can still vote if the answer is lost. */
  readonly confirmationCode?: string;
}

/** What a payment buys. Ballots, candidate registrations and credits implement it; `fulfilments.ts` collects them. */
interface Fulfilment {
  /** Status of the first answer; every later answer has status 200. */
  readonly firstStatus: 200 | 201;
  /** Gives what was paid for, in the transaction that stores `fulfilled`. @throws ApiError if a rule refuses, which refunds the payment */
  fulfil(tx: Transaction, attempt: PaymentAttempt, paidAtMs: number): Promise<Fulfilled>;
  /** Checks the rules of `fulfil`, and gives nothing. @throws ApiError as `fulfil` does */
  check(tx: Transaction, attempt: PaymentAttempt): Promise<void>;
  /** Takes back what was given, as far as possible, after a refund by the organizer or a reversal at the provider. */
  reverse(
    tx: Transaction,
    attempt: PaymentAttempt,
    confirmationCode: string | null,
    by: 'organizer' | 'provider',
  ): Promise<void>;
  /** Drops what was given but not used, such as an unconfirmed ballot, because its payment is being refunded. */
  drop(tx: Transaction, attempt: PaymentAttempt, confirmationCode: string | null): Promise<void>;
}

export type Fulfilments = Readonly<Record<PaymentPurpose, Fulfilment>>;

export interface PaymentDeps
  extends Pick<Deps, 'db' | 'clock' | 'ids' | 'log' | 'secrets' | 'payments' | 'leases' | 'config'> {
  readonly fulfilments: Fulfilments;
  /** Limits calls to providers, over all processes. Jobs pass none: the number of payments bounds their calls. */
  readonly rateLimiter?: RateLimiter;
}

/** A checkout requires the rate limiter, which limits the checkouts of a visitor. */
export interface CheckoutDeps extends PaymentDeps {
  readonly rateLimiter: RateLimiter;
}

/** The adapters of the real providers, and of the sandbox if one runs. */
export type PaymentProviders = ReturnType<typeof createPaymentProviders>;

type Adapters = ReadonlyMap<ProviderName, PaymentProvider>;

function connectAll(now: () => number, addressOf: (name: ProviderName) => string | undefined): Adapters {
  return new Map(PROVIDER_NAMES.map((name) => [name, providerKind(name).connect({ now, baseUrl: addressOf(name) })]));
}

/** @param sandboxUrl base URL of the sandbox, which imitates every provider; undefined without a sandbox */
export function createPaymentProviders(
  now: () => number,
  addresses: Config['providerUrls'],
  sandboxUrl: string | undefined,
) {
  const real = connectAll(now, (name) => addresses[name]);
  const played = sandboxUrl === undefined ? undefined : connectAll(now, () => sandboxUrl);
  return {
    /** @throws ApiError 403 `payment_unavailable` if the business is in the sandbox, and this process runs no sandbox */
    of({ provider, sandbox }: { readonly provider: ProviderName; readonly sandbox: boolean }): PaymentProvider {
      const adapter = (sandbox ? played : real)?.get(provider);
      if (adapter === undefined) throw refuse('sandbox_elsewhere');
      return adapter;
    },
    async close() {
      for (const adapter of [...real.values(), ...(played?.values() ?? [])]) await adapter.close();
    },
  };
}
