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
  /** The URL of the service: `https://vote.example`. */
  readonly baseUrl: string;
  /** The API key. Keep it on your server. */
  readonly key: string;
  /** How often a call is repeated after a fault, if that is safe. Default: 4. */
  readonly maxRetries?: number;
  /** Time limit of one attempt, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /** Sends the requests, in place of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface WaitOptions {
  /** Time limit in milliseconds. Default: 10 minutes. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const MAX_RETRIES = 4;
const TIMEOUT_MS = 30_000;
/** Longest pause before the first retry. It doubles with each further retry. */
const FIRST_PAUSE_MS = 500;
/** If the service asks for a longer pause, the call is not repeated; the caller decides. */
const LONGEST_PAUSE_MS = 60_000;
const RETRIED = [429, 500, 502, 503, 504];

/** The characters of a key: an API key or an idempotency key. */
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

const PAYMENT_TIMEOUT_MS = 10 * 60 * 1_000;
/** Pause between two looks at a payment, because the service asks the provider at most once in two seconds. */
const PAYMENT_PAUSE_MS = 2_000;

/** The input of any call, whatever its path. */
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

/** @throws TypeError for a value that would change the path */
function encodeSegment(name: string, value: string): string {
  // Encoding does not change `..`, which would lead to the parent path.
  if (/^\.{0,2}$/.test(value)) throw new TypeError(`path.${name} must not be ${JSON.stringify(value)}`);
  return encodeURIComponent(value);
}

function fillPath(template: string, parameters: unknown): string {
  const values = new Map(entriesOf(parameters));
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values.get(name);
    if (typeof value !== 'string') throw new TypeError(`path.${name} is missing`);
    // Names of the log's tiles contain slashes.
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

/** @returns the pause before the next attempt; undefined if there must be no further one */
function pauseAfter(error: VotingServiceError | ConnectionError, retries: number): number | undefined {
  const backoff = FIRST_PAUSE_MS * 2 ** retries * (0.5 + Math.random() / 2);
  if (error instanceof ConnectionError) return backoff;
  // An earlier attempt, which got no answer, is still running.
  const isRunning = error.reason === 'idempotency_in_progress';
  if (!isRunning && !RETRIED.includes(error.status)) return undefined;
  const asked = (error.retryAfterSeconds ?? 0) * 1_000;
  return asked > LONGEST_PAUSE_MS ? undefined : Math.max(asked, backoff);
}

/**
 * A client of the Voting Service API, by path. `get`, `post`, `put`, `patch` and `delete` take a path as the API reference writes it, and
 * return the answer's body. A call that meets 429, 5xx or a network error is repeated. POSTs have an Idempotency-Key, so that a repeated
 * POST has its effect only once.
 */
export class PathClient {
  readonly #baseUrl: string;
  // A private field, so that printing the client does not print the key.
  readonly #key: string;
  readonly #maxRetries: number;
  readonly #timeoutMs: number;
  readonly #fetch: typeof globalThis.fetch;

  /** @throws TypeError for a `baseUrl` that is not a URL, or a key with characters that a header cannot contain, such as a line break */
  constructor({ baseUrl, key, maxRetries = MAX_RETRIES, timeoutMs = TIMEOUT_MS, fetch }: ClientOptions) {
    if (key === '') throw new TypeError('key is empty: is the variable set?');
    if (baseUrl === '') throw new TypeError('baseUrl is empty: is the variable set?');
    // Checked here, because the error of `fetch` would show the secret key.
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

  /** The response itself, with its body unread: for files, and for headers. Retries and errors are as in other calls. */
  async fetch<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    ...[input]: Arguments<M, P>
  ): Promise<Response> {
    return (await this.#send(method, path, input ?? {}, false)).response;
  }

  /** Yields the pages of a list, one after the other. */
  async *pages<P extends ListPath>(path: P, ...[input]: Arguments<'get', P>): AsyncGenerator<Page<P>, void> {
    yield* this.#pagesFrom<Page<P>>(this.#call('get', path, input), path, input);
  }

  /** Yields the rows of a list, over all its pages. Each page is requested when its first row is needed. */
  async *rows<P extends ListPath>(path: P, ...input: Arguments<'get', P>): AsyncGenerator<Row<P>, void> {
    for await (const { data } of this.pages(path, ...input)) yield* data;
  }

  /**
   * Casts a ballot, or returns the URL where the payer must pay first. After the payment, call it again with only `{ paymentAttemptId }`.
   * @throws VotingServiceError for any other refusal
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
   * Waits until a payment has ended, with success (`succeeded`, `fulfilled`) or without (`failed`, `cancelled`): look at its `status`.
   * @throws PaymentPendingError if it is still open after `timeoutMs`
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
      // Await the answer first: if it fails, its error must not stay unhandled.
      const [value, { response }] = [await answer, await got];
      return { answer: value, response, requestId: response.headers.get('x-request-id') ?? '' };
    };
    // The cast is safe: the types are made from the API document, and tests check the service against this document.
    return Object.assign(answer, { withResponse, [Symbol.asyncIterator]: rows }) as unknown as C;
  }

  /** @param first the call for the first page */
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
      // After a redirect, a change would arrive as a GET.
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

  /** One attempt. @throws the reason of the caller's signal */
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
