import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ContentfulStatusCode, StatusCode } from 'hono/utils/http-status';
import { type Log, summariseFault } from '#src/platform/log.ts';
import type { Answer } from './answer.ts';
import type { StoredAnswer } from './idempotency.ts';
import { hasAlready, type KeptText, takesGzip } from './kept-text.ts';
import type { RequestTarget } from './request-target.ts';

/** What the guard knows of a request by the time that it is answered. */
export type Env = {
  Bindings: HttpBindings;
  Variables: { requestId: string; target: RequestTarget; startedAt: number; log: Log };
};

/** Waits for the first piece, so that what fails at the start still gets an answer of its own. */
async function answerStream(
  c: Context<Env>,
  { open, type }: NonNullable<Answer['stream']>,
  status: ContentfulStatusCode,
): Promise<Response> {
  const headers = { 'Content-Type': type };
  if (c.req.method === 'HEAD') return c.body(null, status, headers);
  const pieces = open()[Symbol.asyncIterator]();
  const first = await pieces.next();
  async function* all(): AsyncGenerator<Uint8Array> {
    if (first.done !== true) yield first.value;
    try {
      yield* { [Symbol.asyncIterator]: () => pieces };
    } catch (fault) {
      // The head has been sent: a connection that breaks is the only way left to say that this is not all.
      c.var.log.error({ requestId: c.var.requestId, fault: summariseFault(fault) }, 'an answer broke off');
      c.env.outgoing.destroy();
    }
  }
  return c.body(ReadableStream.from(all()) as ReadableStream, status, headers);
}

/** Sends what a handler answered, in whichever form it gave it. */
export function answer(c: Context<Env>, result: Answer): Response | Promise<Response> {
  const status = result.status as ContentfulStatusCode;
  for (const [name, value] of Object.entries(result.headers ?? {})) c.env.outgoing.setHeader(name, value);
  if (result.kept !== undefined) return answerKept(c, result.kept);
  if (result.text !== undefined) return c.body(result.text.content, status, { 'Content-Type': result.text.type });
  if (result.bytes !== undefined) return c.body(result.bytes.content, status, { 'Content-Type': result.bytes.type });
  if (result.stream !== undefined) return answerStream(c, result.stream, status);
  if (result.body === undefined) return c.body(null, result.status as StatusCode);
  return c.body(JSON.stringify(result.body), status, { 'Content-Type': 'application/json' });
}

async function answerKept(c: Context<Env>, kept: KeptText): Promise<Response> {
  const { outgoing, incoming } = c.env;
  outgoing.setHeader('ETag', kept.etag);
  outgoing.setHeader('Cache-Control', 'private, no-cache');
  outgoing.setHeader('Vary', 'Accept-Encoding');
  if (hasAlready(incoming.rawHeaders, kept.etag)) return c.body(null, 304);
  const gzipped = takesGzip(incoming.rawHeaders) ? kept.gzipped() : undefined;
  if (gzipped === undefined) return c.body(await kept.plain(), 200, { 'Content-Type': 'application/json' });
  return c.body(await gzipped, 200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' });
}

/** Sends an answer that was stored under an Idempotency-Key, word for word. */
export function replay(c: Context<Env>, { status, body }: StoredAnswer): Response {
  c.env.outgoing.setHeader('Idempotent-Replayed', 'true');
  return body === ''
    ? c.body(null, status as StatusCode)
    : c.body(body, status as ContentfulStatusCode, { 'Content-Type': 'application/json' });
}
