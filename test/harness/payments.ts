import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import formatsModule from 'ajv-formats';
import { afterEach } from 'vitest';
import { NO_FAULTS } from '#sandbox/faults.ts';
import type { ApiRequest } from '#sandbox/sandbox-context.ts';
import { readSandboxKey, sandboxKey, sandboxWebhookSecret } from '#sandbox/sandbox-keys.ts';
import { type Sandbox, startSandbox } from '#sandbox/start-sandbox.ts';
import { paymentDeps } from '#src/fulfilments.ts';
import { connectBusiness } from '#src/payments/connect-business.ts';
import { reconcilePayments } from '#src/payments/reconcile-payments.ts';
import { createTestEvent, demand, PLURALITY, type PositionPlan, visitor, votesFor } from './elections.ts';
import {
  eventually,
  startTestService,
  type TestAccount,
  type TestAnswer,
  type TestService,
  type TestServiceOptions,
  untilTrue,
} from './test-service.ts';
import { use } from './use.ts';

export type TestProvider = 'provider_a' | 'provider_b';
export const PROVIDERS = ['provider_a', 'provider_b'] as const;

const CASES = path.resolve(import.meta.dirname, '../../../shared/cases/payments');

function readSchema(name: string): { definitions: Record<string, object> } | undefined {
  const file = path.join(CASES, name);
  if (!existsSync(file)) return undefined;
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Judges every request to the providers by their published schemas, where the shared cases are present. */
export function publishedSchemas(): ((request: ApiRequest) => string | undefined) | undefined {
  const forA = readSchema('stripe-checkout.schema.json');
  const forB = readSchema('paystack.schema.json');
  if (forA === undefined || forB === undefined) {
    console.info('payments: the shared schemas are absent, requests are judged by the sandbox alone');
    return undefined;
  }
  const ajv = new Ajv({ strict: false, coerceTypes: true, allErrors: true });
  // The package's default export is wrapped when it is loaded as an ES module.
  (formatsModule as unknown as { default: (ajv: Ajv) => void }).default(ajv);
  ajv.addSchema(forA, 'a').addSchema(forB, 'b');
  const rules: readonly [TestProvider, string, RegExp, string][] = [
    ['provider_a', 'POST', /^\/v1\/checkout\/sessions$/, 'a#/definitions/requestCreateProfile'],
    ['provider_a', 'POST', /^\/v1\/refunds$/, 'a#/definitions/requestRefundOfficial'],
    ['provider_b', 'POST', /^\/transaction\/initialize$/, 'b#/definitions/initializeRequestStrict'],
    ['provider_b', 'POST', /^\/refund$/, 'b#/definitions/refundRequest'],
  ];
  // Compiled before the first request: at it, this would hold the loop of the service, too, for longer than a request waits for a connection.
  for (const [, , , name] of rules) ajv.getSchema(name);
  return (request) => {
    const rule = rules.find(
      ([provider, method, at]) => provider === request.provider && method === request.method && at.test(request.path),
    );
    if (rule === undefined) return undefined;
    const body = structuredClone(request.body);
    return ajv.validate(rule[3], body) ? undefined : ajv.errorsText();
  };
}

let judge: ReturnType<typeof publishedSchemas>;

export interface PaidTestService {
  readonly service: TestService;
  readonly sandbox: Sandbox;
  /** Creates a poll of a fresh account that is paid through a provider; the price of a vote unless told otherwise. */
  poll(...plan: PaidPlan): Promise<PaidEvent>;
  stop(): Promise<void>;
}
type PaidPlan = Parameters<typeof createPaidEvent> extends [unknown, ...infer Plan] ? Plan : never;

/** A service with both providers played by the sandbox, over real HTTP in both directions. */
export async function startPaidTestService(options: TestServiceOptions = {}): Promise<PaidTestService> {
  let port: number | undefined;
  judge ??= publishedSchemas();
  const sandbox = await startSandbox({
    production: false,
    now: () => Date.now(),
    webhookTarget: ({ secretKey, provider }) =>
      port === undefined
        ? undefined
        : `http://127.0.0.1:${port}/provider-webhooks/${provider}/${readSandboxKey(secretKey)?.businessId}`,
    ...(judge === undefined ? {} : { judge }),
  });
  const service = await startTestService({ ...options, sandboxUrl: sandbox.url });
  port = service.port;
  return {
    service,
    sandbox,
    poll: (...plan) => createPaidEvent(service, ...plan),
    async stop() {
      await service.stop();
      await sandbox.stop();
    },
  };
}

/** The same for the tests of this file, stopped after the last of them. What one makes the providers do ends with it. */
export async function usePaidService(options: TestServiceOptions = {}): Promise<PaidTestService> {
  const paid = await use(startPaidTestService(options));
  afterEach(() => void Object.assign(paid.sandbox.faults, NO_FAULTS));
  return paid;
}

/** A sandbox business of an account. */
export async function connectTestBusiness(
  { deps }: Pick<TestService, 'deps'>,
  account: Pick<TestAccount, 'id'>,
  provider: TestProvider,
): Promise<{ id: string; secretKey: string }> {
  const id = deps.ids.sortable('biz');
  const country = provider === 'provider_a' ? 'US' : 'NG';
  const secretKey = sandboxKey(id, country, randomBytes(16).toString('hex'));
  await connectBusiness(deps, {
    id,
    accountId: account.id,
    provider,
    displayName: 'The shop',
    country,
    sandbox: true,
    credentials: { secretKey, webhookSecret: sandboxWebhookSecret(secretKey) },
  });
  return { id, secretKey };
}

export const PRICE = {
  provider_a: { amountMinor: 500, currency: 'usd' },
  provider_b: { amountMinor: 50_000, currency: 'ngn' },
};
/** A quadratic position whose credits are sold. @param maxCredits in one purchase @param settings more of the position */
export const soldCredits = (provider: TestProvider, maxCredits = 9, settings: object = {}): PositionPlan => ({
  votingMethod: 'quadratic',
  candidates: ['Ada', 'Bea'],
  settings: {
    ...settings,
    quadraticTopUp: {
      ...{ pricingModel: 'ratio', currency: PRICE[provider].currency, pricePerCreditMinor: 10_000 },
      ...{ minCredits: 1, maxCredits },
    },
  },
});
export const RETURN_URL = 'https://shop.example/back?order=7#top';

/** A first call that asks for money: its attempt, the page where it is paid, and all that was answered. */
interface Checkout {
  readonly attempt: string;
  readonly url: string;
  readonly data: TestAnswer['body'];
}

export type PaidEvent = Awaited<ReturnType<typeof createPaidEvent>>;

/** A poll that is paid through a sandbox business of a fresh account, open unless told otherwise. @param settings more of the event */
export async function createPaidEvent(
  service: TestService,
  provider: TestProvider,
  settings: { readonly payments?: Record<string, unknown>; readonly [name: string]: unknown } = {},
  plans: readonly PositionPlan[] = PLURALITY,
  open = true,
) {
  const account = await service.account();
  const { id: businessId, secretKey } = await connectTestBusiness(service, account, provider);
  const { payments = { payToVote: PRICE[provider] }, ...rest } = settings;
  const key = { key: account.write };
  const link = async (id: string): Promise<void> => {
    const business = { paymentBusinessId: businessId };
    demand(await service.call('PUT', `/voting-events/${id}/payment-business`, business, key), 200);
    if (Object.keys(payments).length > 0)
      demand(await service.call('PATCH', `/voting-events/${id}`, { payments }, key), 200);
  };
  const event = await createTestEvent(service, account, { title: 'A paid poll', ...rest }, plans, open, link);
  /** What its page asks, with the key that votes. */
  const page = (path: string, body?: unknown) => account.page(event, path, body);
  /** A payment, as its organizer sees it. */
  const payment = async (attempt: string): Promise<TestAnswer['body']> =>
    demand(await account.get(`/voting-events/${event.id}/payments/${attempt}`), 200);
  /** Waits until the organizer sees a payment so, and returns it. */
  const until = (attempt: string, holds: (payment: TestAnswer['body']) => boolean): Promise<TestAnswer['body']> =>
    eventually(async () => {
      const seen = await payment(attempt);
      return holds(seen) ? seen : undefined;
    });
  const succeeded = (attempt: string) => until(attempt, ({ status }) => status === 'succeeded');
  /** The first call of any checkout, by a payer who has all that is asked for. @param path where it is sent to */
  const checkout = async (path: string, body: object): Promise<Checkout> => {
    const answer = await page(path, { email: 'payer@mail.example', returnUrl: RETURN_URL, ...body });
    const data = demand(answer, 402);
    return { attempt: data.paymentAttemptId as string, url: checkoutUrlOf(answer), data };
  };
  /** The first call of a vote. @param more of its body */
  const begin = (more = {}) => checkout('ballot/cast', { visitorId: visitor(), votes: votesFor(event), ...more });
  /** The same, and what its payer does; the attempt. */
  const pay = async (more = {}) => {
    const { attempt, url } = await begin(more);
    await decide(url, 'pay');
    return attempt;
  };
  /** The second call of a vote. */
  const cast = (attempt: string) => page('ballot/cast', { paymentAttemptId: attempt });
  return {
    ...event,
    ...{ account, provider, businessId, secretKey, page, payment, until, begin, pay, cast, checkout, succeeded },
    /** Waits until a payment has gone back, or was reversed. */
    refunded: (attempt: string) => until(attempt, ({ refundedAt }) => refundedAt !== null),
    reversed: (attempt: string) => until(attempt, ({ reversedAt }) => reversedAt !== null),
    change: (body: object) => account.change(`/voting-events/${event.id}`, body),
    /** Reads what is below the event, as its organizer. */
    show: (path: string) => account.show(`/voting-events/${event.id}${path}`),
    /** The second call of a vote that must be taken; the code that confirms it. */
    castCode: async (attempt: string): Promise<string> => demand(await cast(attempt), 201).confirmationCode,
    /** The first call of any checkout and its payment, until the service knows of it; the attempt. */
    async buy(path: string, body: object): Promise<string> {
      const { attempt, url } = await checkout(path, body);
      await decide(url, 'pay');
      await succeeded(attempt);
      return attempt;
    },
    /** A vote that is paid, once the service knows it; the attempt. */
    async payKnown(more?: object): Promise<string> {
      const attempt = await pay(more);
      await succeeded(attempt);
      return attempt;
    },
    /** A vote that is paid, cast and confirmed; the attempt. */
    async vote(more?: object): Promise<string> {
      const attempt = await pay(more);
      const { confirmationCode } = demand(await cast(attempt), 201);
      demand(await page('ballot/confirm', { confirmationCode }), 200);
      return attempt;
    },
  };
}

/** What the provider calls the payment of an attempt: where the sandbox is asked to reverse it. */
export const referenceOf = ({ provider }: Pick<PaidEvent, 'provider'>, attempt: string): string =>
  provider === 'provider_a' ? attempt : `${attempt.replace('_', '-')}.1`;

/** No message of a provider and no refund is under way. */
export const untilPaymentsRest = ({ query }: Pick<TestService, 'query'>) =>
  untilTrue(async () => {
    const names = "name IN ('refund_payment', 'process_provider_event')";
    const busy = `SELECT 1 FROM jobs WHERE ${names} AND (held_by IS NOT NULL OR (run_at <= now_ms() AND attempts < max_attempts))`;
    return (await query(busy)).length === 0;
  });

/** The jobs that ask for the refund of an attempt, once none of them runs: one that runs plans its next time at its end. */
export const restingRefundJobs = (service: TestService, attempt: string): Promise<string[]> =>
  eventually(async () => {
    const text = `SELECT id, held_by IS NOT NULL AS runs FROM jobs WHERE key LIKE 'refund:' || $1 || ':%'`;
    const rows = await service.query<{ id: string; runs: boolean }>(text, [attempt]);
    return rows.some(({ runs }) => runs) ? undefined : rows.map(({ id }) => id);
  });

/** As if the refund of an attempt had been due for so many days more; what is planned of it is done now. */
export async function ageRefund(service: TestService, attempt: string, days: number): Promise<void> {
  const aged = 'UPDATE payment_refunds SET created_at = created_at - $2::bigint * 86400000 WHERE attempt_id = $1';
  await service.query(aged, [attempt, days]);
  const jobs = await restingRefundJobs(service, attempt);
  await service.query('SELECT 1 FROM run_jobs_again($1::bigint[])', [jobs]);
}

/** One run of the job that asks about payments, as if this one were due now. */
export async function lookAtPayment(
  { deps, query }: Pick<TestService, 'deps' | 'query'>,
  attempt: string,
): Promise<void> {
  await query('UPDATE payment_attempts SET check_at = 1 WHERE id = $1 AND check_at IS NOT NULL', [attempt]);
  await reconcilePayments(paymentDeps(deps));
}

/** The refunds of an attempt. */
export const refundsOf = ({ query }: Pick<TestService, 'query'>, attempt: string) =>
  query<{ status: string; provider_payment_id: string }>('SELECT * FROM payment_refunds WHERE attempt_id = $1', [
    attempt,
  ]);

/** What a payer does on the hosted page; answers where they are sent. */
export async function decide(checkoutUrl: string, outcome: 'pay' | 'fail' | 'cancel'): Promise<string> {
  const answer = await fetch(checkoutUrl, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ outcome }),
  });
  if (answer.status !== 303) throw new Error(`the payment page answered ${answer.status}`);
  return answer.headers.get('location') ?? '';
}

export const checkoutUrlOf = (answer: TestAnswer): string => {
  const { data } = answer.body;
  return (data.provider_a ?? data.provider_b).checkoutUrl;
};
