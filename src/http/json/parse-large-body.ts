import { Worker } from 'node:worker_threads';
import { SECOND_MS } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import type { ParseReply, ParseRequest } from './parse-thread.ts';
import type { BodyBounds, JsonBody } from './strict-json.ts';

/** The thread waits for the next large body so long. */
const IDLE_MS = 60 * SECOND_MS;

interface Waiting {
  readonly resolve: (json: JsonBody) => void;
  readonly reject: (fault: Error) => void;
}

let thread: Worker | undefined;
let idle: NodeJS.Timeout | undefined;
let lastNumber = 0;
const waiting = new Map<number, Waiting>();

/**
 * Reads a body as `parseJsonBody` does, in a thread, one after the other: thirty megabytes take half a second, and other requests go on
 * meanwhile.
 * @throws ApiError `validation_error`, as `parseJsonBody`
 */
export function parseLargeBody(bytes: Uint8Array, bounds: BodyBounds): Promise<JsonBody> {
  clearTimeout(idle);
  const reader = thread ?? start();
  thread = reader;
  lastNumber += 1;
  const request: ParseRequest = { number: lastNumber, bytes, bounds };
  return new Promise((resolve, reject) => {
    waiting.set(request.number, { resolve, reject });
    reader.postMessage(request);
  });
}

function start(): Worker {
  const started = new Worker(new URL('./parse-thread.ts', import.meta.url), { execArgv: [] });
  // A process that has nothing else to do ends.
  started.unref();
  let fault = new Error('the thread that reads large bodies ended');
  started.on('error', (thrown) => {
    if (thrown instanceof Error) fault = thrown;
  });
  started.on('exit', () => {
    // One that was dismissed has nothing to answer; what waits is another's.
    if (thread !== started) return;
    thread = undefined;
    for (const { reject } of waiting.values()) reject(fault);
    waiting.clear();
  });
  started.on('message', take);
  return started;
}

function take(reply: ParseReply): void {
  const one = waiting.get(reply.number);
  waiting.delete(reply.number);
  if ('json' in reply) one?.resolve(reply.json);
  else if ('refused' in reply)
    one?.reject(new ApiError('validation_error', reply.refused.message, reply.refused.details));
  else one?.reject(new Error(`the thread that reads large bodies failed: ${reply.fault}`));
  if (waiting.size === 0) idle = setTimeout(dismiss, IDLE_MS).unref();
}

/** Ends the thread; a body that comes before it has ended gets another. */
function dismiss(): void {
  const dismissed = thread;
  thread = undefined;
  void dismissed?.terminate();
}
