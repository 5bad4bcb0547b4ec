import { visitor } from '#test/harness/elections.ts';
import { decide, type TestProvider } from '#test/harness/payments.ts';
import type { Shop } from './buyers.ts';
import type { Begun, Merchant } from './merchant.ts';

export interface Scene {
  readonly merchant: Merchant;
  readonly event: Shop;
}

/** A habit of one payment: it is begun, and then something is done with it. */
const one =
  (then: (begun: Begun, scene: Scene) => Promise<unknown>) =>
  async (scene: Scene): Promise<Begun[]> => {
    const begun = await scene.merchant.begin(scene.event);
    await then(begun, scene);
    return [begun];
  };

/** The same in an event of its own. */
const inOwnEvent =
  (then: (begun: Begun, scene: Scene) => Promise<unknown>) =>
  async ({ merchant, event }: Scene): Promise<Begun[]> =>
    one(then)({ merchant, event: await merchant.open(event) });

/** The payer buys, and afterwards money goes back at the provider. */
const buysAndGoesBack = (kind: 'refund' | 'dispute', partsOf: (begun: Begun) => (number | undefined)[]) =>
  one(async (begun, { merchant }) => {
    await merchant.buy(begun);
    for (const part of partsOf(begun)) await merchant.paid.sandbox.reverse(merchant.referenceOf(begun), kind, part);
  });

/** The payer's bank asks for a payment, and decides perhaps. */
const buysAndIsDisputed = (...steps: readonly ('open' | 'won' | 'lost')[]) =>
  one(async (begun, { merchant }) => {
    await merchant.buy(begun);
    for (const step of steps) await merchant.paid.sandbox.dispute(merchant.referenceOf(begun), step);
  });

/** What a merchant gives back of a payment. */
const PART: Readonly<Record<TestProvider, number>> = { provider_a: 120, provider_b: 5_000 };
const partOf = ({ event }: Begun): number => PART[event.provider];

/** What payers, merchants and providers do; each leaves every payment that it begins to the end of the year. */
export const HABITS = {
  buys: one((begun, { merchant }) => merchant.buy(begun)),
  declinedThenBuys: one(async (begun, { merchant }) => {
    merchant.paid.sandbox.faults.declineTimes = 1;
    await decide(begun.url, 'pay');
    await merchant.buy(begun);
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
    await merchant.collect(begun);
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
  refundIsRefused: payTwiceAndRefuse,
  merchantPaysBack: buysAndGoesBack('refund', () => [undefined]),
  bankTakesBack: buysAndGoesBack('dispute', () => [undefined]),
  merchantPaysPartBack: buysAndGoesBack('refund', (begun) => [partOf(begun)]),
  merchantPaysBackInParts: buysAndGoesBack('refund', (begun) => [partOf(begun), begun.amountMinor - partOf(begun)]),
  partBackAndNeverConfirms: one(async (begun, { merchant }) => {
    await merchant.pay(begun);
    await merchant.collect(begun);
    await merchant.paid.sandbox.reverse(merchant.referenceOf(begun), 'refund', partOf(begun));
  }),
  disputeIsOpen: buysAndIsDisputed('open'),
  disputeIsWon: buysAndIsDisputed('open', 'won'),
  disputeIsLost: buysAndIsDisputed('open', 'lost'),
  delayedArrives: one(async (begun, { merchant }) => {
    await payDelayed(merchant, begun, true);
    await merchant.buy(begun);
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
    for (const begun of [before, after]) await merchant.buy(begun);
    return [before, after];
  },
  /** The key ends under a payer who has begun, and is replaced. */
  keyEnds: one(async (begun, { merchant, event }) => {
    Object.assign(merchant.paid.sandbox.faults, { refuseStatus: 401, refuseTimes: 1_000 });
    await merchant.collect(begun);
    Object.assign(merchant.paid.sandbox.faults, { refuseStatus: 0, refuseTimes: 0 });
    await merchant.isReady(event);
    await merchant.buy(begun);
  }),
  /** A bank takes a part, and the merchant gives a payment back by the service. */
  bankTakesPart: buysAndGoesBack('dispute', (begun) => [partOf(begun)]),
  organizerPaysBack: one(async (begun, { merchant, event }) => {
    await merchant.buy(begun);
    await event.account.post(`/voting-events/${event.id}/payments/${begun.attempt}/refund`);
  }),
  /** The provider asks to be asked less often. */
  providerIsBusy: one(async (begun, { merchant }) => {
    Object.assign(merchant.paid.sandbox.faults, { refuseStatus: 429, refuseTimes: 3 });
    await merchant.buy(begun);
  }),
  paysAnotherAmount: one(async (begun, { merchant }) => {
    merchant.paid.sandbox.faults.paidAmount = 100;
    await merchant.pay(begun);
  }),
  paysAnotherAmountAndHasItBack: one(async (begun, { merchant }) => {
    merchant.paid.sandbox.faults.paidAmount = 100;
    await merchant.pay(begun);
    await merchant.paid.sandbox.reverse(merchant.referenceOf(begun), 'refund');
  }),
  /** Within ten minutes, after some hours, after some days: whatever came about meanwhile. */
  comesBackAfterAQuarter: one((begun, { merchant }) => comesBackAfter(merchant, begun, HOUR_MS / 4)),
  comesBackAfterADay: one((begun, { merchant }) => comesBackAfter(merchant, begun, 24 * HOUR_MS)),
  comesBackAfterFourDays: one((begun, { merchant }) => comesBackAfter(merchant, begun, 96 * HOUR_MS)),
  async asksTwiceWithOneKey({ merchant, event }) {
    const headers = { 'Idempotency-Key': visitor() };
    const more = event.purpose === 'candidate_registration' ? { name: visitor() } : { visitorId: visitor() };
    const first = merchant.begunBy(event, await merchant.firstCall(event, more, headers));
    const again = merchant.begunBy(event, await merchant.firstCall(event, more, headers));
    if (first.attempt !== again.attempt) throw new Error('one call made two payments');
    await merchant.buy(first);
    return [first];
  },
  /** An event of its own is over before its payer comes back. */
  eventIsOver: inOwnEvent(async (begun, { merchant, event }) => {
    await merchant.pay(begun);
    await event.change({ status: 'closed' });
    await merchant.finish(begun);
  }),
  /** Its organizer deletes the event: what was paid goes back. */
  eventIsDeleted: inOwnEvent((begun, scene) => deleteEvent(begun, scene, '?force=true')),
  eventIsDeletedAndMoneyKept: inOwnEvent((begun, scene) => deleteEvent(begun, scene, '?force=true&payments=keep')),
  /** In a rehearsal the service's own page is paid: no provider hears of it, and nothing of it is left. */
  async rehearses({ merchant, event }) {
    const own = await merchant.open(event, false);
    await own.change({ status: 'rehearsal' });
    const begun = await merchant.begin(own);
    await decide(begun.url.replace(/^https?:\/\/[^/]+/, `http://127.0.0.1:${merchant.paid.service.port}`), 'pay');
    await merchant.finish(begun);
    await own.change({ status: 'open' });
    return [];
  },
  /** A person closes a case that the provider refuses: the note says how. */
  async isSettledByHand(scene) {
    const [first, second] = await payTwiceAndRefuse(scene);
    if (first === undefined || second === undefined) throw new Error('two payments');
    const path = `/voting-events/${scene.event.id}/payments/${second.attempt}/settle`;
    await scene.event.account.post(path, { note: 'Paid back by bank transfer.' });
    scene.merchant.settled.add(second.attempt);
    return [first, second];
  },
} satisfies Record<string, (scene: Scene) => Promise<Begun[]>>;

export type Habit = keyof typeof HABITS;

const HOUR_MS = 3_600_000;

async function comesBackAfter(merchant: Merchant, begun: Begun, ms: number): Promise<void> {
  await merchant.pay(begun);
  await merchant.age(begun, ms);
  await merchant.finish(begun);
}

async function deleteEvent(begun: Begun, { merchant, event }: Scene, query: string): Promise<void> {
  await merchant.buy(begun);
  await event.account.delete(`/voting-events/${event.id}${query}`);
  merchant.deleted.add(event.id);
}

async function payTwiceAndRefuse(scene: Scene): Promise<Begun[]> {
  scene.merchant.paid.sandbox.faults.refuseRefunds = true;
  const begun = await payTwice(scene);
  await scene.merchant.settleRefunds(31);
  return begun;
}

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
  const begun = [await merchant.begin(event, { visitorId }), await merchant.begin(event, { visitorId })];
  for (const one of begun) await merchant.pay(one);
  for (const one of begun) await merchant.finish(one);
  return begun;
}

/** The provider's refund of the second of two payments goes on. */
async function whenRefunded({ merchant }: Scene, begun: Begun[], status: 'succeeded' | 'failed'): Promise<void> {
  await merchant.quiet();
  const [, second] = begun;
  if (second !== undefined) await merchant.paid.sandbox.moveRefund(merchant.referenceOf(second), status);
}

/** What only a vote knows: a visitor who may have one, and a ballot that is not confirmed. */
export const OF_VOTES: ReadonlySet<Habit> = new Set<Habit>([
  ...(['neverConfirms', 'partBackAndNeverConfirms', 'paysTwice', 'refundTakesDays', 'refundFailsLater'] as const),
  ...(['refundNeedsMerchant', 'refundIsRefused', 'payerBearsFees', 'isSettledByHand'] as const),
]);

/** After these the payer has what was bought, and the merchant the money. */
export const KEEPS: ReadonlySet<Habit> = new Set<Habit>([
  ...(['buys', 'declinedThenBuys', 'merchantPaysPartBack', 'bankTakesPart', 'disputeIsOpen', 'disputeIsWon'] as const),
  ...(['delayedArrives', 'accountIsRestricted', 'keyEnds', 'providerIsBusy', 'comesBackAfterAQuarter'] as const),
  ...(['comesBackAfterADay', 'asksTwiceWithOneKey', 'eventIsDeletedAndMoneyKept'] as const),
]);
