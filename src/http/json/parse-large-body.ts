import { SECOND_MS } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { OrderThread } from '#src/platform/order-thread.ts';
import type { Parsed, ParseOrder } from './parse-thread.ts';
import type { BodyBounds, JsonBody } from './strict-json.ts';

/** The thread waits for the next large body so long. */
const IDLE_MS = 60 * SECOND_MS;

const reader = new OrderThread<ParseOrder, Parsed>(new URL('./parse-thread.ts', import.meta.url), IDLE_MS);

/**
 * Reads a body as `parseJsonBody` does, in a thread, one after the other: thirty megabytes take half a second, and other requests go on
 * meanwhile.
 * @throws ApiError `validation_error`, as `parseJsonBody`
 */
export async function parseLargeBody(bytes: Uint8Array, bounds: BodyBounds): Promise<JsonBody> {
  const parsed = await reader.ask({ bytes, bounds });
  if ('json' in parsed) return parsed.json;
  throw new ApiError('validation_error', parsed.refused.message, parsed.refused.details);
}
