import { refuse } from '#src/http/refusals.ts';
import type { PaymentProvider } from '#src/payment-providers/provider.ts';
import { PROVIDER_NAMES, type ProviderName, providerKind } from '#src/payment-providers/registered.ts';

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
