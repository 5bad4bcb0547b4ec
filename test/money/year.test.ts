import { afterAll, beforeAll, expect, test } from 'vitest';
import { NO_FAULTS } from '#sandbox/faults.ts';
import { tendBallotLog } from '#src/ballot-log/seal-ballots.ts';
import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import { createLog } from '#src/platform/log.ts';
import { sealDeps } from '#src/work.ts';
import { demand, finishEvent } from '#test/harness/elections.ts';
import {
  createPaidEvent,
  type PaidEvent,
  type PaidTestService,
  PROVIDERS,
  startPaidTestService,
} from '#test/harness/payments.ts';
import { HABITS, type Habit } from './habits.ts';
import { type Begun, Merchant } from './merchant.ts';

const SEED = Number(process.env['MONEY_SEED'] ?? 1);
const PAYMENTS = Number(process.env['MONEY_PAYMENTS'] ?? 40);
const MESSAGES = ['normal', 'normal', 'duplicate', 'lost', 'reordered'] as const;

const told: { attempt: string; alarm: string }[] = [];
let paid: PaidTestService;
beforeAll(async () => {
  const write = (line: string): void => {
    const { attempt, alarm } = JSON.parse(line);
    if (typeof alarm === 'string' && typeof attempt === 'string') told.push({ attempt, alarm });
  };
  paid = await startPaidTestService({ log: createLog('error', { write }) });
});
afterAll(() => paid.stop());

/** Whole numbers below a bound, the same ones for the same seed. */
function createDice(seed: number): (sides: number) => number {
  let state = seed >>> 0;
  return (sides) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}

/** Where the money of each payment is, as the provider lists it. */
async function readProvider(event: PaidEvent): Promise<Map<string, { back: boolean; amountMinor: number }>> {
  const provider = paid.service.deps.payments.of({ provider: event.provider, sandbox: true });
  const credentials = { secretKey: event.secretKey };
  const back = new Set<string | null>();
  for await (const reversal of provider.listReversals(credentials, 0)) {
    if (reversal.status === 'done') back.add(reversal.providerPaymentId);
  }
  const payments = new Map<string, { back: boolean; amountMinor: number }>();
  for await (const { attemptId, paid: isPaid, providerPaymentId, amountMinor } of provider.listPayments(
    credentials,
    1e11,
  )) {
    if (isPaid) payments.set(attemptId ?? '', { back: back.has(providerPaymentId), amountMinor: amountMinor ?? 0 });
  }
  return payments;
}

/** One payment at the end of the year: undefined when its money is where it belongs. */
function judge(row: Readonly<Record<string, unknown>>, there: { back: boolean } | undefined): string | undefined {
  const { id, status, refundedAt, reversedAt } = row;
  const isKept = status === 'fulfilled' && refundedAt === null && reversedAt === null;
  if (there === undefined)
    return status === 'failed' || status === 'cancelled' ? undefined : `${id}: ${status}, and not paid`;
  if (there.back)
    return isKept || (refundedAt === null && reversedAt === null) ? `${id}: given back, and ${status}` : undefined;
  if (isKept || told.some(({ attempt }) => attempt === id)) return undefined;
  return `${id}: the money is with the merchant, and the payment is ${status}`;
}

async function endYear(merchant: Merchant, event: PaidEvent): Promise<void> {
  const key = { key: event.account.write };
  demand(await paid.service.call('PATCH', `/voting-events/${event.id}`, { status: 'closed' }, key), 200);
  await finishEvent(paid.service, event.id);
  // Its job runs every minute: what was cast and never confirmed is over.
  await dropAllExpiredBallots(paid.service.deps);
  const { rows } = await merchant.query('SELECT id FROM payment_attempts WHERE voting_event_id = $1', [event.id]);
  await merchant.look(rows.map(({ id }) => id));
}

test(`a year of ${PAYMENTS} payments of seed ${SEED} leaves each one's money where its ballot is, given back, or on the operator's list`, async () => {
  const merchant = new Merchant(paid);
  const dice = createDice(SEED);
  const events = [
    await createPaidEvent(paid.service, PROVIDERS[0]),
    await createPaidEvent(paid.service, PROVIDERS[1]),
  ] as const;
  const names = Object.keys(HABITS) as Habit[];
  const begun: Begun[] = [];
  const done = new Map<string, number>();
  // Every habit comes first with each provider, then as the dice fall.
  for (let turn = 0; begun.length < PAYMENTS; turn += 1) {
    const habit = names[turn < 2 * names.length ? turn % names.length : dice(names.length)] ?? 'votes';
    const event = events[turn < 2 * names.length ? Math.floor(turn / names.length) % 2 : dice(2)] ?? events[0];
    Object.assign(paid.sandbox.faults, NO_FAULTS, {
      webhooks: MESSAGES[dice(MESSAGES.length)] ?? 'normal',
      lateMs: 100,
    });
    begun.push(...(await HABITS[habit]({ merchant, event })));
    Object.assign(paid.sandbox.faults, NO_FAULTS);
    done.set(habit, (done.get(habit) ?? 0) + 1);
  }
  for (const event of events) await endYear(merchant, event);
  await merchant.sweep();
  await merchant.settleRefunds();
  await merchant.sweep();

  // A payment that was reversed after the final result becomes a leaf with the next run of the log's job.
  for (const { id } of events) await tendBallotLog(sealDeps(paid.service.deps), id, 1);

  const amiss: string[] = [];
  for (const event of events) {
    const key = { key: event.account.read };
    const base = `/voting-events/${event.id}`;
    const rows: Record<string, unknown>[] = demand(
      await paid.service.call('GET', `${base}/payments`, undefined, key),
      200,
    );
    const there = await readProvider(event);
    expect(rows).toHaveLength(begun.filter((one) => one.event.id === event.id).length);
    for (const row of rows)
      amiss.push(...[judge(row, there.get(String(row['id'])))].filter((fault) => fault !== undefined));
    const kept = rows.filter((row) => row['status'] === 'fulfilled' && !row['refundedAt'] && !row['reversedAt']);
    const sum = kept.reduce((total, row) => total + Number(row['amountMinor']), 0);
    const atProvider = kept.reduce((total, row) => total + (there.get(String(row['id']))?.amountMinor ?? 0), 0);
    const stats = demand(await paid.service.call('GET', `${base}/stats`, undefined, key), 200);
    const results = demand(await paid.service.call('GET', `${base}/results`, undefined, key), 200);
    const ballots = results.afterReversals?.ballots ?? results.stats.ballots;
    expect(amiss).toEqual([]);
    expect([stats.payments.revenue[0].amountMinor, atProvider, ballots]).toEqual([sum, sum, kept.length]);
  }
  const expected = ['payment_mismatch', 'refund_failed', 'refund_needs_attention', 'refund_refused'];
  expect(told.filter(({ alarm }) => !expected.includes(alarm))).toEqual([]);
  console.info([...done].map(([habit, times]) => `${habit} ${times}`).join(', '));
  console.info(
    `${begun.length} payments; the operator was told of ${new Set(told.map(({ attempt }) => attempt)).size}`,
  );
}, 900_000);
