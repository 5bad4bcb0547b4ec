import { refuse } from '#src/http/refusals.ts';
import type { PaymentProvider, ProviderName } from './providers/provider.ts';
import { createProviderA } from './providers/provider-a.ts';
import { createProviderB } from './providers/provider-b.ts';

/** Where the providers answer. The real ones unless set otherwise. */
export interface ProviderAddresses {
  readonly providerA?: string | undefined;
  readonly providerB?: string | undefined;
}

/** The adapters: those of the real providers, and those of the sandbox where one runs. */
export interface PaymentProviders {
  /** @throws ApiError 403 `payment_unavailable` for a business of the sandbox in a process that knows of none */
  of(business: { readonly provider: ProviderName; readonly sandbox: boolean }): PaymentProvider;
  /** The price rules of a provider, which do not depend on where it answers. */
  rules(name: ProviderName): PaymentProvider['money'];
  close(): Promise<void>;
}

type Pair = Readonly<Record<ProviderName, PaymentProvider>>;

function createPair(now: () => number, addresses: ProviderAddresses): Pair {
  return {
    provider_a: createProviderA({ now, baseUrl: addresses.providerA }),
    provider_b: createProviderB({ now, baseUrl: addresses.providerB }),
  };
}

export function createPaymentProviders(
  now: () => number,
  addresses: ProviderAddresses,
  sandbox: ProviderAddresses | undefined,
): PaymentProviders {
  const real = createPair(now, addresses);
  const played = sandbox === undefined ? undefined : createPair(now, sandbox);
  return {
    of(business) {
      if (!business.sandbox) return real[business.provider];
      if (played === undefined) throw refuse('sandbox_elsewhere');
      return played[business.provider];
    },
    rules: (name) => real[name].money,
    async close() {
      for (const pair of [real, played]) {
        for (const provider of Object.values(pair ?? {})) await provider.close();
      }
    },
  };
}
