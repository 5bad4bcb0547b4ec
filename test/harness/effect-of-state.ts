import { type ProviderState, paymentMismatch } from '#src/payment-providers/provider.ts';

/** An attempt for what a state says that was paid: what the state then does to it. */
export function effectOf(state: ProviderState, livemode: boolean): string {
  if (state.kind === 'unpaid') return state.refused ? 'stays pending, declined' : 'stays pending';
  if (state.kind === 'processing') return 'stays pending for days';
  if (state.kind !== 'paid' && state.kind !== 'reversed') return state.kind;
  const { reference, amountMinor, currency } = state.payment;
  const expected = { attemptId: 'pay_x', references: reference === null ? [] : [reference], currency, livemode };
  const mismatch = paymentMismatch(state.payment, { ...expected, amountMinor: amountMinor ?? 0 });
  if (mismatch !== null) return `is not paid: ${mismatch}`;
  return state.kind === 'paid' ? 'succeeds' : 'is reversed';
}
