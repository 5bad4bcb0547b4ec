import type { ProviderKind } from './provider.ts';
import { PROVIDER_A } from './provider-a.ts';
import { PROVIDER_B } from './provider-b.ts';

/** Every payment provider by its name in the API. A new provider needs its file and a line here. */
export const PROVIDERS = {
  provider_a: PROVIDER_A,
  provider_b: PROVIDER_B,
} satisfies Readonly<Record<string, ProviderKind>>;
