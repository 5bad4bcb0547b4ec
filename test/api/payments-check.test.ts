import { describe, expect, test } from 'vitest';
import { paymentDeps } from '#src/fulfilments.ts';
import { processProviderEventJob } from '#src/payments/receive-provider-event.ts';
import { createLog } from '#src/platform/log.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { createPaidEvent, decide, type PaidEvent, PRICE, PROVIDERS, usePaidService } from '#test/harness/payments.ts';
import { eventually } from '#test/harness/test-service.ts';

const lines: string[] = [];

const { service, sandbox } = await usePaidService({
  worker: false,
  log: createLog('error', { write: (line) => lines.push(line) }),
});

const query = (statement: string, values: unknown[]) => service.deps.db.$client.query(statement, values);

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
  const { rows } = await query(
    `SELECT payment_business_id AS "businessId", event_key AS "eventKey" FROM provider_events
     WHERE payment_business_id = $1 AND attempt_id = $2`,
    [event.businessId, attempt],
  );
  return rows[0];
}

/** Deals with a message as its job does a minute after it came. */
async function dealWith(message: Message): Promise<void> {
  await query('UPDATE provider_events SET received_at = received_at - 61000 WHERE event_key = $1', [message.eventKey]);
  await processProviderEventJob(paymentDeps(service.deps)).work(message, { id: '1', attempt: 1, last: false });
}

const alarmsOf = (attempt: string) => lines.map((line) => JSON.parse(line)).filter((line) => line.attempt === attempt);
/** As after a restore: the database is of a moment before the attempt. */
const forget = (attempt: string) => query('DELETE FROM payment_attempts WHERE id = $1', [attempt]);

describe.each(PROVIDERS)('a payment of %s that the database does not know', (provider) => {
  test('raises an alarm, whether the message names the attempt or only its reference; money of others raises none', async () => {
    const event = await createPaidEvent(service, provider);
    const known = await pay(event);
    await dealWith(known.message);
    expect(alarmsOf(known.attempt)).toEqual([]);

    const unknown = await pay(event, forget);
    await dealWith(unknown.message);
    const alarm = { alarm: 'payment_unmatched', business: event.businessId, attempt: unknown.attempt };
    expect(alarmsOf(unknown.attempt)).toEqual([expect.objectContaining(alarm)]);

    const named = await pay(event, forget);
    await query('UPDATE provider_events SET attempt_id = NULL WHERE attempt_id = $1', [named.attempt]);
    const { rows } = await query('SELECT reference FROM provider_events WHERE event_key = $1', [
      named.message.eventKey,
    ]);
    const ofReference = service.deps.payments.of({ provider, sandbox: true }).attemptOfReference;
    await dealWith(named.message);
    expect(alarmsOf(named.attempt).length).toBe(rows[0].reference === null ? 0 : 1);
    expect(['order-17', 'pay_', 'pay-x.1', 'pay_0000000000000000000000!'].map(ofReference)).toEqual([
      null,
      null,
      null,
      null,
    ]);

    const foreign = await pay(event, forget);
    await query("UPDATE provider_events SET attempt_id = 'order 17', reference = 'order-17' WHERE attempt_id = $1", [
      foreign.attempt,
    ]);
    const before = lines.length;
    await dealWith(foreign.message);
    expect(lines.length).toBe(before);
  });

  test('is found by the command that lists the payments since a moment, with what became of each', async () => {
    const event = await createPaidEvent(service, provider);
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

    // A command of its own process is pointed at the sandbox as if it were the provider.
    await query('UPDATE payment_businesses SET sandbox = false WHERE id = $1', [event.businessId]);
    const where = { PROVIDER_A_API_URL: sandbox.url, PROVIDER_B_API_URL: sandbox.url };
    const words = ['payment-businesses', 'check', '--business', event.businessId, '--json', '--since'];
    const ended = await runCommand(service, [...words, new Date(since).toISOString()], where);
    expect(ended).toMatchObject({ code: 1, stderr: '' });
    const told = JSON.parse(ended.stdout);
    expect(told).toMatchObject({ unknown: 1, notListed: expect.stringContaining('before') });
    const outcomes = told.payments.map(({ attempt, outcome }: Record<string, string>) => [attempt, outcome]);
    expect(outcomes).toEqual([
      [unknown.attempt, 'not known here'],
      [known.attempt, 'gave nothing'],
    ]);
    expect(ended.stdout).not.toContain(event.secretKey);
    const later = await runCommand(service, [...words, '2999-01-01T00:00:00Z'], where);
    expect([later.code, JSON.parse(later.stdout).payments]).toEqual([0, []]);
  });

  test('is asked once by the command that says in plain lines what is wrong with a business', async () => {
    const event = await createPaidEvent(service, provider);
    await query('UPDATE payment_businesses SET sandbox = false WHERE id = $1', [event.businessId]);
    const where = {
      PROVIDER_A_API_URL: sandbox.url,
      PROVIDER_B_API_URL: sandbox.url,
      BASE_URL: `http://127.0.0.1:${service.port}`,
    };
    const check = async () => {
      const words = ['payment-businesses', 'check', '--business', event.businessId, '--json'];
      const ended = await runCommand(service, words, where);
      expect(ended.stdout).not.toContain(event.secretKey);
      const { findings } = JSON.parse(ended.stdout);
      const wrong = findings.filter(({ ok }: { ok: boolean }) => !ok);
      return { code: ended.code, wrong: wrong.map(({ what }: { what: string }) => what), text: ended.stdout };
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
