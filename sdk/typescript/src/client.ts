import {
  ConnectionError,
  errorOf,
  PaymentPendingError,
  PaymentRequiredError,
  type VotingServiceError,
} from './errors.ts';
import type {
  AnyPage,
  Arguments,
  Call,
  CallOf,
  CallOptions,
  CastBody,
  CastOutcome,
  Input,
  ListPath,
  Method,
  Page,
  PathOf,
  Resources,
  Row,
} from './types.ts';

export interface ClientOptions {
  /** The address of the service: `https://vote.example`. */
  readonly baseUrl: string;
  /** The API key. Keep it on your server. */
  readonly key: string;
  /** How often a call is sent again where that is safe: 4 times unless said otherwise. */
  readonly maxRetries?: number;
  /** How long one try may take, in milliseconds: 30,000 unless said otherwise. */
  readonly timeoutMs?: number;
  /** Sends the requests instead of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface WaitOptions {
  /** In milliseconds: 10 minutes unless said otherwise. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const MAX_RETRIES = 4;
const TIMEOUT_MS = 30_000;
/** The pause before the first retry is at most this long, before each further one twice as long. */
const FIRST_PAUSE_MS = 500;
/** A service that asks for more patience than this gets none: the caller decides. */
const LONGEST_PAUSE_MS = 60_000;
const RETRIED = [429, 500, 502, 503, 504];

/** What a key of either kind is written with. */
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

const PAYMENT_TIMEOUT_MS = 10 * 60 * 1_000;
/** The service asks the provider at most once in two seconds. */
const PAYMENT_PAUSE_MS = 2_000;

/** What any call may be given, whatever its path. */
interface AnyInput extends CallOptions {
  readonly path?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
}
interface Got {
  readonly response: Response;
  readonly text: string;
}

const entriesOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : [];

/** @throws TypeError for a value that would lead to another path */
function encodeSegment(name: string, value: string): string {
  // `..` is not escaped by anything: it would climb.
  if (/^\.{0,2}$/.test(value)) throw new TypeError(`path.${name} must not be ${JSON.stringify(value)}`);
  return encodeURIComponent(value);
}

function fillPath(template: string, parameters: unknown): string {
  const values = new Map(entriesOf(parameters));
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values.get(name);
    if (typeof value !== 'string') throw new TypeError(`path.${name} is missing`);
    // Tiles of the log have names with slashes.
    if (name === 'tile')
      return value
        .split('/')
        .map((part) => encodeSegment(name, part))
        .join('/');
    return encodeSegment(name, value);
  });
}

function writeQuery(query: unknown): string {
  const pairs = entriesOf(query).filter(([, value]) => value !== undefined);
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}`;
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** @returns how long to wait before the next try; undefined where there is to be none */
function pauseAfter(error: VotingServiceError | ConnectionError, retries: number): number | undefined {
  const backoff = FIRST_PAUSE_MS * 2 ** retries * (0.5 + Math.random() / 2);
  if (error instanceof ConnectionError) return backoff;
  // The call that got no answer still runs.
  const isRunning = error.reason === 'idempotency_in_progress';
  if (!isRunning && !RETRIED.includes(error.status)) return undefined;
  const asked = (error.retryAfterSeconds ?? 0) * 1_000;
  return asked > LONGEST_PAUSE_MS ? undefined : Math.max(asked, backoff);
}

/**
 * A client of the Voting Service API by its paths. `get`, `post`, `put`, `patch` and `delete` take a path as the reference writes it, and
 * answer the body of the answer. Calls that meet 429, 5xx or a fault of the network are sent again; POSTs bear an
 * Idempotency-Key, so that none has its effect twice.
 */
export class PathClient {
  readonly #baseUrl: string;
  // A private field: printing the client must not print the key.
  readonly #key: string;
  readonly #maxRetries: number;
  readonly #timeoutMs: number;
  readonly #fetch: typeof globalThis.fetch;

  /** @throws TypeError for a `baseUrl` that is no address, or a key that no header can hold, such as one with a line break */
  constructor({ baseUrl, key, maxRetries = MAX_RETRIES, timeoutMs = TIMEOUT_MS, fetch }: ClientOptions) {
    if (key === '') throw new TypeError('key is empty: is the variable set?');
    if (baseUrl === '') throw new TypeError('baseUrl is empty: is the variable set?');
    // `fetch` would name the key in its error.
    if (!VISIBLE.test(key)) throw new TypeError('key must be 1 to 255 visible ASCII characters');
    [this.#baseUrl = ''] = /^.*[^/]/s.exec(new URL(baseUrl).href) ?? [];
    this.#key = key;
    this.#maxRetries = maxRetries;
    this.#timeoutMs = timeoutMs;
    this.#fetch = fetch ?? ((url, init) => globalThis.fetch(url, init));
  }

  get<P extends PathOf<'get'>>(path: P, ...[input]: Arguments<'get', P>): CallOf<'get', P> {
    return this.#call('get', path, input);
  }

  post<P extends PathOf<'post'>>(path: P, ...[input]: Arguments<'post', P>): CallOf<'post', P> {
    return this.#call('post', path, input);
  }

  put<P extends PathOf<'put'>>(path: P, ...[input]: Arguments<'put', P>): CallOf<'put', P> {
    return this.#call('put', path, input);
  }

  patch<P extends PathOf<'patch'>>(path: P, ...[input]: Arguments<'patch', P>): CallOf<'patch', P> {
    return this.#call('patch', path, input);
  }

  delete<P extends PathOf<'delete'>>(path: P, ...[input]: Arguments<'delete', P>): CallOf<'delete', P> {
    return this.#call('delete', path, input);
  }

  /** The answer itself, its body unread: for files, and for headers. Retries and errors as everywhere. */
  async fetch<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    ...[input]: Arguments<M, P>
  ): Promise<Response> {
    return (await this.#send(method, path, input ?? {}, false)).response;
  }

  /** The pages of a list, one after the other. */
  async *pages<P extends ListPath>(path: P, ...[input]: Arguments<'get', P>): AsyncGenerator<Page<P>, void> {
    yield* this.#pagesFrom<Page<P>>(this.#call('get', path, input), path, input);
  }

  /** The rows of a list, over all its pages. A page is asked for when its first row is. */
  async *rows<P extends ListPath>(path: P, ...input: Arguments<'get', P>): AsyncGenerator<Row<P>, void> {
    for await (const { data } of this.pages(path, ...input)) yield* data;
  }

  /**
   * Casts a ballot, or answers where the payer pays first. Afterwards call it again with `{ paymentAttemptId }` alone.
   * @throws VotingServiceError for every other refusal
   */
  async castOrPay(idOrCode: string, body: CastBody, options: CallOptions = {}): Promise<CastOutcome> {
    try {
      const path = '/public/voting-events/{idOrCode}/ballot/cast';
      const { data } = await this.post(path, { ...options, path: { idOrCode }, body });
      return { status: 'cast', ballot: data };
    } catch (error) {
      if (!(error instanceof PaymentRequiredError)) throw error;
      const { payment, checkoutUrl } = error;
      return { status: 'payment_required', payment, checkoutUrl };
    }
  }

  /**
   * Waits until a payment has ended, well (`succeeded`, `fulfilled`) or not (`failed`, `cancelled`): look at its `status`.
   * @throws PaymentPendingError when it is still open after `timeoutMs`
   */
  async waitForPayment(
    idOrCode: string,
    paymentAttemptId: string,
    { timeoutMs = PAYMENT_TIMEOUT_MS, signal }: WaitOptions = {},
  ): Promise<Resources['PaymentAttempt']> {
    const until = Date.now() + timeoutMs;
    const input: Input<'get', '/public/voting-events/{idOrCode}/payments/{id}'> = {
      path: { idOrCode, id: paymentAttemptId },
      ...(signal === undefined ? {} : { signal }),
    };
    for (;;) {
      const { data } = await this.get('/public/voting-events/{idOrCode}/payments/{id}', input);
      if (data.status !== 'created' && data.status !== 'pending') return data;
      if (Date.now() + PAYMENT_PAUSE_MS > until) throw new PaymentPendingError(data);
      await pause(PAYMENT_PAUSE_MS, signal);
    }
  }

  #call<C extends Call<unknown>>(method: Method, template: string, input: AnyInput = {}): C {
    const got = this.#send(method, template, input, true);
    const answer = got.then(({ response, text }): unknown => {
      const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
      return isJson ? JSON.parse(text) : text === '' ? undefined : text;
    });
    const rows = (): AsyncGenerator<unknown, void> => this.#rowsFrom(answer, template, input);
    const withResponse = async () => {
      // First the answer: where it fails, its fault is not left without a reader.
      const [value, { response }] = [await answer, await got];
      return { answer: value, response, requestId: response.headers.get('x-request-id') ?? '' };
    };
    // The types are made from the API document, and the service is held to it.
    return Object.assign(answer, { withResponse, [Symbol.asyncIterator]: rows }) as unknown as C;
  }

  /** @param first the call of the first page */
  async *#pagesFrom<One extends AnyPage>(
    first: PromiseLike<unknown>,
    template: string,
    input: AnyInput = {},
  ): AsyncGenerator<One, void> {
    for (let page = (await first) as One; ; ) {
      yield page;
      if (page.nextCursor === null) return;
      const query = Object.fromEntries([...entriesOf(input.query), ['cursor', page.nextCursor]]);
      page = await this.#call<Call<One>>('get', template, { ...input, query });
    }
  }

  async *#rowsFrom(first: PromiseLike<unknown>, template: string, input: AnyInput): AsyncGenerator<unknown, void> {
    for await (const { data } of this.#pagesFrom<AnyPage>(first, template, input)) yield* data;
  }

  async #send(method: Method, template: string, input: AnyInput, isRead: boolean): Promise<Got> {
    const { path, query, body, idempotencyKey = crypto.randomUUID(), signal } = input;
    if (!VISIBLE.test(idempotencyKey)) throw new TypeError('idempotencyKey must be 1 to 255 visible ASCII characters');
    const url = `${this.#baseUrl}${fillPath(template, path)}${writeQuery(query)}`;
    const init: RequestInit = {
      method: method.toUpperCase(),
      // A change that is led elsewhere would arrive there as a GET.
      redirect: method === 'get' ? 'follow' : 'manual',
      headers: {
        Authorization: `Bearer ${this.#key}`,
        ...(method === 'post' ? { 'Idempotency-Key': idempotencyKey } : {}),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    for (let retries = 0; ; retries += 1) {
      const result = await this.#try(url, init, signal, isRead);
      if ('response' in result) return result;
      const ms = retries < this.#maxRetries ? pauseAfter(result, retries) : undefined;
      if (ms === undefined) throw result;
      await pause(ms, signal);
    }
  }

  /** One try. @throws the reason of the caller's signal */
  async #try(
    url: string,
    init: RequestInit,
    signal: AbortSignal | undefined,
    isRead: boolean,
  ): Promise<Got | VotingServiceError | ConnectionError> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new Error(`no answer within ${this.#timeoutMs} ms`)), this.#timeoutMs);
    try {
      const either = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
      const response = await this.#fetch(url, { ...init, signal: either });
      const text = isRead || !response.ok ? await response.text() : '';
      return response.ok ? { response, text } : errorOf(response, text);
    } catch (cause) {
      signal?.throwIfAborted();
      return new ConnectionError(`${init.method} ${url.split('?')[0]}: no answer`, { cause });
    } finally {
      clearTimeout(timer);
    }
  }
}
