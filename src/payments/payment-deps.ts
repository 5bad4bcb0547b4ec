import type { Database, Transaction } from '#src/database/client.ts';
import type { RateLimiter } from '#src/http/rate-limit.ts';
import { refuse } from '#src/http/refusals.ts';
import type { LeasesByKind } from '#src/http/request-life.ts';
import type { PaymentProvider } from '#src/payment-providers/provider.ts';
import { PROVIDER_NAMES, type ProviderName, providerKind } from '#src/payment-providers/registered.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Ids } from '#src/platform/ids.ts';
import type { Log } from '#src/platform/log.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { PaymentAttempt, PaymentPurpose } from './payment.ts';

export interface Fulfilled {
  readonly data: unknown;
  /** The code of a ballot, kept on the attempt so that a lost answer costs no vote. */
  readonly confirmationCode?: string;
}

/**
 * What a payment is for. `payments` declares it; the ballot, the candidate registration and the credits each bring
 * theirs, and are put together where the service is.
 */
interface Fulfilment {
  /** Status of the first answer; every later one is 200. */
  readonly firstStatus: 200 | 201;
  /**
   * Gives what was paid for, in the transaction that marks the attempt fulfilled.
   * @throws ApiError when it cannot be given any more (closed, already voted, refused by a rule): the money then goes back
   */
  fulfil(tx: Transaction, attempt: PaymentAttempt, paidAtMs: number): Promise<Fulfilled>;
  /** Judges by the rules of `fulfil`, and gives nothing. @throws ApiError as `fulfil` does */
  check(tx: Transaction, attempt: PaymentAttempt): Promise<void>;
  /** Takes back what was given, as far as that can be: the money went back, by the organizer's wish or at the provider. */
  reverse(
    tx: Transaction,
    attempt: PaymentAttempt,
    confirmationCode: string | null,
    by: 'organizer' | 'provider',
  ): Promise<void>;
  /** Drops what was given and waits to be used: a ballot that is not confirmed. Its money is to go back. */
  drop(tx: Transaction, attempt: PaymentAttempt, confirmationCode: string | null): Promise<void>;
}

export type Fulfilments = Readonly<Record<PaymentPurpose, Fulfilment>>;

export interface PaymentDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly payments: PaymentProviders;
  readonly fulfilments: Fulfilments;
  readonly leases: Pick<LeasesByKind, 'payments'>;
  readonly config: { readonly baseUrl: string };
  /** Shared by the processes. Jobs have none: what they ask is bounded by what happened. */
  readonly rateLimiter?: RateLimiter;
}

/** What a checkout needs besides: it is limited for each visitor. */
export interface CheckoutDeps extends PaymentDeps {
  readonly rateLimiter: RateLimiter;
}

/** Where the providers answer. The real ones unless set otherwise. */
type ProviderAddresses = Readonly<Partial<Record<ProviderName, string | undefined>>>;

/** The adapters: those of the real providers, and those of the sandbox where one runs. */
export interface PaymentProviders {
  /** @throws ApiError 403 `payment_unavailable` for a business of the sandbox in a process that knows of none */
  of(business: { readonly provider: ProviderName; readonly sandbox: boolean }): PaymentProvider;
  /** The price rules of a provider, which do not depend on where it answers. */
  rules(name: ProviderName): PaymentProvider['money'];
  close(): Promise<void>;
}

type Adapters = ReadonlyMap<ProviderName, PaymentProvider>;

function connectAll(now: () => number, addressOf: (name: ProviderName) => string | undefined): Adapters {
  return new Map(PROVIDER_NAMES.map((name) => [name, providerKind(name).connect({ now, baseUrl: addressOf(name) })]));
}

/** @param sandboxUrl where the sandbox plays every provider; undefined where none runs */
export function createPaymentProviders(
  now: () => number,
  addresses: ProviderAddresses,
  sandboxUrl: string | undefined,
): PaymentProviders {
  const real = connectAll(now, (name) => addresses[name]);
  const played = sandboxUrl === undefined ? undefined : connectAll(now, () => sandboxUrl);
  return {
    of({ provider, sandbox }) {
      const adapter = (sandbox ? played : real)?.get(provider);
      if (adapter === undefined) throw refuse('sandbox_elsewhere');
      return adapter;
    },
    rules: (name) => providerKind(name).money,
    async close() {
      for (const adapter of [...real.values(), ...(played?.values() ?? [])]) await adapter.close();
    },
  };
}
