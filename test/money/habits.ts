import { visitor } from '#test/harness/elections.ts';
import { decide, type PaidEvent } from '#test/harness/payments.ts';
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
