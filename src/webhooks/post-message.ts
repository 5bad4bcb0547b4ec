import type { Dispatcher } from 'undici';

/** What is read of an answer at most, and what is kept of that. */
export const MAX_READ_BYTES = 16_384;
const MAX_KEPT_BYTES = 2_048;

interface PostAnswer {
  readonly status: number;
  readonly retryAfter: string | null;
  /** The start of the answer's body. */
  readonly body: string;
}

class ExchangeTimeout extends Error {
  override readonly name = 'TimeoutError';
}

/** The start of a body as text, without NUL, which the database does not take. */
function startOf(chunks: readonly Uint8Array[]): string {
  const kept = Buffer.concat(chunks)
    .subarray(0, MAX_READ_BYTES)
    .filter((byte) => byte !== 0)
    .subarray(0, MAX_KEPT_BYTES);
  // As a stream: a character that was cut in two is left out, not replaced.
  return new TextDecoder().decode(kept, { stream: true });
}

/** Hears one answer: as undici reports it, without the streams and signals that cost more than the exchange itself. */
class AnswerHandler implements Dispatcher.DispatchHandler {
  readonly #resolve: (answer: PostAnswer) => void;
  readonly #reject: (fault: Error) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Uint8Array[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #fault: Error | undefined;
  #status = 0;
  #retryAfter: string | null = null;
  #bytes = 0;

  constructor(resolve: (answer: PostAnswer) => void, reject: (fault: Error) => void, exchangeMs: number) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => {
      this.#fault = new ExchangeTimeout('the exchange took too long');
      this.#controller?.abort(this.#fault);
      this.onResponseError(this.#controller, this.#fault);
    }, exchangeMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It waited so long for a connection that its time was over before it began.
    if (this.#fault !== undefined) controller.abort(this.#fault);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    this.#status = status;
    const retryAfter = headers['retry-after'];
    this.#retryAfter = typeof retryAfter === 'string' ? retryAfter : null;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < MAX_READ_BYTES) return;
    this.onResponseEnd();
    // The connection goes with it: an answer must not fill our memory.
    controller.abort(new Error('enough was read'));
  }

  onResponseEnd(): void {
    clearTimeout(this.#timer);
    this.#resolve({ status: this.#status, retryAfter: this.#retryAfter, body: startOf(this.#chunks) });
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, fault: Error): void {
    clearTimeout(this.#timer);
    this.#reject(fault);
  }
}

/**
 * Posts a text and reads the start of the answer. Redirects are not followed.
 * @throws whatever kept it from an answer; a `TimeoutError` when the whole exchange took too long
 */
export function postMessage(
  dispatcher: Dispatcher,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  exchangeMs: number,
): Promise<PostAnswer> {
  const { origin, pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(
      { origin, path: `${pathname}${search}`, method: 'POST', headers, body },
      new AnswerHandler(resolve, reject, exchangeMs),
    );
  });
}
