import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { type ApiError, badRequest, invalidField } from '#src/platform/errors.ts';
import { LoopTurns } from '#src/platform/loop-turns.ts';
import { elsewhere } from '#src/platform/turns.ts';
import type { RequestContext } from './env.ts';
import { digestOf, readLargeBody, type StoredBody } from './json/large-body.ts';
import { type BodyBounds, type JsonBody, parseJsonBody, USUAL_BOUNDS } from './json/strict-json.ts';
import { announcesBody } from './request-headers.ts';
import { beginWork, takeChangePlace } from './request-life.ts';

function tooLarge(maxBytes: number): ApiError {
  return invalidField('', `must have at most ${maxBytes} bytes`);
}

function brokenOff(): ApiError {
  return badRequest('The body ended before its announced length.');
}

/** Bytes read from a body at once. A larger value would let Node buffer more of the body ahead. */
const PIECE_BYTES = 64 * 1024;

/**
 * Reads a body and counts its bytes as they arrive: Content-Length can refuse a body early, but is not trusted. The unread
 * rest of a refused body stays on the connection, which the server drains or closes after its answer.
 * @param store writes each piece elsewhere, one after the other, instead of keeping it in memory
 * @returns the body; empty if `store` took it
 * @throws ApiError `validation_error` past the bound of 1 MiB, or the operation's own; `bad_request` when the sender stops in the middle.
 */
export function readRequestBody(
  incoming: IncomingMessage,
  maxBytes = USUAL_BOUNDS.bytes,
  store?: (piece: Buffer) => Promise<unknown>,
): Promise<Uint8Array> {
  if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  if (incoming.readableEnded) return Promise.resolve(new Uint8Array());
  if (incoming.destroyed) return Promise.reject(brokenOff());
  return new Promise((resolve, reject) => {
    // Pieces are copied into one buffer: a sender may send pieces of one byte, and an object per piece takes a hundred bytes.
    let kept = Buffer.alloc(0);
    let length = 0;
    let isStoring = false;
    const release = (): void => {
      incoming.off('readable', onReadable).off('end', onEnd).off('close', onBreak);
    };
    const fail = (fault: unknown): void => {
      release();
      reject(fault);
    };
    const take = (piece: Buffer): void => {
      length += piece.length;
      if (length > maxBytes) fail(tooLarge(maxBytes));
      else if (store === undefined) {
        if (length > kept.length) kept = Buffer.concat([kept], Math.max(length, Math.min(2 * kept.length, maxBytes)));
        piece.copy(kept, length - piece.length);
      } else {
        // Reads nothing until the disk has the piece: backpressure on the sender.
        isStoring = true;
        store(piece).then(() => {
          isStoring = false;
          onReadable();
        }, fail);
      }
    };
    /** Takes everything that has arrived since the last call. */
    const onReadable = (): void => {
      while (!isStoring && length <= maxBytes) {
        const piece: Buffer | null = incoming.read(Math.min(incoming.readableLength, PIECE_BYTES));
        if (piece === null) return;
        take(piece);
      }
    };
    const onEnd = (): void => {
      release();
      resolve(kept.subarray(0, length));
    };
    const onBreak = (): void => fail(brokenOff());
    incoming.on('readable', onReadable).on('end', onEnd).on('close', onBreak);
  });
}

/** Writes a body into an unlinked file, so that bodies that arrive or wait for their turn take no memory. */
async function storeRequestBody(c: RequestContext, maxBytes: number): Promise<StoredBody & { handle: FileHandle }> {
  const { bodyFolder } = c.get('service');
  await mkdir(bodyFolder, { recursive: true });
  const name = path.join(bodyFolder, randomUUID());
  const handle = await open(name, 'wx+', 0o600);
  c.get('life').keep({ end: () => void handle.close() });
  await unlink(name);
  let length = 0;
  await readRequestBody(c.env.incoming, maxBytes, async (piece) => {
    await handle.appendFile(piece);
    length += piece.length;
  });
  return { file: handle.fd, length, handle };
}

/** The most bytes of a form that a page of this service sends. */
export const FORM_BYTES = 4 * 1024;

/** Bodies up to this length are read into memory and do not count towards the limits of body bytes. */
const FREE_BYTES = 64 * 1024;

const turns = new LoopTurns();

/** Runs `work` on a body. A long body may block the event loop for some 60 ms, so an account's long bodies take turns, with rests. */
export const inTurn = async <Value>(accountId: string, bytes: Uint8Array, work: () => Value): Promise<Value> =>
  bytes.length <= FREE_BYTES ? work() : elsewhere(turns.take(accountId, work));

type JsonContext = RequestContext & { set(name: 'json', json: JsonBody | undefined): void };

/** The JSON object, read once; undefined if no body was sent and the operation takes none. @throws ApiError `validation_error`; 429 */
export async function readJsonBody(c: JsonContext): Promise<JsonBody | undefined> {
  const known = c.get('json');
  if (known !== undefined) return known;
  const { bodyFor, scope } = c.get('operation');
  // Organizers take a place for changes before the body is read. Voters do not: a slow sender would hold a place of the account.
  if (scope === 'write') await takeChangePlace(c);
  const isAnnounced = announcesBody(c.env.incoming.rawHeaders);
  if (!isAnnounced && bodyFor === undefined) return undefined;
  const json = isAnnounced ? await readAnnounced(c) : parseJsonBody(new Uint8Array());
  c.set('json', json);
  return json;
}

/** @returns undefined for an empty body, if the operation takes no body */
async function readAnnounced(c: RequestContext): Promise<JsonBody | undefined> {
  const { incoming } = c.env;
  const { bounds = USUAL_BOUNDS, bodyFor, scope } = c.get('operation');
  const life = c.get('life');
  const { leases, threads } = c.get('service');
  const { accountId } = c.get('caller');
  const announced = Math.min(Number(incoming.headers['content-length'] ?? bounds.bytes), bounds.bytes);
  if (announced > FREE_BYTES) await life.take(leases.bodyBytes, accountId, announced);
  // Bodies of voters are never written to a disk, where traces could show who voted what.
  if (announced <= FREE_BYTES || scope !== 'write') {
    const bytes = await life.rest(readRequestBody(incoming, bounds.bytes));
    if (scope !== 'write') await beginWork(c);
    return bytes.length === 0 && bodyFor === undefined ? undefined : parseShort(accountId, bytes, bounds);
  }
  const stored = await life.rest(storeRequestBody(c, bounds.bytes));
  if (stored.length === 0 && bodyFor === undefined) return undefined;
  const { schema } = bounds;
  if (schema === undefined || stored.length <= FREE_BYTES) {
    const bytes = Buffer.alloc(stored.length);
    await stored.handle.read(bytes, 0, stored.length, 0);
    return parseShort(accountId, bytes, bounds);
  }
  await life.rest(life.take(leases.longChanges, accountId));
  return readLargeBody(threads, accountId, stored, { ...bounds, schema });
}

async function parseShort(accountId: string, bytes: Uint8Array, bounds: BodyBounds): Promise<JsonBody> {
  const json = await inTurn(accountId, bytes, () => parseJsonBody(bytes, bounds));
  return bounds.schema === undefined ? json : { ...json, ...digestOf(json) };
}

/**
 * Reads the body of a request without a key, and waits for a place of its address among the requests that are worked at.
 * @throws ApiError 422 past the bound; 429 if its address has too many bytes under way, or no place becomes free in time
 */
export async function readStrangersBody(c: RequestContext, maxBytes: number): Promise<Uint8Array> {
  const { incoming } = c.env;
  const announced = Math.min(Number(incoming.headers['content-length'] ?? maxBytes), maxBytes);
  const address = c.get('known').address ?? '';
  if (announced > FREE_BYTES) await c.get('life').take(c.get('service').leases.strangersBytes, address, announced);
  const bytes = await c.get('life').rest(readRequestBody(incoming, maxBytes));
  await beginWork(c);
  return bytes;
}
