import type { Habit } from '#test/money/habits.ts';
import type { Mutant } from './copy-project.ts';

/** A build that is broken for habits of a merchant's year: each of them turns red on it. */
type Slip = readonly [habits: readonly Habit[], name: string, find: string, replace: string];

const SLIPS: Readonly<Record<string, readonly Slip[]>> = {
  'reconcile-payments.ts': [
    [
      ['paysAndIsGone'],
      'what is paid and not asked for is looked at for ever',
      'if (waits) await inTransaction',
      'if (false) await inTransaction',
    ],
  ],
  'give-paid.ts': [
    [
      ['paysTwice', 'refundTakesDays'],
      'what cannot be given is cancelled, and not paid back',
      "  await giveBack(tx, moved, moved.providerPaymentId, moved.providerReference ?? '');\n",
      '',
    ],
  ],
  'settle-payment.ts': [
    [
      ['paysLate'],
      'money for a page that was over is kept',
      "  await giveBack(tx, attempt, providerPaymentId, payment.reference ?? '');\n",
      '',
    ],
    [
      ['paysAnotherAmount'],
      'any amount buys',
      '  if (mismatch !== null) return alarm(tx, deps, attempt, payment, mismatch);\n',
      '',
    ],
    [
      ['merchantPaysBack', 'bankTakesBack', 'merchantPaysBackInParts', 'disputeIsLost'],
      'what went back at the provider still counts',
      '    if (attempt.reversedAt !== null) return;\n',
      '    if (attempt.reversedAt !== null || attempt.refundedAt === null) return;\n',
    ],
    [
      ['delayedBounces', 'goesBack'],
      'a page that ends without money stays open',
      '  if (!isOpen(attempt.status)) return;\n  await moveAndRecord',
      '  if (isOpen(attempt.status)) return;\n  await moveAndRecord',
    ],
    [
      ['fails', 'declinedAndLeaves'],
      'a refused card leaves the payment open',
      "  return refused ? end(tx, deps, attempt, 'failed', 'refused') :",
      '  return refused ? Promise.resolve() :',
    ],
  ],
  'refund-payment.ts': [
    [
      ['refundIsRefused'],
      'a refund that is refused for 30 days is nobody’s',
      "const givenUp = result.kind !== 'refunded' && ageMs >= GIVE_UP_MS;",
      'const givenUp = false;',
    ],
    [
      ['refundTakesDays', 'refundNeedsMerchant'],
      'a refund that was asked for counts as back',
      "if (result.kind === 'refunded') return markRefunded",
      "if (result.kind !== 'refused') return markRefunded",
    ],
    [
      ['organizerPaysBack'],
      'what is paid back by the organizer still counts',
      "if (attempt.status === 'fulfilled' && attempt.reversedAt === null) await takeBack",
      "if (attempt.status === 'succeeded' && attempt.reversedAt === null) await takeBack",
    ],
  ],
  'check-refunds.ts': [
    [
      ['refundFailsLater'],
      'a refund that fails after it had succeeded goes unnoticed',
      "} else if (found.kind === 'refused' && status === 'refunded') {",
      '} else if (attempt === undefined) {',
    ],
    [
      ['merchantPaysPartBack', 'partBackAndNeverConfirms'],
      'parts that went back are not seen',
      '    await noteOnAttempt(tx, attempt, changes);\n',
      '',
    ],
    [
      ['payerBearsFees'],
      'a price that went back without the payer’s fees stays',
      "else if (whole.kind === 'refunded') await settlePayment(deps, attempt, priceIsBack(attempt, payment, business));",
      '',
    ],
  ],
  'list-owed.ts': [
    [['isSettledByHand'], 'what a person settled stays on the list', '        isNull(paymentRefunds.settledAt),\n', ''],
    [
      ['refundNeedsMerchant'],
      'what waits for the merchant is on no list',
      "['failed', 'refused', 'attention']",
      "['failed', 'refused']",
    ],
  ],
  'check-business.ts': [
    [
      ['accountIsRestricted', 'keyEnds'],
      'a business that was refused stays unready',
      'before.ready === ready) return',
      'ready) return',
    ],
  ],
  'start-checkout.ts': [
    [
      ['asksTwiceWithOneKey'],
      'a repeated call makes a second payment',
      'const known = await findAttemptByRequest(deps.db, order.event.id, claim.requestKeys);',
      'const known = await findAttemptByRequest(deps.db, order.event.id, []);',
    ],
    [
      ['rehearses'],
      'a rehearsal takes money',
      'const rehearsal = event.rehearsalSince !== null;',
      'const rehearsal = event.id === "";',
    ],
  ],
  'manage-payment.ts': [
    [
      ['organizerPaysBack'],
      'the organizer’s refund is noted alone',
      "  await giveBack(tx, attempt, providerPaymentId, attempt.providerReference ?? '');\n",
      '',
    ],
    [
      ['isSettledByHand'],
      'a settled case is open',
      "for (const row of owed) await moveRefund(tx, row, 'failed', { settledAt: nowMs }, NOT_BACK);",
      '',
    ],
  ],
  'sweep-payments.ts': [
    [
      ['buys'],
      'an odd row of another shop ends the comparison',
      "    if (!('names' in row)) {",
      "    if ('names' in row) throw new Error('odd');\n    if (!('names' in row)) {",
    ],
  ],
  '../voting-events/delete-event.ts': [
    [
      ['eventIsDeleted'],
      'a deleted event keeps the money',
      '(keepsPayments ? payWaitingBallotsBack : payEverythingBack)',
      'payWaitingBallotsBack',
    ],
    [
      ['eventIsDeletedAndMoneyKept'],
      'a deleted event pays everything back',
      'keepsPayments ? payWaitingBallotsBack : payEverythingBack',
      'payEverythingBack',
    ],
  ],
  '../payment-providers/provider-a.ts': [
    [
      ['disputeIsOpen', 'disputeIsWon'],
      'a dispute takes the money when it begins',
      ".filter(({ status }) => status === 'lost')",
      ".filter(({ status }) => status !== '')",
    ],
  ],
};

export const MONEY: readonly Mutant[] = Object.entries(SLIPS).flatMap(([file, slips]) =>
  slips.flatMap(([habits, name, find, replace]) =>
    habits.map((habit) => ({ name: `${habit}: ${name}`, file: `src/payments/${file}`, find, replace, habit })),
  ),
);
