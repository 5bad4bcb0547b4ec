import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { envelope } from '#src/http/errors.ts';
import { answerHeaders, ownRequestId } from '#src/http/request-headers.ts';
import type { ApiError } from '#src/platform/errors.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';

/** Facts about the service that its refusals contain. */
export interface RefusingService {
  readonly referenceUrl: string | undefined;
  /** Whether clients reach the service over HTTPS. */
  readonly secure: boolean;
}

/** An answer to a request that never reaches the app: the same envelope and headers as the app's own refusals. */
function composeRefusal(error: ApiError, rawHeaders: readonly string[], { referenceUrl, secure }: RefusingService) {
  const requestId = ownRequestId(rawHeaders) ?? randomUUID();
  const body = envelope(error, requestId, referenceUrl);
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...answerHeaders(requestId, secure),
    ...(error.retryAfterSeconds === undefined ? {} : { 'Retry-After': String(error.retryAfterSeconds) }),
  };
  return { status: error.status, requestId, headers, body };
}

/** Sends a refusal as the response of a request that Node has parsed. @returns the request ID of the answer */
export function refuseOnResponse(
  response: ServerResponse,
  error: ApiError,
  closing: boolean,
  service: RefusingService,
): string {
  const { status, requestId, headers, body } = composeRefusal(error, response.req.rawHeaders, service);
  response.writeHead(status, closing ? { ...headers, Connection: 'close' } : headers).end(body);
  return requestId;
}

export function refusalResponse(error: ApiError, service: RefusingService): Response {
  const { status, headers, body } = composeRefusal(error, [], service);
  return new Response(body, { status, headers });
}

/** Ends a connection, but reads on for a moment: closing it with unread bytes would reset it, and the peer would lose the answer. */
export function closeAfter(socket: Duplex, lastWords?: string): void {
  socket.end(lastWords);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), TIME_LIMITS.refusalLingerMs);
  socket.once('close', () => clearTimeout(timer));
}

/** Answers on a socket, for a request that Node could not parse, and closes the connection. @returns the request ID */
export function refuseOnSocket(
  socket: Duplex,
  error: ApiError,
  rawHeaders: readonly string[],
  service: RefusingService,
): string {
  const { status, requestId, headers, body } = composeRefusal(error, rawHeaders, service);
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  closeAfter(socket, `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  return requestId;
}
