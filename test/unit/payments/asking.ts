import { randomBytes } from 'node:crypto';
import { sandboxKey, sandboxWebhookSecret } from '#sandbox/sandbox-keys.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '#sandbox/start-sandbox.ts';
import type {
  CheckoutRequest,
  PaymentProvider,
  ProviderCredentials,
  ProviderPayment,
  ProviderState,
} from '#src/payment-providers/provider.ts';

// What tests of the adapters ask of them, whichever provider is behind them.

export const sandboxCredentials = (country: string): ProviderCredentials => {
  const secretKey = sandboxKey('biz_test', country, randomBytes(16).toString('hex'));
  return { secretKey, webhookSecret: sandboxWebhookSecret(secretKey) };
};

/** Simulates both providers. Sends no webhooks unless an address is given. */
export const playBoth = (more: Partial<SandboxOptions> = {}): Promise<Sandbox> =>
  startSandbox({ production: false, now: () => Date.now(), webhookTarget: () => undefined, ...more });

/** A request for a page of an attempt of its own. */
export function orderOf(
  provider: Pick<PaymentProvider, 'referenceFor'>,
  price: Pick<CheckoutRequest, 'amountMinor' | 'currency'>,
  more: Partial<CheckoutRequest> = {},
): CheckoutRequest {
  const attemptId = `pay_${randomBytes(8).toString('hex')}`;
  const reference = provider.referenceFor(attemptId, 1);
  const words = { title: 'A vote', email: 'payer@mail.example', returnUrl: 'https://shop.example/back' };
  return { attemptId, reference, ...price, ...words, createdAtMs: Date.now(), ...more };
}

/** A page, and what the provider says of it. */
export async function openPage(provider: PaymentProvider, credentials: ProviderCredentials, request: CheckoutRequest) {
  const page = await provider.createCheckout(credentials, request);
  const handle = { reference: request.reference, page };
  return { request, page, handle, read: () => provider.readCheckout(credentials, handle) };
}

export function paymentOf(state: ProviderState): ProviderPayment {
  if (state.kind !== 'paid') throw new Error('not paid');
  return state.payment;
}

/** Asks for the whole of a payment back. */
export const refundOf = (
  { attemptId, reference, amountMinor, currency }: CheckoutRequest,
  { providerPaymentId }: ProviderPayment,
) => ({
  ...{ attemptId, reference, providerPaymentId, sinceMs: 0, amountMinor, currency },
  isStillOwed: async () => true,
});

/** What this project sends provider_a for a page. */
export const sessionOfA = (attemptId: string, unitAmount: number): Record<string, string> => ({
  mode: 'payment',
  'line_items[0][quantity]': '1',
  'line_items[0][price_data][currency]': 'usd',
  'line_items[0][price_data][unit_amount]': String(unitAmount),
  'line_items[0][price_data][product_data][name]': 'A vote',
  client_reference_id: attemptId,
  'metadata[paymentAttemptId]': attemptId,
  'payment_intent_data[metadata][paymentAttemptId]': attemptId,
  'adaptive_pricing[enabled]': 'false',
  submit_type: 'pay',
  expires_at: String(Math.floor(Date.now() / 1_000) + 3_600),
  success_url: 'https://shop.example/',
});
