import type { IncomingMessage } from 'node:http';
import { badRequest, invalidField } from '#src/platform/errors.ts';
import { MAX_BODY_BYTES } from './strict-json.ts';

/**
 * Reads a body, counting while it comes: a length that is announced is not believed.
 * @throws ApiError `validation_error` past 1 MiB, `bad_request` when the sender stops in the middle.
 */
export async function readRequestBody(incoming: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // Leaving the loop early must not destroy the socket: the answer still has to go out on it.
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
      const bytes: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
      length += bytes.length;
      if (length > MAX_BODY_BYTES) break;
      chunks.push(bytes);
    }
  } catch {
    throw badRequest('The body ended before its announced length.');
  }
  if (length > MAX_BODY_BYTES) throw invalidField('', `must have at most ${MAX_BODY_BYTES} bytes`);
  if (!incoming.complete) throw badRequest('The body ended before its announced length.');
  return Buffer.concat(chunks, length);
}
