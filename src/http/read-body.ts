import type { IncomingMessage } from 'node:http';
import { type ApiError, badRequest, invalidField } from '#src/platform/errors.ts';
import type { RequestContext } from './env.ts';
import { parseLargeBody } from './json/large-body.ts';
import { type JsonBody, parseJsonBody, USUAL_BOUNDS } from './json/strict-json.ts';
import { announcesBody } from './request-headers.ts';
import { NO_ACCOUNT, takeChangePlace } from './request-life.ts';

function tooLarge(maxBytes: number): ApiError {
  return invalidField('', `must have at most ${maxBytes} bytes`);
}

function brokenOff(): ApiError {
  return badRequest('The body ended before its announced length.');
}

/**
 * Reads a body, counting while it comes: an announced length can refuse it early, but is never believed. What is left
 * unread of a body that is refused stays on the connection, which the server drains or closes after its answer.
 * @throws ApiError `validation_error` past the bound of 1 MiB, or the operation's own; `bad_request` when the sender stops in the middle.
 */
export function readRequestBody(incoming: IncomingMessage, maxBytes = USUAL_BOUNDS.bytes): Promise<Uint8Array> {
  if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes));
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
      if (length <= maxBytes) return;
      release();
      reject(tooLarge(maxBytes));
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

/** Bodies up to this length are not counted: no ballot is longer, and how many there are is counted already. */
const FREE_BYTES = 64 * 1024;

type JsonContext = RequestContext & { set(name: 'json', json: JsonBody | undefined): void };

/**
 * The JSON object that was sent, read once; undefined where nothing was, and the operation takes no body.
 * @throws ApiError `validation_error` for malformed JSON; 429, 500 where too many changes or too many bytes are under way
 */
export async function readJsonBody(c: JsonContext): Promise<JsonBody | undefined> {
  const known = c.get('json');
  if (known !== undefined) return known;
  const { incoming } = c.env;
  const { bounds = USUAL_BOUNDS, bodyFor, scope } = c.get('operation');
  // Only for organizers before the body is read: a voter's that comes slowly would hold a place of the account.
  if (scope === 'write') await takeChangePlace(c);
  const announced = Math.min(Number(incoming.headers['content-length'] ?? bounds.bytes), bounds.bytes);
  const account = scope === 'none' ? NO_ACCOUNT : c.get('caller').accountId;
  const { leases, threads } = c.get('service');
  if (announcesBody(incoming.rawHeaders) && announced > FREE_BYTES)
    await c.get('life').take(leases.bodyBytes, account, announced);
  const bytes = announcesBody(incoming.rawHeaders) ? await readRequestBody(incoming, bounds.bytes) : new Uint8Array();
  if (bytes.length === 0 && bodyFor === undefined) return undefined;
  const isLarge = bytes.length > USUAL_BOUNDS.bytes;
  const json = isLarge ? await parseLargeBody(threads, account, { bytes, bounds }) : parseJsonBody(bytes, bounds);
  c.set('json', json);
  return json;
}
