import { describe, expect, test } from 'vitest';
import { paymentDeps } from '#src/fulfilments.ts';
import { processProviderEventJob } from '#src/payments/receive-provider-event.ts';
import { valuesOf } from '#test/harness/answers.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { decide, type PaidEvent, PRICE, PROVIDERS, usePaidService } from '#test/harness/payments.ts';
import { eventually } from '#test/harness/test-service.ts';
import { keepLog } from '#test/harness/use.ts';

const { lines, log } = keepLog('error');
const { service, sandbox, poll } = await usePaidService({ worker: false, log });
const { query } = service;

/** Somebody pays. @param meanwhile happens between the page and the payment */
async function pay(event: PaidEvent, meanwhile: (attempt: string) => Promise<unknown> = async () => undefined) {
  const { attempt, url } = await event.begin();
  await meanwhile(attempt);
  await decide(url, 'pay');
  return { attempt, message: await eventually(() => findMessage(event, attempt)) };
}

interface Message {
  readonly businessId: string;
  readonly eventKey: string;
}

async function findMessage(event: PaidEvent, attempt: string): Promise<Message | undefined> {
  const [message] = await query(
    `SELECT payment_business_id AS "businessId", event_key AS "eventKey" FROM provider_events
     WHERE payment_business_id = $1 AND attempt_id = $2`,
    [event.businessId, attempt],
  );
  return message;
}

/** Deals with a message as its job does a minute after it came. */
async function dealWith(message: Message): Promise<void> {
  await query('UPDATE provider_events SET received_at = received_at - 61000 WHERE event_key = $1', [message.eventKey]);
  await processProviderEventJob(paymentDeps(service.deps)).work(message, { id: '1', attempt: 1, last: false });
}

const alarmsOf = (attempt: string) => lines.filter((line) => line['attempt'] === attempt);
/** A command of its own process is pointed at the sandbox as if it were the provider. */
const checkBusiness = (businessId: string, ...more: string[]) =>
  runCommand(service, ['payment-businesses', 'check', '--business', businessId, '--json', ...more], {
    ...{ PROVIDER_A_API_URL: sandbox.url, PROVIDER_B_API_URL: sandbox.url, BASE_URL: service.url },
  });
/** As after a restore: the database is of a moment before the attempt. */
const forget = (attempt: string) => query('DELETE FROM payment_attempts WHERE id = $1', [attempt]);

describe.each(PROVIDERS)('a payment of %s that the database does not know', (provider) => {
  test('raises an alarm, whether the message names the attempt or only its reference; money of others raises none', async () => {
    const event = await poll(provider);
    const known = await pay(event);
    await dealWith(known.message);
    expect(alarmsOf(known.attempt)).toEqual([]);
    // Accounts take turns with their messages.
    const of = "SELECT account FROM jobs WHERE name = 'process_provider_event' AND payload ->> 'businessId' = $1";
    expect(new Set((await query(of, [event.businessId])).map((row) => row['account']))).toEqual(
      new Set([event.account.id]),
    );

    const unknown = await pay(event, forget);
    await dealWith(unknown.message);
    const alarm = { alarm: 'payment_unmatched', business: event.businessId, attempt: unknown.attempt };
    expect(alarmsOf(unknown.attempt)).toEqual([expect.objectContaining(alarm)]);

    const named = await pay(event, forget);
    await query('UPDATE provider_events SET attempt_id = NULL WHERE attempt_id = $1', [named.attempt]);
    const reference = 'SELECT reference FROM provider_events WHERE event_key = $1';
    const [row] = await query(reference, [named.message.eventKey]);
    const ofReference = service.deps.payments.of({ provider, sandbox: true }).attemptOfReference;
    await dealWith(named.message);
    expect(alarmsOf(named.attempt).length).toBe(row.reference === null ? 0 : 1);
    for (const other of ['order-17', 'pay_', 'pay-x.1', 'pay_0000000000000000000000!'])
      expect(ofReference(other), other).toBeNull();

    const foreign = await pay(event, forget);
    const other = "UPDATE provider_events SET attempt_id = 'order 17', reference = 'order-17' WHERE attempt_id = $1";
    await query(other, [foreign.attempt]);
    const before = lines.length;
    await dealWith(foreign.message);
    expect(lines.length).toBe(before);
  });

  test('is found by the command that lists the payments since a moment, with what became of each', async () => {
    const event = await poll(provider);
    const [old, since] = [await pay(event), Date.now() + 1_500];
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const known = await pay(event);
    await dealWith(known.message);
    const unknown = await pay(event, forget);
    const adapter = service.deps.payments.of({ provider, sandbox: true });
    const credentials = { secretKey: event.secretKey };
    const list = async (sinceMs: number) =>
      (await Array.fromAsync(adapter.listPayments(credentials, sinceMs))).flatMap((row) =>
        'names' in row ? [] : [row],
      );
    const listed = await list(since);
    expect(listed.map(({ attemptId }) => attemptId)).toEqual([unknown.attempt, known.attempt]);
    expect(listed[0]).toMatchObject({ paid: true, ...PRICE[provider] });
    expect((await list(0)).map(({ attemptId }) => attemptId)).toContain(old.attempt);

    await query('UPDATE payment_businesses SET sandbox = false WHERE id = $1', [event.businessId]);
    const ended = await checkBusiness(event.businessId, '--since', new Date(since).toISOString());
    expect(ended).toMatchObject({ code: 1, stderr: '' });
    const told = JSON.parse(ended.stdout);
    expect(told).toMatchObject({ unknown: 1, notListed: expect.stringContaining('before') });
    const outcomes = told.payments.map(({ attempt, outcome }: Record<string, string>) => [attempt, outcome]);
    expect(outcomes).toEqual([
      [unknown.attempt, 'not known here'],
      [known.attempt, 'gave nothing'],
    ]);
    expect(ended.stdout).not.toContain(event.secretKey);
    const later = await checkBusiness(event.businessId, '--since', '2999-01-01T00:00:00Z');
    expect([later.code, JSON.parse(later.stdout).payments]).toEqual([0, []]);
  });

  test('is asked once by the command that says in plain lines what is wrong with a business', async () => {
    const event = await poll(provider);
    await query('UPDATE payment_businesses SET sandbox = false WHERE id = $1', [event.businessId]);
    const check = async () => {
      const { code, stdout: text } = await checkBusiness(event.businessId);
      expect(text).not.toContain(event.secretKey);
      const wrong = JSON.parse(text).findings.filter(({ ok }: { ok: boolean }) => !ok);
      return { code, wrong: valuesOf(wrong, 'what'), text };
    };
    expect(await check()).toMatchObject({ code: 0, wrong: [] });
    sandbox.setAccountReady(event.secretKey, false);
    const restricted = await check();
    expect([restricted.code, restricted.wrong[0]]).toEqual([1, provider === 'provider_a' ? 'ready' : 'keys']);
    sandbox.setAccountReady(event.secretKey, true);
    if (provider === 'provider_b') return;
    await query('UPDATE payment_businesses SET ready = true WHERE id = $1', [event.businessId]);
    sandbox.faults.messageKinds = ['checkout.session.completed'];
    const deaf = await check();
    sandbox.faults.messageKinds = null;
    expect([deaf.code, deaf.wrong]).toEqual([1, ['messages']]);
    expect(deaf.text).toContain('refund.failed');
  });
});
