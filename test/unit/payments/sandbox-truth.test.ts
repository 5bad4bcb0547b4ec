import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import formatsModule from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NO_FAULTS } from '#sandbox/faults.ts';
import { sandboxKey } from '#sandbox/sandbox-keys.ts';
import type { Sandbox } from '#sandbox/start-sandbox.ts';
import { decide } from '#test/harness/payments.ts';
import { type Receiver, startReceiver } from '#test/harness/receiver.ts';
import { untilTrue } from '#test/harness/test-service.ts';
import { playBoth, sessionOfA } from './asking.ts';

const CASES = path.resolve(import.meta.dirname, '../../../../shared/cases/payments');
const present = existsSync(CASES);
if (!present) console.info('payments: the official schemas and samples are absent, passed over');

// biome-ignore lint/suspicious/noExplicitAny: objects of any shape are held against schemas, which is what is tested
type Any = any;
const read = (name: string): Any => (present ? JSON.parse(readFileSync(path.join(CASES, name), 'utf8')) : {});
const schemaA = read('stripe-checkout.schema.json');
const schemaB = read('paystack.schema.json');
const samplesA = read('stripe-official-fixtures.json').resources ?? {};
const samplesB = read('paystack-official-events.json');

const ajv = new Ajv({ strict: false, allErrors: true });
// The package's default export is wrapped when it is loaded as an ES module.
(formatsModule as unknown as { default: (ajv: Ajv) => void }).default(ajv);
if (present) ajv.addSchema(schemaA, 'a').addSchema(schemaB, 'b');
const faultsBy = (schema: string, object: unknown): string =>
  ajv.validate(schema, structuredClone(object)) ? '' : ajv.errorsText();

/** Fields that are missing (`-`) or that no official sample and no schema knows (`+`). */
function differences(object: object, must: readonly string[], may: readonly string[] = must): string[] {
  const own = Object.keys(object);
  return [
    ...must.filter((name) => !own.includes(name)).map((name) => `-${name}`),
    ...own.filter((name) => !may.includes(name)).map((name) => `+${name}`),
  ];
}
const unlike = (object: Any, sample: Any): string[] => differences(object, Object.keys(sample));

const EVERYTHING_A = [
  ...['checkout.session.completed', 'checkout.session.expired', 'checkout.session.async_payment_succeeded'],
  ...['checkout.session.async_payment_failed', 'payment_intent.payment_failed', 'charge.refunded', 'refund.updated'],
  ...['refund.failed', 'charge.dispute.created', 'charge.dispute.closed', 'account.updated'],
];
const EVERYTHING_B = [
  ...['charge.success', 'refund.processing', 'refund.processed', 'refund.failed', 'refund.needs-attention'],
  ...['charge.dispute.create', 'charge.dispute.resolve'],
];

describe.runIf(present)('the sandbox sends what the providers send:', () => {
  let sandbox: Sandbox;
  const messages: Any[] = [];
  let merchant: Receiver;
  const secretKey = sandboxKey('biz_truth', 'NG', randomBytes(16).toString('hex'));

  const ask = async (method: string, target: string, body?: object): Promise<Any> => {
    const isA = target.startsWith('/v1/');
    const headers = { authorization: `Bearer ${secretKey}` };
    const init =
      body === undefined
        ? {}
        : isA
          ? { body: new URLSearchParams(body as Record<string, string>) }
          : { body: JSON.stringify(body) };
    const type = isA ? 'application/x-www-form-urlencoded' : 'application/json';
    const answer = await fetch(`${sandbox.url}${target}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': type }) },
      ...init,
    });
    return answer.json();
  };
  let made = 0;
  const openA = async (): Promise<Any> => {
    made += 1;
    return ask('POST', '/v1/checkout/sessions', sessionOfA(`pay_${made}`, 900));
  };
  const openB = async (): Promise<Any> => {
    made += 1;
    const reference = `pay-${made}.1`;
    const order = { email: 'payer@mail.example', amount: 50_000, currency: 'NGN', reference };
    const opened = await ask('POST', '/transaction/initialize', { ...order, metadata: { paymentAttemptId: 'pay_x' } });
    return { opened, reference, url: opened.data.authorization_url, verify: `/transaction/verify/${reference}` };
  };
  const sessionOf = (id: string) => ask('GET', `/v1/checkout/sessions/${id}`);

  beforeAll(async () => {
    merchant = await startReceiver((response) => {
      messages.push(JSON.parse(merchant.received.at(-1)?.body ?? ''));
      response.end();
    });
    sandbox = await playBoth({ webhookTarget: () => merchant.url });
    // A year of both providers: every kind of object, and every message.
    for (const [open, referenceOf, urlOf] of [
      [openA, (page: Any) => page.client_reference_id, (page: Any) => page.url],
      [openB, (page: Any) => page.reference, (page: Any) => page.url],
    ] as const) {
      const page = async () => {
        const opened = await open();
        return { reference: referenceOf(opened), url: urlOf(opened) };
      };
      const paid = async () => {
        const opened = await page();
        await decide(opened.url, 'pay');
        return opened.reference;
      };
      await sandbox.reverse(await paid(), 'refund', 100);
      for (const status of ['pending', 'attention', 'succeeded', 'failed'] as const) {
        const reference = await paid();
        await sandbox.reverse(reference, 'refund');
        await sandbox.moveRefund(reference, status);
      }
      for (const status of ['won', 'lost'] as const) {
        const reference = await paid();
        await sandbox.dispute(reference, 'open');
        await sandbox.dispute(reference, status);
      }
      for (const arrives of [true, false]) {
        sandbox.faults.delayed = true;
        const reference = await paid();
        Object.assign(sandbox.faults, NO_FAULTS);
        await sandbox.finishDelayed(reference, arrives);
      }
      sandbox.faults.declineTimes = 1;
      await paid();
    }
    const { id } = await openA();
    await ask('POST', `/v1/checkout/sessions/${id}/expire`, {});
    sandbox.setAccountReady(secretKey, false);
    const kinds = () => new Set(messages.map(({ type, event }) => type ?? event));
    await untilTrue(async () => [...EVERYTHING_A, ...EVERYTHING_B].every((kind) => kinds().has(kind)));
    sandbox.setAccountReady(secretKey, true);
  });
  afterAll(async () => {
    await sandbox.stop();
    await merchant.stop();
  });

  test('a session of provider_a in every state is complete by the official schema, and has the fields of its sample', async () => {
    const sessions = [
      await openA(),
      ...messages.filter(({ type }) => /^checkout\.session\./.test(type)).map(({ data }) => data.object),
    ];
    expect(sessions.length).toBeGreaterThan(8);
    for (const session of sessions) {
      expect(faultsBy('a#/definitions/session', session)).toBe('');
      expect(unlike(session, samplesA['checkout.session'])).toEqual([]);
    }
  });

  test('an expanded session of provider_a holds payment, charge, settlement and refunds with the fields of their samples', async () => {
    const opened = await openA();
    await decide(opened.url, 'pay');
    await sandbox.reverse(opened.client_reference_id, 'refund', 300);
    const intent = (await sessionOf(opened.id)).payment_intent;
    expect(unlike(intent, samplesA['payment_intent'])).toEqual([]);
    expect(unlike(intent.latest_charge, samplesA['charge'])).toEqual([]);
    expect(intent.latest_charge).toMatchObject({ amount_refunded: 300, refunded: false, amount: 900 });
    expect(unlike(intent.latest_charge.balance_transaction, samplesA['balance_transaction'])).toEqual([]);
    expect(unlike(intent.latest_charge.refunds, samplesA['charge'].refunds)).toEqual([]);
    for (const refund of intent.latest_charge.refunds.data) expect(unlike(refund, samplesA['refund'])).toEqual([]);
    expect(unlike(await ask('POST', '/v1/refunds', { payment_intent: intent.id }), samplesA['refund'])).toEqual([]);
  });

  test.each([
    ['charges', 'charge'],
    ['refunds', 'refund'],
    ['disputes', 'dispute'],
    ['webhook_endpoints', 'webhook_endpoint'],
  ])('the list of %s of provider_a holds objects with the fields of their sample', async (name, kind) => {
    const list = await ask('GET', `/v1/${name}?limit=100`);
    expect(unlike(list, samplesA['charge'].refunds)).toEqual([]);
    expect(list.data.length).toBeGreaterThan(0);
    for (const object of list.data) expect(unlike(object, samplesA[kind])).toEqual([]);
  });

  test('an account of provider_a has the fields of its sample', async () => {
    expect(unlike(await ask('GET', '/v1/account'), samplesA['account'])).toEqual([]);
  });

  test('every message of provider_a has the fields of the official event, and its object those of its own sample', () => {
    const sent = messages.filter(({ object }) => object === 'event');
    expect([...new Set(sent.map(({ type }) => type))].toSorted()).toEqual(EVERYTHING_A.toSorted());
    for (const message of sent) {
      expect(unlike(message, samplesA['event'])).toEqual([]);
      const { object } = message.data;
      expect([message.type, unlike(object, samplesA[object.object])]).toEqual([message.type, []]);
    }
    const disputes = sent.filter(({ type }) => type === 'charge.dispute.closed');
    expect(disputes.map(({ data }) => data.object.status)).toEqual(['won', 'lost']);
  });

  const bodyOf = (schema: string): Any => schemaB.$defs[schema].properties.data;

  test('a transaction of provider_b in every state is complete by the official schema, and has no field of its own', async () => {
    const { verify, url, opened } = await openB();
    expect(faultsBy('b#/definitions/initializeResponse', opened)).toBe('');
    expect(unlike(opened.data, samplesB.initialize['200'].data.data)).toEqual([]);
    sandbox.faults.declineTimes = 1;
    for (const outcome of ['cancel', 'pay', 'pay'] as const) {
      const answer = await ask('GET', verify);
      expect(faultsBy('b#/definitions/verifyResponse', answer)).toBe('');
      expect(unlike(answer.data, samplesB.verify['200'].data.data)).toEqual([]);
      await decide(url, outcome);
    }
    expect((await ask('GET', verify)).data.status).toBe('success');
  });

  test('listed transactions of provider_b, and their pages, are complete by the official schema', async () => {
    const answer = await ask('GET', '/transaction?perPage=50');
    const item = schemaB.$defs['schemas.TransactionListResponseArray'];
    // The schema wants a time of payment of unpaid ones too, which cannot be.
    const paid = answer.data.filter((one: Any) => one.paid_at !== null);
    expect(paid.length).toBeGreaterThan(5);
    expect(faultsBy('b#/$defs/schemas.TransactionListResponse', { ...answer, data: paid })).toBe('');
    for (const one of answer.data) expect(differences(one, item.required, Object.keys(item.properties))).toEqual([]);
  });

  test('a refund of provider_b is complete by the official schemas when it is made, read and listed', async () => {
    const { reference, url } = await openB();
    await decide(url, 'pay');
    const begun = await ask('POST', '/refund', { transaction: reference, amount: 20_000 });
    expect(faultsBy('b#/$defs/schemas.RefundCreateResponse', begun)).toBe('');
    expect(unlike(begun.data, samplesB.refund_create['200'].data.data)).toEqual([]);
    const answer = await ask('GET', `/refund/${begun.data.id}`);
    expect(faultsBy('b#/$defs/schemas.RefundFetchResponse', answer)).toBe('');
    const { required, properties } = bodyOf('schemas.RefundFetchResponse');
    const listed = await ask('GET', '/refund');
    for (const refund of [answer.data, ...listed.data])
      expect(differences(refund, required, Object.keys(properties))).toEqual([]);
  });

  test('every message of provider_b has the fields of its official sample', async () => {
    const { webhook_events: events, refund_events: refunds, bank_transfer_events: transfers } = samplesB;
    const samples: Record<string, Any> = {
      'charge.success': transfers.charge_successful,
      'refund.processing': refunds.refund_processing,
      'refund.processed': refunds.refund_processed,
      'refund.failed': refunds.refund_failed,
      'refund.needs-attention': refunds.refund_needs_attention,
      'charge.dispute.create': events.charge_dispute_create,
      'charge.dispute.resolve': events.charge_dispute_resolve,
    };
    const sent = messages.filter(({ event }) => event !== undefined);
    expect([...new Set(sent.map(({ event }) => event))].toSorted()).toEqual(EVERYTHING_B.toSorted());
    for (const message of sent) {
      const sample = samples[message.event];
      expect([message.event, unlike(message, sample)]).toEqual([message.event, []]);
      expect([message.event, unlike(message.data, sample.data)]).toEqual([message.event, []]);
    }
    for (const dispute of (await ask('GET', '/dispute')).data) {
      expect(unlike(dispute, events.charge_dispute_create.data)).toEqual([]);
      expect(unlike(dispute.transaction, events.charge_dispute_create.data.transaction)).toEqual([]);
    }
  });

  test('refusals of provider_b are complete by the official schema', async () => {
    const { reference } = await openB();
    const again = { email: 'payer@mail.example', amount: 5_000, currency: 'NGN', reference, metadata: {} };
    const refused = await ask('POST', '/transaction/initialize', again);
    expect(faultsBy('b#/definitions/badRequest', refused)).toBe('');
    expect(unlike(refused, samplesB.error_sample.json)).toEqual([]);
  });
});
