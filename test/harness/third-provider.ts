import { createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { createMoneyRules } from '#src/payment-providers/currencies.ts';
import {
  type AdapterOptions,
  appendAttempt,
  type CheckoutHandle,
  isAttemptId,
  type ListedPayment,
  type ListedReversal,
  type PaymentProvider,
  type ProviderCredentials,
  type ProviderKind,
  type ProviderState,
  type RefundRequest,
  type RefundResult,
} from '#src/payment-providers/provider.ts';
import {
  failureOf,
  PaymentProviderRefused,
  PaymentProviderUnavailable,
} from '#src/payment-providers/provider-fault.ts';
import { listen } from './listen.ts';

// A provider that exists for tests alone: it needs nothing of the payer, counts in whole euros, and names orders.

const NAME = 'provider_c';
const KEY = /^sk_test_third_/;

interface Order {
  readonly order: string;
  readonly attempt: string;
  readonly reference: string;
  readonly euros: number;
  readonly back: string | null;
  status: 'open' | 'paid' | 'refused' | 'returned';
  readonly atMs: number;
}

const textOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
};

/** Starts the provider itself: an API, a page to pay on, and one signed message for each payment. */
export async function startThirdProvider() {
  const orders = new Map<string, Order>();
  const faults = { latencyMs: 0, refuseStatus: 0, refuseTimes: 0, resetAfterTimes: 0, malformedTimes: 0 };
  const third = { ...faults, refuseRefunds: false };
  let receiver: { url: string; secretKey: string } | undefined;

  const answerApi = (path: string, body: Partial<Order>): [number, unknown] => {
    const order = orders.get(body.order ?? '');
    if (path === '/account') return [200, { country: 'FR', currencies: ['eur'] }];
    if (path === '/orders') return [200, [...orders.values()]];
    if (path === '/open') {
      const { attempt = '', reference = '', euros = 0, back = null } = body;
      const opened = { order: randomBytes(8).toString('hex'), attempt, reference, euros, back };
      orders.set(opened.order, { ...opened, status: 'open', atMs: Date.now() });
      return [200, opened];
    }
    if (order === undefined) return [404, { code: 'no_such_order' }];
    if (path === '/return' && third.refuseRefunds) return [400, { code: 'balance_too_small' }];
    if (path === '/return' && order.status === 'paid') order.status = 'returned';
    return [200, order];
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '/';
    const text = await textOf(request);
    const page = orders.get(path.replace('/pay/', ''));
    if (page !== undefined) {
      const outcome = new URLSearchParams(text).get('outcome');
      if (outcome === 'pay') page.status = 'paid';
      if (outcome === 'fail') page.status = 'refused';
      const location = page.back ?? '/';
      response.writeHead(303, { location }).end();
      if (receiver === undefined || outcome !== 'pay') return;
      const body = JSON.stringify({ order: page.order, attempt: page.attempt });
      const signature = createHmac('sha256', receiver.secretKey).update(body).digest('hex');
      await fetch(receiver.url, { method: 'POST', body, headers: { 'x-third-signature': signature } });
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, third.latencyMs));
    if (third.refuseTimes > 0) {
      third.refuseTimes -= 1;
      return void response.writeHead(third.refuseStatus).end('{}');
    }
    if (!KEY.test(request.headers.authorization ?? '')) return void response.writeHead(401).end('{}');
    const [status, answer] = answerApi(path, text === '' ? {} : JSON.parse(text));
    if (third.resetAfterTimes > 0) return void request.socket.destroy();
    response.writeHead(status).end(third.malformedTimes > 0 ? '{"order' : JSON.stringify(answer));
  };
  const server = createServer((request, response) => void serve(request, response));
  return {
    ...(await listen(server)),
    faults: third,
    /** Sends the merchant's messages to an address. */
    sendTo(url: string, secretKey: string): void {
      receiver = { url, secretKey };
    },
  };
}

const MONEY = createMoneyRules(new Map([['eur', { decimals: 0, step: 1, minimum: 1, maximum: 1_000 }]]));
const orderSchema = z.object({
  order: z.string(),
  attempt: z.string(),
  reference: z.string(),
  euros: z.int(),
  status: z.string(),
  atMs: z.int(),
});
const openedSchema = orderSchema.omit({ status: true, atMs: true });
const messageSchema = z.object({ order: z.string(), attempt: z.string() });
const accountSchema = z.object({ country: z.string(), currencies: z.array(z.string()) });

function connect({ baseUrl = 'http://127.0.0.1:9', timeoutMs = 10_000 }: AdapterOptions): PaymentProvider {
  async function ask<T>(schema: z.ZodType<T>, { secretKey }: ProviderCredentials, path: string, body = {}): Promise<T> {
    const call = {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { authorization: secretKey },
      signal: AbortSignal.timeout(timeoutMs),
    };
    const answer = await fetch(`${baseUrl}${path}`, call).catch(() => undefined);
    if (answer === undefined) throw new PaymentProviderUnavailable(NAME, 'network');
    const read = await answer.json().catch(() => undefined);
    if (!answer.ok) throw failureOf(NAME, answer.status, z.object({ code: z.string() }).safeParse(read).data?.code);
    const parsed = schema.safeParse(read);
    if (!parsed.success) throw new PaymentProviderUnavailable(NAME, 'unreadable');
    return parsed.data;
  }
  const paymentOf = (order: z.infer<typeof orderSchema>) => ({
    amountMinor: MONEY.fromProviderAmount('eur', order.euros),
    currency: 'eur',
    reference: order.reference,
    attemptId: order.attempt,
    providerPaymentId: order.order,
    paidAtMs: order.atMs,
    feeMinor: null,
    livemode: false,
  });
  const readCheckout = async (credentials: ProviderCredentials, handle: CheckoutHandle): Promise<ProviderState> => {
    if (handle.page === null) return { kind: 'missing' };
    const order = await ask(orderSchema, credentials, '/read', { order: handle.page['order'] });
    if (order.status === 'paid') return { kind: 'paid', payment: paymentOf(order) };
    if (order.status === 'returned') {
      const payment = paymentOf(order);
      return { kind: 'reversed', cause: 'refund', payment, backMinor: payment.amountMinor };
    }
    if (order.status === 'refused') return { kind: 'failed' };
    return { kind: 'unpaid', refused: false };
  };
  const readRefund = async (credentials: ProviderCredentials, refundId: string): Promise<RefundResult> => {
    const { status } = await ask(orderSchema, credentials, '/read', { order: refundId });
    return status === 'returned' ? { kind: 'refunded', refundId } : { kind: 'refused', code: null };
  };
  async function* listed(credentials: ProviderCredentials) {
    yield* await ask(z.array(orderSchema), credentials, '/orders');
  }
  return {
    money: MONEY,
    referenceFor: (attemptId) => attemptId,
    attemptOfReference: (reference) => (isAttemptId(reference) ? reference : null),
    keyFault: ({ secretKey }) => (secretKey === undefined || KEY.test(secretKey) ? null : 'a key begins otherwise'),
    async describeAccount(credentials) {
      const { country, currencies } = await ask(accountSchema, credentials, '/account');
      return { accountId: null, ready: true, country, supportedCurrencies: currencies, livemode: false };
    },
    async createCheckout(credentials, { attemptId, reference, amountMinor, currency, returnUrl }) {
      const euros = MONEY.toProviderAmount(currency, amountMinor);
      const back = returnUrl == null ? null : appendAttempt(returnUrl, attemptId);
      const { order } = await ask(openedSchema, credentials, '/open', { attempt: attemptId, reference, euros, back });
      return { provider: NAME, checkoutUrl: `${baseUrl}/pay/${order}`, order };
    },
    readCheckout,
    async refund(credentials, { providerPaymentId }: RefundRequest) {
      try {
        await ask(orderSchema, credentials, '/return', { order: providerPaymentId });
      } catch (fault) {
        if (fault instanceof PaymentProviderRefused && fault.status === 400)
          return { kind: 'refused', code: fault.code };
        throw fault;
      }
      return readRefund(credentials, providerPaymentId);
    },
    readRefund,
    async findRefunds(credentials, { providerPaymentId }) {
      const found = await readRefund(credentials, providerPaymentId);
      return { whole: found.kind === 'refunded' ? found : null, partMinor: 0 };
    },
    async *listPayments(credentials): AsyncGenerator<ListedPayment> {
      for await (const order of listed(credentials)) {
        const paid = order.status === 'paid' || order.status === 'returned';
        yield { ...paymentOf(order), providerStatus: order.status, paid, atMs: order.atMs };
      }
    },
    async *listReversals(credentials): AsyncGenerator<ListedReversal> {
      for await (const order of listed(credentials)) {
        if (order.status === 'returned') yield { ...paymentOf(order), kind: 'refund', status: 'done' };
      }
    },
    notListed: 'nothing',
    verifyWebhook({ secretKey }, rawBody, headers) {
      const right = createHmac('sha256', secretKey).update(rawBody).digest('hex');
      if (headers.get('x-third-signature') !== right) return { kind: 'forged', reason: 'signature' };
      const { order, attempt } = messageSchema.parse(JSON.parse(Buffer.from(rawBody).toString()));
      const notice = { eventKey: order, eventType: 'paid', topic: 'payment', attemptId: attempt } as const;
      const ids = { reference: null, checkoutSessionId: null, providerPaymentId: order };
      return { kind: 'genuine', notice: { ...notice, ...ids } };
    },
    close: async () => undefined,
  };
}

/** The line of registration. */
export const PROVIDER_C: ProviderKind = {
  money: MONEY,
  needs: [],
  needsWebhookSecret: false,
  pageLifeMs: 7_200_000,
  pageView: z.object({ checkoutUrl: z.string(), order: z.string() }),
  rehearsedPage: (id) => ({ order: id }),
  connect,
};
