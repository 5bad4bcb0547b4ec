import { expect, test } from 'vitest';
import { NO_FAULTS } from '#sandbox/faults.ts';
import { sequenceLog } from '#src/ballot-log/seal-ballots.ts';
import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import { listOwed } from '#src/payments/list-owed.ts';
import { createLog } from '#src/platform/log.ts';
import { sealDeps } from '#src/work.ts';
import { demand, finishEvent } from '#test/harness/elections.ts';
import { createPaidEvent, type PaidEvent, PROVIDERS, usePaidService } from '#test/harness/payments.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { HABITS, type Habit } from './habits.ts';
import { type Begun, Merchant } from './merchant.ts';
import { readProvider, type There } from './read-provider.ts';

const SEED = Number(process.env['MONEY_SEED'] ?? 1);
const PAYMENTS = Number(process.env['MONEY_PAYMENTS'] ?? 40);
/** What becomes of messages; `elsewhere` sends them to the address of another business. */
const MESSAGES = ['normal', 'duplicate', 'lost', 'late', 'reordered', 'older_secret', 'elsewhere'] as const;

const told: { attempt: string; alarm: string }[] = [];
const write = (line: string): void => {
  const { attempt, alarm } = JSON.parse(line);
  if (typeof alarm === 'string' && typeof attempt === 'string') told.push({ attempt, alarm });
};
const paid = await usePaidService({ log: createLog('error', { write }) });

type Row = Readonly<Record<string, unknown>> & { readonly refund: { status: string; amountMinor: number } | null };
const isKept = ({ status, refundedAt, reversedAt }: Row): boolean =>
  status === 'fulfilled' && refundedAt === null && reversedAt === null;

/** One payment at the end of the year: undefined when its money is where it belongs. */
function judge(row: Row, there: There | undefined, owed: ReadonlySet<string>): string | undefined {
  const { id, status, refundedAt, reversedAt, refund } = row;
  const isOwed = owed.has(String(id));
  if (there === undefined)
    return (status === 'failed' || status === 'cancelled') && !isOwed ? undefined : `${id}: ${status}, and not paid`;
  if (there.backMinor === there.amountMinor) {
    if (isOwed) return `${id}: given back, and on the operator's list`;
    return refundedAt === null && reversedAt === null ? `${id}: given back, and ${status}` : undefined;
  }
  const shown = refund?.status === 'partially_refunded' ? refund.amountMinor : 0;
  if (isKept(row) && !isOwed)
    return shown === there.backMinor ? undefined : `${id}: ${there.backMinor} went back, and ${shown} is shown`;
  return isOwed ? undefined : `${id}: the money is with the merchant, and the payment is ${status}`;
}

async function endYear(merchant: Merchant, event: PaidEvent): Promise<void> {
  const key = { key: event.account.write };
  // Three days after the last payment, while the event takes ballots and has no end: what was not cast has gone back.
  const aged = `UPDATE payment_attempts SET succeeded_at = succeeded_at - 73 * 3600000::bigint
    WHERE voting_event_id = $1 AND status = 'succeeded' RETURNING id`;
  const late = await merchant.query(aged, [event.id]);
  await merchant.look(late.rows.map(({ id }) => id));
  const left = `SELECT id FROM payment_attempts WHERE voting_event_id = $1 AND status = 'succeeded'`;
  expect((await merchant.query(left, [event.id])).rows).toEqual([]);
  demand(await paid.service.call('PATCH', `/voting-events/${event.id}`, { status: 'closed' }, key), 200);
  await finishEvent(paid.service, event.id);
  // Its job runs every minute: what was cast and never confirmed is over.
  await dropAllExpiredBallots(paid.service.deps);
  const { rows } = await merchant.query('SELECT id FROM payment_attempts WHERE voting_event_id = $1', [event.id]);
  await merchant.look(rows.map(({ id }) => id));
}

/** Sends a business's messages to its own address, or to that of another business. */
function sendTo({ secretKey, provider }: PaidEvent, { businessId }: PaidEvent): void {
  const url = `http://127.0.0.1:${paid.service.port}/provider-webhooks/${provider}/${businessId}`;
  paid.sandbox.registerWebhook(secretKey, url);
}

/** Plays a year of habits, each with both providers before the dice decide, and counts them. */
async function playYear(merchant: Merchant, events: readonly PaidEvent[], dice: (sides: number) => number) {
  const others = [await createPaidEvent(paid.service, PROVIDERS[0]), await createPaidEvent(paid.service, PROVIDERS[1])];
  const names = Object.keys(HABITS) as Habit[];
  const begun: Begun[] = [];
  const done = new Map<string, number>();
  const habits = new Map<string, string>();
  const count = (what: string) => done.set(what, (done.get(what) ?? 0) + 1);
  for (let turn = 0; begun.length < PAYMENTS; turn += 1) {
    const isFirst = turn < 2 * names.length;
    const habit = names[isFirst ? turn % names.length : dice(names.length)] ?? 'votes';
    const place = isFirst ? Math.floor(turn / names.length) % 2 : dice(2);
    const [event, other] = [events[place], others[place]];
    if (event === undefined || other === undefined) throw new Error('one event for each provider');
    const messages = MESSAGES[dice(MESSAGES.length)] ?? 'normal';
    Object.assign(paid.sandbox.faults, NO_FAULTS, {
      webhooks: messages === 'elsewhere' ? 'normal' : messages,
      lateMs: 100,
    });
    if (messages === 'elsewhere') sendTo(event, other);
    const payments = await HABITS[habit]({ merchant, event });
    begun.push(...payments);
    // What this habit set going ends under its own faults, not under those of the next one.
    await merchant.quiet();
    for (const { attempt } of payments) habits.set(attempt, `${habit}, messages ${messages}`);
    Object.assign(paid.sandbox.faults, NO_FAULTS);
    sendTo(event, event);
    count(`${habit} through ${event.provider}`);
    count(`messages ${messages}`);
  }
  return { begun, done, habits, expected: names.flatMap((name) => PROVIDERS.map((one) => `${name} through ${one}`)) };
}

/** One line of the table: what the provider holds, and what that is here. */
function sumUp(rows: readonly Row[], there: ReadonlyMap<string, There>, owed: ReadonlySet<string>) {
  const left = (row: Row): number => {
    const { amountMinor = 0, backMinor = 0 } = there.get(String(row['id'])) ?? {};
    return amountMinor - backMinor;
  };
  const total = (some: readonly Row[]): number => some.reduce((sum, row) => sum + left(row), 0);
  const [kept, onList] = [rows.filter(isKept), rows.filter(({ id }) => owed.has(String(id)))];
  const back = [...there.values()].reduce((sum, { backMinor }) => sum + backMinor, 0);
  const taken = [...there.values()].reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  return { payments: rows.length, ballots: kept.length, taken, back, kept: total(kept), owed: total(onList) };
}

test(`a year of ${PAYMENTS} payments of seed ${SEED} leaves each one's money where its ballot is, given back, or on the operator's list`, async () => {
  const merchant = new Merchant(paid);
  const events = [
    await createPaidEvent(paid.service, PROVIDERS[0]),
    await createPaidEvent(paid.service, PROVIDERS[1]),
  ] as const;
  const { begun, done, habits: habitOf, expected } = await playYear(merchant, events, createRandom(SEED));
  for (const event of events) await endYear(merchant, event);
  await merchant.sweep();
  await merchant.settleRefunds();
  await merchant.sweep();

  // A payment that was reversed after the final result becomes a leaf with the next run of the log's job.
  for (const { id } of events) await sequenceLog(sealDeps(paid.service.deps), id, 1);

  const amiss: string[] = [];
  const table = [];
  for (const event of events) {
    const key = { key: event.account.read };
    const base = `/voting-events/${event.id}`;
    const rows: Row[] = demand(await paid.service.call('GET', `${base}/payments`, undefined, key), 200);
    const there = await readProvider(paid.sandbox.url, event);
    const listed = await listOwed(paid.service.deps.db, event.businessId);
    const owed = new Set(listed.map(({ attemptId }) => attemptId));
    // Beside these, payers whom the provider refused while the account was restricted.
    const ids = begun.filter((one) => one.event.id === event.id).map(({ attempt }) => attempt);
    expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    for (const row of rows) {
      const id = String(row['id']);
      const fault = judge(row, there.get(id), owed);
      if (fault !== undefined) amiss.push(`${fault} (${habitOf.get(id)}; ${JSON.stringify(row.refund)})`);
    }
    const stats = demand(await paid.service.call('GET', `${base}/stats`, undefined, key), 200);
    const results = demand(await paid.service.call('GET', `${base}/results`, undefined, key), 200);
    const sums = sumUp(rows, there, owed);
    table.push({ provider: event.provider, ...sums, operator: owed.size });
    expect(amiss).toEqual([]);
    expect(sums.taken - sums.back).toBe(sums.kept + sums.owed);
    const revenue = stats.payments.revenue[0]?.amountMinor ?? 0;
    const ballots = results.afterReversals?.ballots ?? results.stats.ballots;
    expect([revenue, ballots]).toEqual([sums.kept, sums.ballots]);
    // What is on the list was said aloud, too.
    for (const { attemptId } of listed) expect(told.map(({ attempt }) => attempt)).toContain(attemptId);
  }
  const alarms = ['payment_mismatch', 'refund_failed', 'refund_needs_attention', 'refund_refused'];
  expect(told.filter(({ alarm }) => !alarms.includes(alarm))).toEqual([]);
  if (PAYMENTS >= 200) {
    const habits = [...expected, ...MESSAGES.map((name) => `messages ${name}`)];
    expect(habits.filter((habit) => !done.has(habit))).toEqual([]);
  }
  console.info([...done].map(([habit, times]) => `${habit} ${times}`).join(', '));
  console.table(table);
  const people = new Set(told.map(({ attempt }) => attempt)).size;
  console.info(`${begun.length} payments, ${done.size} habits; the operator was told of ${people}`);
}, 1_800_000);
