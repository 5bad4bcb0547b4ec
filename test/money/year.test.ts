import { expect, test } from 'vitest';
import { NO_FAULTS } from '#sandbox/faults.ts';
import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import { listOwed } from '#src/payments/list-owed.ts';
import { createLog } from '#src/platform/log.ts';
import { sealDeps } from '#src/work.ts';
import { demand, finishEvent, tendLog } from '#test/harness/elections.ts';
import { PROVIDERS, usePaidService } from '#test/harness/payments.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { countGiven, openShop, PURPOSES, type Shop } from './buyers.ts';
import { HABITS, type Habit, KEEPS, OF_VOTES } from './habits.ts';
import { type Begun, Merchant } from './merchant.ts';
import { readProvider, type There } from './read-provider.ts';

const SEED = Number(process.env['MONEY_SEED'] ?? 1);
const PAYMENTS = Number(process.env['MONEY_PAYMENTS'] ?? 40);
/** One habit alone, where a build is broken for it. */
const ONLY = process.env['MONEY_HABIT'] as Habit | undefined;
/** What becomes of messages; `elsewhere` sends them to the address of another business. */
const MESSAGES = ['normal', 'duplicate', 'lost', 'late', 'reordered', 'older_secret', 'elsewhere'] as const;

const told: { attempt: string; alarm: string }[] = [];
const write = (line: string): void => {
  const { attempt, alarm } = JSON.parse(line);
  if (typeof alarm === 'string' && typeof attempt === 'string') told.push({ attempt, alarm });
};
const paid = await usePaidService({ log: createLog('error', { write }) });
const { met } = paid.service;

type Row = Readonly<Record<string, unknown>> & { readonly refund: { status: string; amountMinor: number } | null };
const isKept = ({ status, refundedAt, reversedAt }: Row): boolean =>
  status === 'fulfilled' && refundedAt === null && reversedAt === null;

/** One payment at the end of the year: undefined when its money is where it belongs. */
function judge(
  row: Row,
  there: There | undefined,
  owed: ReadonlySet<string>,
  settled: ReadonlySet<string>,
): string | undefined {
  const { id, status, refundedAt, reversedAt, refund } = row;
  const isOwed = owed.has(String(id));
  if (settled.has(String(id))) return isOwed ? `${id}: settled, and on the operator's list` : undefined;
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

/** Three days after the last payment, while the event has no end; of some, its organizer closes it afterwards. */
async function endYear(merchant: Merchant, event: Shop): Promise<void> {
  const aged = `UPDATE payment_attempts SET succeeded_at = succeeded_at - 73 * 3600000::bigint
    WHERE voting_event_id = $1 AND status = 'succeeded' RETURNING id`;
  const late = await merchant.query(aged, [event.id]);
  await merchant.look(late.rows.map(({ id }) => id));
  const left = `SELECT id FROM payment_attempts WHERE voting_event_id = $1 AND status = 'succeeded'`;
  expect((await merchant.query(left, [event.id])).rows).toEqual([]);
  // What never ends has no ballots that wait to be confirmed: nothing else of it depends on an end.
  if (event.purpose !== 'vote' || merchant.deleted.has(event.id)) return;
  await event.change({ status: 'closed' });
  await finishEvent(paid.service, event.id);
  // Its job runs every minute: what was cast and never confirmed is over.
  await dropAllExpiredBallots(paid.service.deps);
  const { rows } = await merchant.query('SELECT id FROM payment_attempts WHERE voting_event_id = $1', [event.id]);
  await merchant.look(rows.map(({ id }) => id));
}

/** Sends a business's messages to its own address, or to that of another business. */
function sendTo({ secretKey, provider }: Shop, { businessId }: Shop): void {
  const url = `http://127.0.0.1:${paid.service.port}/provider-webhooks/${provider}/${businessId}`;
  paid.sandbox.registerWebhook(secretKey, url);
}

/** Plays a year of habits, each once before the dice decide, in a long year with both providers, and counts them. */
async function playYear(merchant: Merchant, shops: readonly Shop[], dice: (sides: number) => number) {
  const others = await Promise.all(PROVIDERS.map((provider) => openShop(paid, 'vote', provider)));
  const names = ONLY === undefined ? (Object.keys(HABITS) as Habit[]) : [ONLY];
  const begun: Begun[] = [];
  const done = new Map<string, number>();
  const habits = new Map<string, string>();
  const count = (what: string) => done.set(what, (done.get(what) ?? 0) + 1);
  const first = (PAYMENTS >= 200 || ONLY !== undefined ? 2 : 1) * names.length;
  for (let turn = 0; turn < first || begun.length < PAYMENTS; turn += 1) {
    const isFirst = turn < first;
    const habit = names[isFirst ? turn % names.length : dice(names.length)] ?? 'buys';
    const provider = PROVIDERS[first > names.length && isFirst ? Math.floor(turn / names.length) : dice(2)];
    const purpose = OF_VOTES.has(habit) ? 'vote' : PURPOSES[dice(PURPOSES.length)];
    const event = shops.find((shop) => shop.provider === provider && shop.purpose === purpose);
    const other = others.find((shop) => shop.provider === provider);
    if (event === undefined || other === undefined) throw new Error('a shop for each provider and purpose');
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
    for (const { attempt } of payments) habits.set(attempt, `${habit} of ${purpose}, messages ${messages}`);
    if (KEEPS.has(habit)) for (const { attempt } of payments) merchant.kept.add(attempt);
    Object.assign(paid.sandbox.faults, NO_FAULTS);
    sendTo(event, event);
    count(`${habit} through ${event.provider}`);
    count(`messages ${messages}`);
  }
  return { begun, done, habits, expected: names.flatMap((name) => PROVIDERS.map((one) => `${name} through ${one}`)) };
}

/** One line of the table: what the provider holds, and what that is here. */
function sumUp(
  rows: readonly Row[],
  there: ReadonlyMap<string, There>,
  owed: ReadonlySet<string>,
  settled: ReadonlySet<string>,
) {
  const left = (row: Row): number => {
    const { amountMinor = 0, backMinor = 0 } = there.get(String(row['id'])) ?? {};
    return amountMinor - backMinor;
  };
  const total = (some: readonly Row[]): number => some.reduce((sum, row) => sum + left(row), 0);
  const [kept, onList] = [rows.filter(isKept), rows.filter(({ id }) => owed.has(String(id)))];
  const back = [...there.values()].reduce((sum, { backMinor }) => sum + backMinor, 0);
  const taken = [...there.values()].reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  const byHand = rows.filter(({ id }) => settled.has(String(id)));
  return { payments: rows.length, taken, back, kept: total(kept), owed: total(onList), settled: total(byHand) };
}

test(`a year of ${PAYMENTS} payments of seed ${SEED} leaves each one's money where its ballot, credits or candidate is, given back, or on a list that a person closes`, async () => {
  const merchant = new Merchant(paid);
  const lasting: Shop[] = [];
  for (const purpose of PURPOSES) for (const one of PROVIDERS) lasting.push(await openShop(paid, purpose, one));
  const { begun, done, habits: habitOf, expected } = await playYear(merchant, lasting, createRandom(SEED));
  const shops = [...lasting, ...merchant.own];
  for (const event of shops) await endYear(merchant, event);
  await merchant.sweep();
  await merchant.settleRefunds();
  await merchant.sweep();

  // A payment that was reversed after the final result becomes a leaf with the next run of the log's job.
  for (const { id, purpose } of shops)
    if (purpose === 'vote' && !merchant.deleted.has(id)) await tendLog(sealDeps(paid.service.deps), id, 1);

  const table = [];
  for (const event of shops) {
    const { account } = event;
    const isDeleted = merchant.deleted.has(event.id);
    const base = `/voting-events/${event.id}`;
    // The account's list, which knows the deleted events too.
    const rows: Row[] = (await account.show('/payments')).filter((row: Row) => row['votingEventId'] === event.id);
    const there = await readProvider(paid.sandbox.url, event);
    const listed = await listOwed(paid.service.deps.db, event.businessId);
    const owed = new Set(listed.map(({ attemptId }) => attemptId));
    // Beside these, payers whom the provider refused while the account was restricted.
    const ids = begun.filter((one) => one.event.id === event.id).map(({ attempt }) => attempt);
    expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    expect([...there.keys()].filter((id) => !rows.some((row) => row['id'] === id))).toEqual([]);
    const amiss = rows.flatMap((row) => {
      const fault = judge(row, there.get(String(row['id'])), owed, merchant.settled);
      return fault === undefined
        ? []
        : [
            `${fault} (${habitOf.get(String(row['id']))}; ${JSON.stringify([row.refund, there.get(String(row['id']))])})`,
          ];
    });
    const sums = sumUp(rows, there, owed, merchant.settled);
    const kept = rows.filter(isKept).map(({ id }) => String(id));
    table.push({ purpose: event.purpose, provider: event.provider, given: kept.length, ...sums, operator: owed.size });
    // What is refunded too much is nobody's loss but the merchant's.
    for (const id of ids)
      if (merchant.kept.has(id) && !kept.includes(id)) amiss.push(`${id}: taken back (${habitOf.get(id)})`);
    expect(amiss).toEqual([]);
    expect(sums.taken - sums.back).toBe(sums.kept + sums.owed + sums.settled);
    if (!isDeleted) {
      const revenue = (await account.show(`${base}/stats`)).payments.revenue[0]?.amountMinor ?? 0;
      const given = await countGiven(paid, event, kept);
      expect([event.purpose, event.provider, revenue, given]).toEqual([
        event.purpose,
        event.provider,
        sums.kept,
        kept.length,
      ]);
    }
    // What is on the list was said aloud, too; a person closes each case, and the list is empty.
    for (const { attemptId } of listed) expect(told.map(({ attempt }) => attempt)).toContain(attemptId);
    for (const { attemptId } of listed)
      demand(
        await account.post(`${base}/payments/${attemptId}/settle`, { note: 'Settled at the end of the year.' }),
        200,
      );
    expect(await listOwed(paid.service.deps.db, event.businessId)).toEqual([]);
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
  console.info(met.confess('money'));
  if (ONLY === undefined) expect(met.faults('money', { operations: 14 })).toEqual([]);
}, 1_800_000);
