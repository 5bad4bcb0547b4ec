import { visitor } from '#test/harness/elections.ts';
import { decide, type PaidEvent, PRICE } from '#test/harness/payments.ts';
import type { Begun, Merchant } from './merchant.ts';

export interface Scene {
  readonly merchant: Merchant;
  readonly event: PaidEvent;
}

/** A habit of one payment: it is begun, and then something is done with it. */
const one =
  (then: (begun: Begun, scene: Scene) => Promise<unknown>) =>
  async (scene: Scene): Promise<Begun[]> => {
    const begun = await scene.merchant.begin(scene.event);
    await then(begun, scene);
    return [begun];
  };

/** The payer votes, and afterwards money goes back at the provider. */
const votesAndGoesBack = (kind: 'refund' | 'dispute', partsOf: (event: PaidEvent) => (number | undefined)[]) =>
  one(async (begun, { merchant, event }) => {
    await merchant.vote(begun);
    for (const part of partsOf(event)) await merchant.paid.sandbox.reverse(merchant.referenceOf(begun), kind, part);
  });

/** The payer's bank asks for a payment, and decides perhaps. */
const votesAndIsDisputed = (...steps: readonly ('open' | 'won' | 'lost')[]) =>
  one(async (begun, { merchant }) => {
    await merchant.vote(begun);
    for (const step of steps) await merchant.paid.sandbox.dispute(merchant.referenceOf(begun), step);
  });

/** What a merchant gives back of a payment. */
const PART = { provider_a: 120, provider_b: 20_000 };
const partOf = ({ provider }: PaidEvent): number => PART[provider];

/** What payers, merchants and providers do; each leaves every payment that it begins to the end of the year. */
export const HABITS = {
  votes: one((begun, { merchant }) => merchant.vote(begun)),
  declinedThenVotes: one(async (begun, { merchant }) => {
    merchant.paid.sandbox.faults.declineTimes = 1;
    await decide(begun.url, 'pay');
    await merchant.vote(begun);
  }),
  declinedAndLeaves: one(async (begun, { merchant }) => {
    merchant.paid.sandbox.faults.declineTimes = 1;
    await decide(begun.url, 'pay');
    await merchant.endPage(begun);
  }),
  fails: one(async (begun, { merchant }) => {
    await decide(begun.url, 'fail');
    await merchant.endPage(begun);
  }),
  goesBack: one(async (begun, { merchant }) => {
    await decide(begun.url, 'cancel');
    await merchant.endPage(begun);
  }),
  paysLate: one(async (begun, { merchant }) => {
    await merchant.endPage(begun);
    merchant.paid.sandbox.faults.payAfterExpiry = true;
    await decide(begun.url, 'pay');
    merchant.paid.sandbox.faults.payAfterExpiry = false;
  }),
  paysAndIsGone: one((begun, { merchant }) => merchant.pay(begun)),
  neverConfirms: one(async (begun, { merchant }) => {
    await merchant.pay(begun);
    await merchant.cast(begun);
  }),
  paysTwice: payTwice,
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
  merchantPaysBack: votesAndGoesBack('refund', () => [undefined]),
  bankTakesBack: votesAndGoesBack('dispute', () => [undefined]),
  merchantPaysPartBack: votesAndGoesBack('refund', (event) => [partOf(event)]),
  merchantPaysBackInParts: votesAndGoesBack('refund', (event) => [
    partOf(event),
    PRICE[event.provider].amountMinor - partOf(event),
  ]),
  partBackAndNeverConfirms: one(async (begun, { merchant, event }) => {
    await merchant.pay(begun);
    await merchant.cast(begun);
    await merchant.paid.sandbox.reverse(merchant.referenceOf(begun), 'refund', partOf(event));
  }),
  disputeIsOpen: votesAndIsDisputed('open'),
  disputeIsWon: votesAndIsDisputed('open', 'won'),
  disputeIsLost: votesAndIsDisputed('open', 'lost'),
  delayedArrives: one(async (begun, { merchant }) => {
    await payDelayed(merchant, begun, true);
    await merchant.vote(begun);
  }),
  delayedBounces: one(async (begun, { merchant }) => {
    await payDelayed(merchant, begun, false);
    await merchant.until(begun.attempt, (status) => status === 'failed' || status === 'cancelled');
  }),
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
  /** The key ends under a payer who has begun, and is replaced. */
  keyEnds: one(async (begun, { merchant, event }) => {
    Object.assign(merchant.paid.sandbox.faults, { refuseStatus: 401, refuseTimes: 1_000 });
    await merchant.cast(begun);
    Object.assign(merchant.paid.sandbox.faults, { refuseStatus: 0, refuseTimes: 0 });
    await merchant.isReady(event);
    await merchant.vote(begun);
  }),
  /** A bank takes a part, and the merchant gives a payment back by the service. */
  bankTakesPart: votesAndGoesBack('dispute', (event) => [partOf(event)]),
  organizerPaysBack: one(async (begun, { merchant, event }) => {
    await merchant.vote(begun);
    const path = `/voting-events/${event.id}/payments/${begun.attempt}/refund`;
    await merchant.paid.service.call('POST', path, undefined, { key: event.account.write });
  }),
  /** The provider asks to be asked less often. */
  providerIsBusy: one(async (begun, { merchant }) => {
    Object.assign(merchant.paid.sandbox.faults, { refuseStatus: 429, refuseTimes: 3 });
    await merchant.vote(begun);
  }),
  paysAnotherAmount: one(async (begun, { merchant }) => {
    merchant.paid.sandbox.faults.paidAmount = 100;
    await merchant.pay(begun);
  }),
} satisfies Record<string, (scene: Scene) => Promise<Begun[]>>;

export type Habit = keyof typeof HABITS;

/** A method that takes days, until the money arrives or bounces. */
async function payDelayed(merchant: Merchant, begun: Begun, arrives: boolean): Promise<void> {
  merchant.paid.sandbox.faults.delayed = true;
  await decide(begun.url, 'pay');
  merchant.paid.sandbox.faults.delayed = false;
  await merchant.paid.sandbox.finishDelayed(merchant.referenceOf(begun), arrives);
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
