import { visitor } from '#test/harness/elections.ts';
import { decide, type PaidEvent, PRICE } from '#test/harness/payments.ts';
import type { Begun, Merchant } from './merchant.ts';

/** What payers, merchants and providers do; each leaves every payment that it begins to the end of the year. */
export const HABITS = {
  async votes({ merchant, event }) {
    const begun = await merchant.begin(event);
    await merchant.vote(begun);
    return [begun];
  },
  async declinedThenVotes({ merchant, event }) {
    const begun = await merchant.begin(event);
    merchant.paid.sandbox.faults.declineTimes = 1;
    await decide(begun.url, 'pay');
    await merchant.vote(begun);
    return [begun];
  },
  async declinedAndLeaves({ merchant, event }) {
    const begun = await merchant.begin(event);
    merchant.paid.sandbox.faults.declineTimes = 1;
    await decide(begun.url, 'pay');
    await merchant.endPage(begun);
    return [begun];
  },
  async fails({ merchant, event }) {
    const begun = await merchant.begin(event);
    await decide(begun.url, 'fail');
    await merchant.endPage(begun);
    return [begun];
  },
  async goesBack({ merchant, event }) {
    const begun = await merchant.begin(event);
    await decide(begun.url, 'cancel');
    await merchant.endPage(begun);
    return [begun];
  },
  async paysLate({ merchant, event }) {
    const begun = await merchant.begin(event);
    await merchant.endPage(begun);
    merchant.paid.sandbox.faults.payAfterExpiry = true;
    await decide(begun.url, 'pay');
    merchant.paid.sandbox.faults.payAfterExpiry = false;
    return [begun];
  },
  async paysAndIsGone({ merchant, event }) {
    const begun = await merchant.begin(event);
    await merchant.pay(begun);
    return [begun];
  },
  async neverConfirms({ merchant, event }) {
    const begun = await merchant.begin(event);
    await merchant.pay(begun);
    await merchant.cast(begun);
    return [begun];
  },
  paysTwice: (scene) => payTwice(scene),
  async refundTakesDays(scene) {
    scene.merchant.paid.sandbox.faults.newRefunds = 'pending';
    const begun = await payTwice(scene);
    await whenRefunded(scene, begun, 'succeeded');
    return begun;
  },
  async refundFailsLater(scene) {
    const begun = await payTwice(scene);
    await whenRefunded(scene, begun, 'failed');
    return begun;
  },
  async refundNeedsMerchant(scene) {
    scene.merchant.paid.sandbox.faults.newRefunds = 'attention';
    const begun = await payTwice(scene);
    await scene.merchant.quiet();
    return begun;
  },
  async refundIsRefused(scene) {
    scene.merchant.paid.sandbox.faults.refuseRefunds = true;
    const begun = await payTwice(scene);
    await scene.merchant.settleRefunds(31);
    return begun;
  },
  async merchantPaysBack({ merchant, event }) {
    const begun = await merchant.begin(event);
    await merchant.vote(begun);
    await merchant.paid.sandbox.reverse(merchant.referenceOf(begun), 'refund');
    return [begun];
  },
  async bankTakesBack({ merchant, event }) {
    const begun = await merchant.begin(event);
    await merchant.vote(begun);
    await merchant.paid.sandbox.reverse(merchant.referenceOf(begun), 'dispute');
    return [begun];
  },
  async merchantPaysPartBack({ merchant, event }) {
    const begun = await merchant.begin(event);
    await merchant.vote(begun);
    await merchant.paid.sandbox.reverse(merchant.referenceOf(begun), 'refund', PART[event.provider]);
    return [begun];
  },
  async merchantPaysBackInParts({ merchant, event }) {
    const begun = await merchant.begin(event);
    await merchant.vote(begun);
    for (const part of [PART[event.provider], PRICE[event.provider].amountMinor - PART[event.provider]])
      await merchant.paid.sandbox.reverse(merchant.referenceOf(begun), 'refund', part);
    return [begun];
  },
  async partBackAndNeverConfirms({ merchant, event }) {
    const begun = await merchant.begin(event);
    await merchant.pay(begun);
    await merchant.cast(begun);
    await merchant.paid.sandbox.reverse(merchant.referenceOf(begun), 'refund', PART[event.provider]);
    return [begun];
  },
  disputeIsOpen: (scene) => dispute(scene, []),
  disputeIsWon: (scene) => dispute(scene, ['won']),
  disputeIsLost: (scene) => dispute(scene, ['lost']),
  async delayedArrives({ merchant, event }) {
    const begun = await payDelayed({ merchant, event });
    await merchant.paid.sandbox.finishDelayed(merchant.referenceOf(begun), true);
    await merchant.vote(begun);
    return [begun];
  },
  async delayedBounces({ merchant, event }) {
    const begun = await payDelayed({ merchant, event });
    await merchant.paid.sandbox.finishDelayed(merchant.referenceOf(begun), false);
    await merchant.until(begun.attempt, (status) => status === 'failed' || status === 'cancelled');
    return [begun];
  },
  async payerBearsFees(scene) {
    scene.merchant.paid.sandbox.faults.payerBearsFees = scene.event.provider === 'provider_b';
    return payTwice(scene);
  },
  /** The account loses the right to charge between two payers; the second one begins again when it has it back. */
  async accountIsRestricted({ merchant, event }) {
    const { sandbox } = merchant.paid;
    const before = await merchant.begin(event);
    sandbox.setAccountReady(event.secretKey, false);
    await merchant.isRefused(event);
    sandbox.setAccountReady(event.secretKey, true);
    await merchant.isReady(event);
    const after = await merchant.begin(event);
    for (const begun of [before, after]) await merchant.vote(begun);
    return [before, after];
  },
  /** The provider asks to be asked less often. */
  async providerIsBusy({ merchant, event }) {
    const begun = await merchant.begin(event);
    Object.assign(merchant.paid.sandbox.faults, { refuseStatus: 429, refuseTimes: 3 });
    await merchant.vote(begun);
    return [begun];
  },
  async paysAnotherAmount({ merchant, event }) {
    const begun = await merchant.begin(event);
    merchant.paid.sandbox.faults.paidAmount = 100;
    await merchant.pay(begun);
    return [begun];
  },
} satisfies Record<string, (scene: Scene) => Promise<Begun[]>>;

export type Habit = keyof typeof HABITS;

export interface Scene {
  readonly merchant: Merchant;
  readonly event: PaidEvent;
}

/** What a merchant gives back of a payment. */
const PART = { provider_a: 120, provider_b: 20_000 };

/** The payer's bank asks for a payment, and decides perhaps. */
async function dispute({ merchant, event }: Scene, ends: readonly ('won' | 'lost')[]): Promise<Begun[]> {
  const begun = await merchant.begin(event);
  await merchant.vote(begun);
  for (const status of ['open', ...ends] as const)
    await merchant.paid.sandbox.dispute(merchant.referenceOf(begun), status);
  return [begun];
}

/** A method that takes days. */
async function payDelayed({ merchant, event }: Scene): Promise<Begun> {
  const begun = await merchant.begin(event);
  merchant.paid.sandbox.faults.delayed = true;
  await decide(begun.url, 'pay');
  merchant.paid.sandbox.faults.delayed = false;
  return begun;
}

/** Two pages of one visitor, both paid: one buys a vote, the other is given back. */
async function payTwice({ merchant, event }: Scene): Promise<Begun[]> {
  const visitorId = visitor();
  const begun = [await merchant.begin(event, visitorId), await merchant.begin(event, visitorId)];
  for (const one of begun) await merchant.pay(one);
  for (const one of begun) {
    const confirmationCode = await merchant.cast(one);
    if (confirmationCode !== undefined) await merchant.post(event, 'confirm', { confirmationCode });
  }
  return begun;
}

/** The provider's refund of the second of two payments goes on. */
async function whenRefunded({ merchant }: Scene, begun: Begun[], status: 'succeeded' | 'failed'): Promise<void> {
  await merchant.quiet();
  const [, second] = begun;
  if (second !== undefined) await merchant.paid.sandbox.moveRefund(merchant.referenceOf(second), status);
}
