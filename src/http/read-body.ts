import type { IncomingMessage } from 'node:http';
import { type ApiError, badRequest, invalidField } from '#src/platform/errors.ts';
import type { RequestContext } from './env.ts';
import { type JsonBody, MAX_BODY_BYTES, parseJsonBody } from './json/strict-json.ts';
import { announcesBody } from './request-headers.ts';

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

type JsonContext = RequestContext & { set(name: 'json', json: JsonBody | undefined): void };

/**
 * The JSON object that was sent, read once; undefined where nothing was, and the operation takes no body.
 * @throws ApiError `validation_error` for malformed JSON
 */
export async function readJsonBody(c: JsonContext): Promise<JsonBody | undefined> {
  const known = c.get('json');
  if (known !== undefined) return known;
  const { incoming } = c.env;
  const bytes = announcesBody(incoming.rawHeaders) ? await readRequestBody(incoming) : new Uint8Array();
  const json = bytes.length > 0 || c.get('operation').bodyFor !== undefined ? parseJsonBody(bytes) : undefined;
  c.set('json', json);
  return json;
}
