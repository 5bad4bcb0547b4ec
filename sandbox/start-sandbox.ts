import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Checkout, Checkouts, expireWhenOver, newNumber } from './checkouts.ts';
import { answerControl, type SandboxControls } from './control-sandbox.ts';
import { NO_FAULTS, type SandboxFaults, takeFault } from './faults.ts';
import { parseForm } from './form-body.ts';
import { listPages } from './list-pages.ts';
import { closingPage, endedPage, paymentPage } from './payment-page.ts';
import { answerProviderA } from './provider-a-api.ts';
import { answerProviderB } from './provider-b-api.ts';
import {
  type ApiAnswer,
  type ApiRequest,
  disputePayment,
  endUnpaid,
  finishDelayed,
  markPaid,
  moveRefund,
  reversePayment,
  type SandboxContext,
  setAccountReady,
} from './sandbox-context.ts';
import { readSandboxKey } from './sandbox-keys.ts';
import { createWebhookSender, type WebhookOptions } from './send-webhooks.ts';

export interface SandboxOptions {
  readonly host?: string;
  /** The port; 0 takes any free port. */
  readonly port?: number;
  readonly production: boolean;
  /** The file that keeps pages across restarts. */
  readonly stateFile?: string | undefined;
  readonly webhookTarget: WebhookOptions['target'];
  readonly now: () => number;
  /** Another check of requests, for example by a provider's published schema. Returns the fault, or undefined. */
  readonly judge?: (request: ApiRequest) => string | undefined;
}

export interface Sandbox extends SandboxControls {
  /** The URL of both APIs. */
  readonly url: string;
  stop(): Promise<void>;
}

const MAX_BODY_BYTES = 262_144;
/** Number of requests and answers that are remembered; the oldest are dropped, because a demo may run for months. */
const MAX_REMEMBERED = 10_000;
// A form may redirect to any merchant. `img-src` is needed only for the page's empty icon.
const CSP =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self' http: https:; base-uri 'none'; frame-ancestors 'none'";

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_BODY_BYTES) throw new Error('a request to the sandbox is too large');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function sendJson(response: ServerResponse, { status, body }: ApiAnswer): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendPage(response: ServerResponse, status: number, html: string): void {
  response
    .writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': CSP,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
    .end(html);
}

/** Appends parameters to a URL. The rest keeps the merchant's spelling, because it may be signed. */
function withParameters(address: string, parameters: Record<string, string>): string {
  const hash = address.indexOf('#');
  const [target, fragment] = hash === -1 ? [address, ''] : [address.slice(0, hash), address.slice(hash)];
  return `${target}${target.includes('?') ? '&' : '?'}${new URLSearchParams(parameters)}${fragment}`;
}

/** The URL to which a payer goes after deciding: the merchant's, with the provider's parameters, or a page of the sandbox. */
function wayBack(checkout: Checkout, outcome: string): string {
  if (checkout.provider === 'provider_b') {
    if (checkout.successUrl === null) return `/done/${checkout.pageId}`;
    return withParameters(checkout.successUrl, { trxref: checkout.reference, reference: checkout.reference });
  }
  const back = outcome === 'cancel' ? (checkout.cancelUrl ?? checkout.successUrl) : checkout.successUrl;
  return back ?? `/done/${checkout.pageId}`;
}

/** Whether a page can still be paid. */
const takesPayment = ({ faults }: SandboxContext, { status }: Checkout): boolean =>
  status === 'open' || (status === 'expired' && faults.payAfterExpiry);

/**
 * Applies a payer's decision. `pay` pays; if the card is declined, the payer stays on the page and may try another one. `fail` means that
 * the last attempt is refused, and ends the page. `cancel` sends the payer back, and leaves the page as it is.
 */
async function decide(context: SandboxContext, checkout: Checkout, outcome: string): Promise<'back' | 'stay'> {
  if (!takesPayment(context, checkout) || outcome === 'cancel') return 'back';
  if (outcome === 'pay' && takeFault(context.faults, 'declineTimes')) {
    checkout.declined = true;
    context.checkouts.save();
    void context.tell(checkout, 'declined');
    return 'stay';
  }
  if (outcome === 'pay' && context.faults.delayed) {
    checkout.status = 'processing';
    context.checkouts.save();
    void context.tell(checkout, 'processing');
    return 'back';
  }
  if (outcome === 'pay') {
    markPaid(context, checkout);
    void context.tell(checkout, 'paid');
    return 'back';
  }
  endUnpaid(context, checkout);
  void context.tell(checkout, 'failed');
  return 'back';
}

async function servePage(
  context: SandboxContext,
  request: IncomingMessage,
  response: ServerResponse,
  pageId: string,
): Promise<void> {
  const checkout = context.checkouts.ofPage(pageId);
  if (checkout === undefined)
    return sendPage(response, 404, closingPage('No such payment', 'The address is not complete.'));
  expireWhenOver(checkout, context.now());
  const usable = takesPayment(context, checkout);
  if (request.method !== 'POST') {
    const page = usable
      ? paymentPage(checkout)
      : endedPage(checkout, wayBack(checkout, checkout.status === 'expired' ? 'cancel' : 'pay'));
    return sendPage(response, 200, page);
  }
  const outcome = new URLSearchParams(await readText(request)).get('outcome') ?? '';
  if (!['pay', 'fail', 'cancel'].includes(outcome)) {
    return sendPage(response, 400, closingPage('Choose one', 'outcome must be pay, fail or cancel.'));
  }
  const way = await decide(context, checkout, outcome);
  response.writeHead(303, { location: way === 'stay' ? `/pay/${pageId}` : wayBack(checkout, outcome) }).end();
}

/** Reads the key of a call, its body, and the API to which its path belongs. */
async function readCall(request: IncomingMessage, url: URL): Promise<{ secretKey: string; api: ApiRequest }> {
  const provider = url.pathname.startsWith('/v1/') ? 'provider_a' : 'provider_b';
  const text = await readText(request);
  const json = request.headers['content-type']?.startsWith('application/json') === true;
  const body: unknown = text === '' ? undefined : json ? JSON.parse(text) : parseForm(text);
  const idempotencyKey = request.headers['idempotency-key'];
  return {
    secretKey: /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '',
    api: {
      provider,
      method: request.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      body,
      idempotencyKey: typeof idempotencyKey === 'string' ? idempotencyKey : undefined,
    },
  };
}

/** Repeats the first answer to an idempotency key, as provider_a does. Refuses a key that comes with another request. */
class IdempotentAnswers {
  readonly #answers = new Map<string, { request: string; answer: Promise<ApiAnswer> }>();

  async run(secretKey: string, api: ApiRequest, work: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
    if (api.idempotencyKey === undefined || api.method !== 'POST') return work();
    const key = `${secretKey} ${api.idempotencyKey}`;
    const request = JSON.stringify([api.path, api.body]);
    const known = this.#answers.get(key);
    if (known === undefined) {
      const answer = work();
      this.#answers.set(key, { request, answer });
      const [oldest] = this.#answers.keys();
      if (this.#answers.size > MAX_REMEMBERED && oldest !== undefined) this.#answers.delete(oldest);
      return answer;
    }
    if (known.request === request) return known.answer;
    const error = { type: 'idempotency_error', message: 'Keys can only be used with the same parameters.' };
    return { status: 400, body: { error } };
  }
}

/** Refusals in the providers' words. provider_a also names the parameter; provider_b has only the text. */
const REFUSED_FIELDS = {
  email: { code: 'email_invalid', param: 'customer_email', message: 'Invalid Email Address Passed' },
  amount: { code: 'amount_too_small', param: 'line_items[0][price_data][unit_amount]', message: 'Amount is too small' },
  returnUrl: { code: 'url_invalid', param: 'success_url', message: 'callback_url is not a valid URL' },
} as const;

function playedRefusal(provider: ApiRequest['provider'], { refuseStatus, refuseField }: SandboxFaults): ApiAnswer {
  if (refuseStatus >= 429) return refusal(provider, refuseStatus, 'Try again later');
  const about = refuseField === null ? { code: 'account_restricted', message: 'No' } : REFUSED_FIELDS[refuseField];
  const { code, message } = about;
  const body =
    provider === 'provider_a'
      ? { error: { type: 'invalid_request_error', ...about } }
      : { status: false, message, code, type: 'validation_error' };
  return { status: refuseStatus, body };
}

function refusal(provider: ApiRequest['provider'], status: number, message: string): ApiAnswer {
  const body = provider === 'provider_a' ? { error: { type: 'api_error', message } } : { status: false, message };
  return { status, body };
}

async function serveApi(
  context: SandboxContext,
  options: SandboxOptions,
  memory: { readonly requests: ApiRequest[]; readonly idempotent: IdempotentAnswers },
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const { faults } = context;
  const { secretKey, api } = await readCall(request, url);
  memory.requests.push(api);
  if (memory.requests.length > MAX_REMEMBERED) memory.requests.shift();
  if (faults.latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, faults.latencyMs));
  if (faults.refuseStatus !== 0 && takeFault(faults, 'refuseTimes')) {
    return sendJson(response, playedRefusal(api.provider, faults));
  }
  if (takeFault(faults, 'gatewayTimes')) {
    return void response.writeHead(403, { 'content-type': 'text/html' }).end('<html><h1>403 Forbidden</h1></html>');
  }
  const account = readSandboxKey(secretKey);
  if (account === undefined) return sendJson(response, refusal(api.provider, 401, 'Invalid key'));
  const fault = options.judge?.(api);
  if (fault !== undefined) return sendJson(response, refusal(api.provider, 400, fault));
  const work = api.provider === 'provider_a' ? answerProviderA : answerProviderB;
  const answer = await memory.idempotent.run(secretKey, api, () => work(context, { account, request: api }));
  if (takeFault(faults, 'resetAfterTimes')) return void request.socket.destroy();
  if (takeFault(faults, 'malformedTimes')) {
    return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"id": "cs_tes');
  }
  sendJson(response, withForeignRows(faults, api, answer));
}

/** Adds rows of the merchant's other shops to the first page of a list. */
function withForeignRows(
  { foreignRows }: SandboxFaults,
  { method, path, query }: ApiRequest,
  answer: ApiAnswer,
): ApiAnswer {
  const isList = method === 'GET' && /^\/(?:v1\/(?:charges|refunds|disputes)|transaction|refund|dispute)$/.test(path);
  // A list of the objects of one payment has no rows of another shop.
  const isFirst = !query.has('payment_intent') && !query.has('starting_after') && (query.get('page') ?? '1') === '1';
  const { body } = answer;
  if (!isList || !isFirst || foreignRows.length === 0 || typeof body !== 'object' || body === null) return answer;
  const listed: unknown = Reflect.get(body, 'data');
  return Array.isArray(listed) ? { ...answer, body: { ...body, data: [...foreignRows, ...listed] } } : answer;
}

/**
 * Answers control requests, which only programs on this machine may send. A web page in the user's browser must not (CSRF): a browser sends
 * JSON to another origin only with permission. DNS rebinding does not help either: the host must be `localhost` or this server's own.
 */
async function serveControl(
  controls: SandboxControls,
  origin: string,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const text = await readText(request);
  const json = request.headers['content-type']?.startsWith('application/json') === true;
  const { host, port } = new URL(origin);
  const ownHosts = [host, `localhost:${port}`];
  if (!ownHosts.includes(request.headers.host ?? '') || (text !== '' && !json)) {
    return sendJson(response, {
      status: 400,
      body: { error: { message: 'a control takes JSON, at its own address' } },
    });
  }
  const body: unknown = text === '' ? undefined : JSON.parse(text);
  sendJson(response, await answerControl(controls, { method: request.method ?? 'GET', path, body }));
}

/**
 * Starts both providers in one program, with their APIs, payment pages and signed webhooks.
 * @throws Error in production, where play money could be mistaken for real money
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  if (options.production) throw new Error('the payment sandbox does not start in production');
  const memory = { requests: [] as ApiRequest[], idempotent: new IdempotentAnswers() };
  const ownTargets = new Map<string, string>();
  let origin = '';
  const target: SandboxContext['target'] = (account) =>
    ownTargets.get(account.secretKey) ?? options.webhookTarget(account);
  const context: SandboxContext = {
    checkouts: new Checkouts(options.stateFile),
    faults: { ...NO_FAULTS },
    restricted: new Set(),
    now: options.now,
    origin: () => origin,
    target,
    ...createWebhookSender(() => context, { target, now: options.now }),
  };
  const controls: SandboxControls = {
    faults: context.faults,
    requests: memory.requests,
    pages: () => listPages(context.checkouts, origin, context.now(), (one) => takesPayment(context, one)),
    advance: (ms) => context.checkouts.age(ms),
    reverse: (reference, kind, amount) => reversePayment(context, reference, kind, { id: newNumber(), amount }),
    dispute: (reference, status) => disputePayment(context, reference, status),
    finishDelayed: (reference, arrives) => finishDelayed(context, reference, arrives),
    moveRefund: (reference, status) => moveRefund(context, reference, status),
    setAccountReady: (secretKey, ready) => setAccountReady(context, secretKey, ready),
    registerWebhook: (secretKey, url) => void ownTargets.set(secretKey, url),
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', origin);
    const [, kind, pageId = ''] = /^\/(pay|done)\/([\w-]+)$/.exec(url.pathname) ?? [];
    if (kind === 'pay') return servePage(context, request, response, pageId);
    if (kind === 'done') return sendPage(response, 200, closingPage('Thank you', 'You may close this page.'));
    if (url.pathname.startsWith('/_sandbox/')) return serveControl(controls, origin, request, response, url.pathname);
    return serveApi(context, options, memory, request, response, url);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => {
      // A request that cannot be read is refused. Nothing that a caller sends may end the program.
      if (!response.headersSent) sendJson(response, refusal('provider_b', 400, 'This request cannot be read.'));
    });
  });
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port ?? 0, host, resolve);
  });
  origin = `http://${host}:${(server.address() as AddressInfo).port}`;

  return {
    ...controls,
    url: origin,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
