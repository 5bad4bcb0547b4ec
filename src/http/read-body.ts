import type { IncomingMessage } from 'node:http';
import { type ApiError, badRequest, invalidField } from '#src/platform/errors.ts';
import { MAX_BODY_BYTES } from './strict-json.ts';

function tooLarge(): ApiError {
  return invalidField('', `must have at most ${MAX_BODY_BYTES} bytes`);
}

function brokenOff(): ApiError {
  return badRequest('The body ended before its announced length.');
}

/**
 * Reads a body, counting while it comes: an announced length can refuse it early, but is never believed. What is left
 * unread of a body that is refused stays on the connection, which the server drains or closes after its answer.
 * @throws ApiError `validation_error` past 1 MiB, `bad_request` when the sender stops in the middle.
 */
export function readRequestBody(incoming: IncomingMessage): Promise<Uint8Array> {
  if (Number(incoming.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return Promise.reject(tooLarge());
  if (incoming.readableEnded) return Promise.resolve(new Uint8Array());
  if (incoming.destroyed) return Promise.reject(brokenOff());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const release = (): void => {
      incoming.off('data', onData).off('end', onEnd).off('close', onBreak);
      incoming.pause();
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      chunks.push(chunk);
      if (length <= MAX_BODY_BYTES) return;
      release();
      reject(tooLarge());
    };
    const onEnd = (): void => {
      release();
      const [only] = chunks;
      resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, length));
    };
    const onBreak = (): void => {
      release();
      reject(brokenOff());
    };
    incoming.on('data', onData).on('end', onEnd).on('close', onBreak);
  });
}
