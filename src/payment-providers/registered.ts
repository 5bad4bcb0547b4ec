import type { PayerNeed, ProviderKind } from './provider.ts';
import { PROVIDERS } from './registration.ts';

export type ProviderName = keyof typeof PROVIDERS;

/** The names of the providers, in the order of the API document. */
export const PROVIDER_NAMES = Object.keys(PROVIDERS) as [ProviderName, ...ProviderName[]];

export const isProviderName = (text: string): text is ProviderName => Object.hasOwn(PROVIDERS, text);

export const providerKind = (name: ProviderName): ProviderKind => PROVIDERS[name];

/** The providers that need a field from the payer, as text for descriptions, such as `provider_a`. */
export const providersThatNeed = (need: PayerNeed): string =>
  PROVIDER_NAMES.filter((name) => providerKind(name).needs.includes(need))
    .map((name) => `\`${name}\``)
    .join(' or ');
