import { parentPort } from 'node:worker_threads';
import { ApiError, type ErrorDetails } from '#src/platform/errors.ts';
import { type BodyBounds, type JsonBody, parseJsonBody } from './strict-json.ts';

/** A large body that is to be read. */
export interface ParseRequest {
  readonly number: number;
  readonly bytes: Uint8Array;
  readonly bounds: BodyBounds;
}

/** What was read, why it is refused, or that the thread failed. */
export type ParseReply =
  | { readonly number: number; readonly json: JsonBody }
  | {
      readonly number: number;
      readonly refused: { readonly message: string; readonly details?: ErrorDetails | undefined };
    }
  | { readonly number: number; readonly fault: string };

function parse({ number, bytes, bounds }: ParseRequest): ParseReply {
  try {
    return { number, json: parseJsonBody(bytes, bounds) };
  } catch (fault) {
    if (!(fault instanceof ApiError)) return { number, fault: String(fault) };
    return { number, refused: { message: fault.message, details: fault.details } };
  }
}

parentPort?.on('message', (request: ParseRequest) => parentPort?.postMessage(parse(request)));
