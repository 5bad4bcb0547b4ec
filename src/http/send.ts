import { monotonicMs } from '#src/platform/clock.ts';
import type { Lease } from '#src/platform/leases.ts';
import { summariseFault } from '#src/platform/log.ts';
import { restAfter } from '#src/platform/shared-turns.ts';
import { CHUNK_LENGTH, jsonPieces, streamBytes, streamText } from '#src/platform/stream-text.ts';
import type { Answer } from './answer.ts';
import { type CachedJson, hasAlready, takesGzip } from './cached-json.ts';
import type { RequestContext } from './env.ts';
import { accountMoves, refuse } from './refusals.ts';
import { markRehearsal, rehearsedEventOf } from './rehearsal.ts';

/**
 * Makes the response with all its headers. A plain object reaches Node in one call: setting single headers, or a `Headers`
 * object, costs a cast as much time as validating its votes.
 */
export function send(
  c: RequestContext,
  status: number,
  type: string | undefined,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream | null,
): Response {
  const headers = c.get('headers');
  if (type !== undefined) headers['Content-Type'] = type;
  return new Response(body, { status, headers });
}

function logBroken(c: RequestContext, fault: unknown): void {
  c.get('service').log.error({ requestId: c.get('requestId'), fault: summariseFault(fault) }, 'an answer broke off');
}

/** @throws ApiError 500 with `Retry-After` if a move overtook the request: lists and results are whole, or none (docs/scaling.md) */
async function requireUnmoved(c: RequestContext): Promise<void> {
  if (await c.get('service').hasLeft(c.env.incoming)) throw accountMoves();
}

/** Waits for the first piece, so that a failure before it still gets an error answer. */
async function answerStream(
  c: RequestContext,
  { open, type, endsUnderLock }: NonNullable<Answer['stream']>,
  status: number,
): Promise<Response> {
  if (c.req.method === 'HEAD') return send(c, status, type, null);
  const pieces = open()[Symbol.asyncIterator]();
  const { gone } = c.get('life');
  const end = (): void => void pieces.return?.().catch((fault: unknown) => logBroken(c, fault));
  // If the consumer stops early, the generator does not end by itself: without this, its `finally` would not run.
  if (gone.aborted) end();
  else gone.addEventListener('abort', end);
  const first = await pieces.next();
  async function* all(): AsyncGenerator<Uint8Array> {
    if (first.done !== true) yield first.value;
    try {
      yield* { [Symbol.asyncIterator]: () => pieces };
      if (endsUnderLock !== true) await requireUnmoved(c);
    } catch (fault) {
      // The headers are sent: only a broken connection can still show the client that the answer is incomplete.
      logBroken(c, fault);
      c.env.outgoing.destroy();
    }
  }
  return send(c, status, type, ReadableStream.from(all()) as ReadableStream);
}

/** If the event loop runs its timers this late (ms), long reads of an account run one at a time. */
const LATE_MS = 20;
/** The longest rest of a read's place, ms. */
const MOST_REST_MS = 1_500;

/**
 * Answers a read. It occupies one of the account's places until the answer is sent. If the client disconnects earlier, the place stays
 * occupied for a rest (`restAfter`): otherwise an attacker who disconnects at once could start more reads than a client who waits.
 * @param account whose places; the caller's if left out
 * @throws ApiError 429 if no place becomes free within 2 s
 */
export async function costly(
  c: RequestContext,
  read: () => Promise<Answer>,
  account = c.get('caller').accountId,
): Promise<Response> {
  const { leases, load } = c.get('service');
  const life = c.get('life');
  const place = await life.rest(leases.costlyReads.take(account, 1, life.gone));
  let turn: Lease | undefined;
  let began: number | undefined;
  try {
    if (load.pressure().delayMs >= LATE_MS) turn = await life.rest(leases.readsOfLateLoop.take(account, 1, life.gone));
    if (life.gone.aborted) throw refuse('too_many_at_once');
    began = monotonicMs();
    return await answer(c, await read());
  } finally {
    const tookMs = began === undefined ? 0 : monotonicMs() - began;
    const end = (): void => {
      turn?.end();
      life.keep(place);
    };
    setTimeout(end, life.gone.aborted ? restAfter(tookMs, MOST_REST_MS) : 0).unref();
  }
}

export async function answer(c: RequestContext, result: Answer): Promise<Response> {
  await requireUnmoved(c);
  const { status } = result;
  if (result.headers !== undefined) Object.assign(c.get('headers'), result.headers);
  if (result.kept !== undefined) return answerCached(c, result.kept);
  if (result.text !== undefined) return sendWhole(c, status, result.text);
  if (result.bytes !== undefined) return sendWhole(c, status, result.bytes);
  if (result.stream !== undefined) return answerStream(c, result.stream, status);
  if (result.body === undefined) return send(c, status, undefined, null);
  const body = rehearsedEventOf(c) === undefined ? result.body : markRehearsal(result.body);
  // Only reads can have long answers: a change returns one resource, or a hundred.
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return answerRead(c, body, status);
  return send(c, status, 'application/json', JSON.stringify(body));
}

/**
 * Sends a body of known length, and a long one in pieces: written at once, long bodies of twenty clients would block the event loop, and
 * the parts that slow clients have not read would wait in memory.
 */
function sendWhole(
  c: RequestContext,
  status: number,
  { content, type }: NonNullable<Answer['text'] | Answer['bytes']>,
): Response | Promise<Response> {
  if (content.length <= CHUNK_LENGTH) return send(c, status, type, content);
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  c.get('headers')['Content-Length'] = String(bytes.length);
  return answerStream(c, { open: () => streamBytes(bytes), type }, status);
}

/** Writes a long body in pieces and lets other requests run in between: the longest list has 18 MB. */
function answerRead(c: RequestContext, body: unknown, status: number): Response | Promise<Response> {
  const pieces = jsonPieces(body);
  let begin = '';
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    begin += next.value;
    if (begin.length > CHUNK_LENGTH) return answerStream(c, restOf(begin, pieces), status);
  }
  return send(c, status, 'application/json', begin);
}

function restOf(begin: string, pieces: Generator<string>): NonNullable<Answer['stream']> {
  function* all(): Generator<string> {
    yield begin;
    yield* pieces;
  }
  return { open: () => streamText(all()), type: 'application/json' };
}

async function answerCached(c: RequestContext, kept: CachedJson): Promise<Response> {
  const { rawHeaders } = c.env.incoming;
  const headers = c.get('headers');
  headers['ETag'] = kept.etag;
  headers['Cache-Control'] = 'private, no-cache';
  headers['Vary'] = 'Accept-Encoding';
  if (hasAlready(rawHeaders, kept.etag)) return send(c, 304, undefined, null);
  const gzipped = takesGzip(rawHeaders) ? kept.gzipped() : undefined;
  if (gzipped === undefined) {
    const plain = kept.plain();
    if ('whole' in plain) return sendWhole(c, 200, { content: plain.whole, type: 'application/json' });
    headers['Content-Length'] = String(plain.length);
    return answerStream(c, { open: plain.open, type: 'application/json' }, 200);
  }
  headers['Content-Encoding'] = 'gzip';
  return sendWhole(c, 200, { content: await gzipped, type: 'application/json' });
}
