import { setTimeout as delay } from 'node:timers/promises';
import { NO_FAULTS } from '#sandbox/faults.ts';
import { paymentDeps } from '#src/fulfilments.ts';
import { checkUnreadyBusinesses } from '#src/payments/check-business.ts';
import { reconcilePayments } from '#src/payments/reconcile-payments.ts';
import { sweepRefunds } from '#src/payments/refund-payment.ts';
import { sweepPayments } from '#src/payments/sweep-payments.ts';
import { demand } from '#test/harness/elections.ts';
import { checkoutUrlOf, decide, type PaidTestService, RETURN_URL, referenceOf } from '#test/harness/payments.ts';
import { eventually, type TestAnswer } from '#test/harness/test-service.ts';
import { BUYERS, openShop, type Shop } from './buyers.ts';

export interface Begun {
  readonly event: Shop;
  readonly attempt: string;
  readonly url: string;
  /** What is asked for. */
  readonly amountMinor: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** One merchant, its payers and its provider's habits, through the public calls alone; time passes by making rows older. */
export class Merchant {
  readonly paid: PaidTestService;
  /** Shops that a habit opened for itself, and those of them that were deleted: nothing of what they gave is left. */
  readonly own: Shop[] = [];
  readonly deleted = new Set<string>();
  /** Payments whose case a person closed with a note. */
  readonly settled = new Set<string>();
  /** Payments that must be kept: their payers have what they bought. */
  readonly kept = new Set<string>();

  constructor(paid: PaidTestService) {
    this.paid = paid;
  }

  query(statement: string, values: readonly unknown[] = []) {
    return this.paid.service.deps.db.$client.query(statement, [...values]);
  }

  /** A shop for one habit. */
  async open({ purpose, provider }: Shop, open = true): Promise<Shop> {
    const shop = await openShop(this.paid, purpose, provider, {}, open);
    this.own.push(shop);
    return shop;
  }

  firstCall(event: Shop, more: object = {}, headers = {}): Promise<TestAnswer> {
    const { path, body } = BUYERS[event.purpose];
    const whole = { email: 'payer@mail.example', returnUrl: RETURN_URL, ...body(event), ...more };
    return event.account.page(event, path, whole, headers);
  }

  begunBy(event: Shop, answer: TestAnswer): Begun {
    // Both currencies have a hundred to the unit.
    const { paymentAttemptId, amount } = demand(answer, 402);
    return { event, attempt: paymentAttemptId, url: checkoutUrlOf(answer), amountMinor: Math.round(amount * 100) };
  }

  async begin(event: Shop, more: object = {}): Promise<Begun> {
    return this.begunBy(event, await this.firstCall(event, more));
  }

  async pay({ url, attempt }: Begun): Promise<void> {
    await decide(url, 'pay');
    // The payer comes back and asks for the ballot, whether the provider's message came or was lost.
    await this.until(attempt, (status) => status !== 'created' && status !== 'pending');
  }

  /** Looks at a payment, as a second call and the jobs do, until its status is right. */
  async until(attempt: string, holds: (status: string) => boolean): Promise<void> {
    await eventually(async () => {
      const { rows } = await this.query('SELECT status, voting_event_id AS event FROM payment_attempts WHERE id = $1', [
        attempt,
      ]);
      if (holds(rows[0].status)) return true;
      await this.look([attempt]);
      await delay(100);
      return undefined;
    });
  }

  /** A payer is refused while the provider restricts the account. */
  async isRefused(event: Shop): Promise<void> {
    demand(await this.firstCall(event), 403);
  }

  /** The business takes payments again: the provider said so, or was asked. */
  async isReady({ businessId }: Shop): Promise<void> {
    await eventually(async () => {
      await checkUnreadyBusinesses(paymentDeps(this.paid.service.deps));
      const { rows } = await this.query('SELECT ready FROM payment_businesses WHERE id = $1', [businessId]);
      return rows[0].ready === true ? true : undefined;
    });
  }

  /** The second call. @returns the code that confirms the ballot, of a vote that is taken */
  async collect({ event, attempt }: Begun): Promise<string | undefined> {
    const answer = await event.page(BUYERS[event.purpose].path, { paymentAttemptId: attempt });
    return answer.status < 300 ? answer.body.data.confirmationCode : undefined;
  }

  /** The second call, and the confirmation of a vote. */
  async finish(begun: Begun): Promise<void> {
    const confirmationCode = await this.collect(begun);
    if (confirmationCode !== undefined) demand(await begun.event.page('ballot/confirm', { confirmationCode }), 200);
  }

  async buy(begun: Begun): Promise<void> {
    await this.pay(begun);
    await this.finish(begun);
  }

  /** As if so much time had passed since a payment; then reconciliation looks at it. */
  async age(begun: Begun, ms: number): Promise<void> {
    const aged = `UPDATE payment_attempts SET paid_at = paid_at - $2::bigint, succeeded_at = succeeded_at - $2::bigint WHERE id = $1`;
    await this.query(aged, [begun.attempt, ms]);
    await this.look([begun.attempt]);
  }

  referenceOf({ event, attempt }: Pick<Begun, 'event' | 'attempt'>): string {
    return referenceOf(event, attempt);
  }

  /** The page of a payment is over. */
  async endPage({ event, attempt }: Begun): Promise<void> {
    if (event.provider === 'provider_a') this.paid.sandbox.advance(HOUR_MS);
    await this.query('UPDATE payment_attempts SET expires_at = 1 WHERE id = $1', [attempt]);
    await this.until(attempt, (status) => status === 'failed' || status === 'cancelled');
    if (event.provider === 'provider_a') this.paid.sandbox.advance(-HOUR_MS);
  }

  /** Reconciliation looks at these payments now. */
  async look(attempts: readonly string[]): Promise<void> {
    await this.query('UPDATE payment_attempts SET check_at = 1 WHERE id = ANY ($1) AND check_at IS NOT NULL', [
      attempts,
    ]);
    await reconcilePayments(paymentDeps(this.paid.service.deps));
  }

  /** Every refund that is planned is asked for now, as often as it takes; some are made older before. */
  async settleRefunds(ageDays = 0): Promise<void> {
    const age = `UPDATE payment_refunds SET created_at = created_at - $1::bigint WHERE status IN ('due', 'pending', 'attention', 'refused')`;
    await this.query(age, [ageDays * DAY_MS]);
    await sweepRefunds(this.paid.service.deps);
    for (let round = 0; round < 3; round += 1) {
      await this.query(`SELECT 1 FROM run_jobs_again(ARRAY(SELECT id FROM jobs WHERE key LIKE 'refund:%'))`);
      await this.quiet();
    }
  }

  /** Nothing is due any more: no message, no job. */
  async quiet(): Promise<void> {
    await eventually(async () => {
      const { rows } = await this.query(
        `SELECT 1 FROM jobs WHERE name IN ('refund_payment', 'process_provider_event') AND run_at <= now_ms() AND attempts < max_attempts`,
      );
      return rows.length === 0 ? true : undefined;
    }, 60_000);
  }

  async sweep(): Promise<void> {
    // The merchant sells other things too, and not all of it can be read.
    const odd = { id: 7, status: 'success', fees: 150.5, amount: 1.5, reference: null, currency: null };
    Object.assign(this.paid.sandbox.faults, NO_FAULTS, { foreignRows: [odd, null] });
    await sweepPayments(paymentDeps(this.paid.service.deps));
    this.paid.sandbox.faults.foreignRows = [];
    await this.quiet();
  }
}
