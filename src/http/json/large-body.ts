import { SECOND_MS } from '#src/platform/clock.ts';
import { ApiError, type ErrorDetails } from '#src/platform/errors.ts';
import type { ThreadPool } from '#src/platform/thread-pool.ts';
import { type BodyBounds, type JsonBody, parseJsonBody } from './strict-json.ts';

const MAX_MS = 10 * SECOND_MS;

interface LargeBody {
  readonly bytes: Uint8Array;
  readonly bounds: BodyBounds;
}

/** What was read, or why it is refused: an error loses its class on the way to another thread. */
type Parsed =
  | { readonly json: JsonBody }
  | { readonly refused: { readonly message: string; readonly details: ErrorDetails | undefined } };

/**
 * Reads a body as `parseJsonBody` does, in a thread: thirty megabytes take half a second, and other requests go on meanwhile.
 * @throws ApiError `validation_error`, as `parseJsonBody`
 */
export async function parseLargeBody(threads: ThreadPool, account: string, input: LargeBody): Promise<JsonBody> {
  const moved = [input.bytes.buffer as ArrayBuffer];
  const order = { module: new URL(import.meta.url), input, moved, account, maxMs: MAX_MS };
  const parsed = (await threads.run(order)) as Parsed;
  if ('json' in parsed) return parsed.json;
  throw new ApiError('validation_error', parsed.refused.message, parsed.refused.details);
}

/** In the thread. */
export function work({ bytes, bounds }: LargeBody): Parsed {
  try {
    return { json: parseJsonBody(bytes, bounds) };
  } catch (fault) {
    if (!(fault instanceof ApiError)) throw fault;
    return { refused: { message: fault.message, details: fault.details } };
  }
}
