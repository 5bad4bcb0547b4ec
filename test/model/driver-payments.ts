import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { readSandboxKey, sandboxAccountId, sandboxKey } from '#sandbox/sandbox-keys.ts';
import { type Sandbox, startSandbox } from '#sandbox/start-sandbox.ts';
import type { DriverProvider } from './driver.ts';
import { Messages } from './driver-messages.ts';
import { driverNow } from './driver-time.ts';

interface Page {
  readonly provider: DriverProvider;
  readonly secretKey: string;
  readonly reference: string;
}

type Json = Readonly<Record<string, unknown>>;
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const field = (value: unknown, name: string): unknown => (isJson(value) ? value[name] : undefined);
const newId = (prefix: string): string => prefix + randomBytes(12).toString('hex');

/** The APIs as the service sees them: the sandbox's answers, and the disputes that it does not know of. */
export class DriverPayments {
  readonly messages: Messages;
  readonly #pages = new Map<string, Page>();
  readonly #secrets = new Map<string, string>();
  /** Of provider_a, by payment: disputes that are not lost. */
  readonly #disputes = new Map<string, 'needs_response' | 'won'>();
  #sandbox: Sandbox | undefined;
  #server: ReturnType<typeof createServer> | undefined;
  #url = '';

  constructor(service: () => string) {
    this.messages = new Messages(service, (businessId) => this.#secrets.get(businessId) ?? '');
  }

  async start(): Promise<void> {
    this.#sandbox = await startSandbox({
      production: false,
      now: driverNow,
      webhookTarget: ({ secretKey, provider }) => {
        const account = readSandboxKey(secretKey);
        return account && this.messages.target(provider, account.businessId);
      },
    });
    const server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
    this.#server = server;
    this.#url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  get sandbox(): Sandbox {
    if (this.#sandbox === undefined) throw new Error('the sandbox was not started');
    return this.#sandbox;
  }

  /** Where the services find both providers. */
  get url(): string {
    return this.#url;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/' } = request;
    const body = await text(request);
    const answer = await fetch(`${this.sandbox.url}${path}`, {
      method,
      headers: Object.fromEntries(
        ['authorization', 'content-type', 'idempotency-key'].flatMap((name) => {
          const value = request.headers[name];
          return typeof value === 'string' ? [[name, value]] : [];
        }),
      ),
      ...(body === '' ? {} : { body }),
    });
    const content: unknown = JSON.parse(await answer.text());
    const secretKey = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    this.#note(method, path, secretKey, content);
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(this.#withDisputes(path, content)));
  }

  #note(method: string, path: string, secretKey: string, content: unknown): void {
    if (method !== 'POST') return;
    const data = field(content, 'data');
    const [provider, pageId, reference] =
      path === '/v1/checkout/sessions'
        ? (['provider_a', field(content, 'id'), field(content, 'client_reference_id')] as const)
        : (['provider_b', field(data, 'access_code'), field(data, 'reference')] as const);
    if (typeof pageId === 'string' && typeof reference === 'string')
      this.#pages.set(pageId, { provider, secretKey, reference });
  }

  #withDisputes(path: string, content: unknown): unknown {
    if (this.#disputes.size === 0 || !isJson(content)) return content;
    if (path.startsWith('/v1/disputes')) {
      const payment = new URL(path, this.sandbox.url).searchParams.get('payment_intent') ?? '';
      const status = this.#disputes.get(payment);
      return status === undefined ? content : { ...content, data: [{ id: 'dp_1', object: 'dispute', status }] };
    }
    const intent = content['payment_intent'];
    const charge = field(intent, 'latest_charge');
    if (!isJson(intent) || !isJson(charge) || !this.#disputes.has(String(intent['id']))) return content;
    return { ...content, payment_intent: { ...intent, latest_charge: { ...charge, disputed: true } } };
  }

  /** The key of a new business at its provider. */
  openAccount(businessId: string, provider: DriverProvider): { secretKey: string; country: string } {
    const country = provider === 'provider_a' ? 'US' : 'NG';
    const secretKey = sandboxKey(businessId, country, randomBytes(16).toString('hex'));
    this.#secrets.set(businessId, secretKey);
    return { secretKey, country };
  }

  async pay(checkoutUrl: string, outcome: 'pay' | 'fail' | 'cancel'): Promise<{ status: number; location: string }> {
    const answer = await fetch(checkoutUrl, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ outcome }),
    });
    await answer.body?.cancel();
    return { status: answer.status, location: answer.headers.get('location') ?? '' };
  }

  #pageOf(checkoutUrl: string): Page & { readonly id: string } {
    const id = checkoutUrl.slice(checkoutUrl.lastIndexOf('/') + 1);
    const page = this.#pages.get(id);
    if (page === undefined) throw new Error('no checkout has this address');
    return { id, ...page };
  }

  async #ask(page: Page, path: string): Promise<unknown> {
    const answer = await fetch(`${this.sandbox.url}${path}`, {
      headers: { authorization: `Bearer ${page.secretKey}` },
    });
    return answer.json();
  }

  async refund(checkoutUrl: string): Promise<void> {
    await this.sandbox.reverse(this.#pageOf(checkoutUrl).reference, 'refund');
  }

  async dispute(checkoutUrl: string, step: 'opened' | 'won' | 'lost'): Promise<void> {
    const page = this.#pageOf(checkoutUrl);
    const businessId = readSandboxKey(page.secretKey)?.businessId ?? '';
    if (page.provider === 'provider_b') {
      if (step === 'lost') return this.sandbox.reverse(page.reference, 'dispute');
      const answer = await this.#ask(page, `/transaction/verify/${encodeURIComponent(page.reference)}`);
      const transaction = field(answer, 'data');
      if (field(transaction, 'status') !== 'success') throw new Error('only a paid page can be disputed');
      const [event, status] =
        step === 'opened'
          ? ['charge.dispute.create', 'awaiting-merchant-feedback']
          : ['charge.dispute.resolve', 'resolved'];
      const data = { id: 5_000_000_000 + randomBytes(4).readUInt32BE(), status, transaction };
      this.messages.arise('provider_b', businessId, JSON.stringify({ event, data }));
      return;
    }
    const intent = field(await this.#ask(page, `/v1/checkout/sessions/${page.id}`), 'payment_intent');
    const payment = field(intent, 'id');
    if (typeof payment !== 'string') throw new Error('only a paid page can be disputed');
    if (step === 'lost') {
      await this.sandbox.reverse(page.reference, 'dispute');
      this.#disputes.delete(payment);
      return;
    }
    const status = step === 'opened' ? 'needs_response' : 'won';
    this.#disputes.set(payment, status);
    const message = {
      ...{ id: newId('evt_'), object: 'event', created: Math.floor(driverNow() / 1_000), livemode: false },
      type: step === 'opened' ? 'charge.dispute.created' : 'charge.dispute.closed',
      account: sandboxAccountId(page.secretKey),
      data: { object: { id: newId('dp_'), object: 'dispute', status, payment_intent: payment, metadata: {} } },
    };
    this.messages.arise('provider_a', businessId, JSON.stringify(message));
  }

  /** Ends a history: its businesses are gone. */
  forget(): void {
    this.messages.forget();
    this.#pages.clear();
    this.#secrets.clear();
    this.#disputes.clear();
  }

  async stop(): Promise<void> {
    this.messages.stop();
    this.#server?.closeAllConnections();
    this.#server?.close();
    await this.#sandbox?.stop();
  }
}
