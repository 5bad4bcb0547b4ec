import { ApiError, type ErrorDetails } from '#src/platform/errors.ts';
import { answerOrders } from '#src/platform/order-thread.ts';
import { type BodyBounds, type JsonBody, parseJsonBody } from './strict-json.ts';

/** A large body that is to be read. */
export interface ParseOrder {
  readonly bytes: Uint8Array;
  readonly bounds: BodyBounds;
}

/** What was read, or why it is refused: an error loses its class on the way to another thread. */
export type Parsed =
  | { readonly json: JsonBody }
  | { readonly refused: { readonly message: string; readonly details: ErrorDetails | undefined } };

answerOrders<ParseOrder>(({ bytes, bounds }): Parsed => {
  try {
    return { json: parseJsonBody(bytes, bounds) };
  } catch (fault) {
    if (!(fault instanceof ApiError)) throw fault;
    return { refused: { message: fault.message, details: fault.details } };
  }
});
