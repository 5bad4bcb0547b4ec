import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';

const MAX_HEADER_BYTES = 16 * 1024;
const MAX_HEADERS = 200;

export interface ListenOptions {
  readonly fetch: (request: Request, env: HttpBindings) => Response | Promise<Response>;
  readonly port: number;
  readonly host: string;
}

export interface Listener {
  readonly port: number;
  /** Stops accepting, lets requests in flight finish within the grace, then closes what is left. */
  close(graceMs: number): Promise<void>;
}

/** Node answers broken HTTP itself, with an empty 400, 408, 413, 417 or 431. The caller gets the envelope instead. */
function refusal(message: string): { body: string; headers: Record<string, string> } {
  const requestId = randomUUID();
  const body = JSON.stringify({ error: { code: 'bad_request', message, requestId } });
  return {
    body,
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': requestId,
      Connection: 'close',
    },
  };
}

function messageFor(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW') return `The headers are larger than ${MAX_HEADER_BYTES} bytes.`;
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'The request took too long to arrive.';
  return 'The request is not valid HTTP.';
}

function refuseOnSocket(socket: Duplex, message: string): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { body, headers } = refusal(message);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${body}`);
}

function refuse(response: ServerResponse, message: string): void {
  const { body, headers } = refusal(message);
  response.writeHead(400, headers).end(body);
}

function withOwnRefusals(server: Server, answering: Set<Duplex>): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // A body that breaks off while its request is being answered: the answer tells, a second one would garble it.
    if (answering.has(socket)) return;
    refuseOnSocket(socket, messageFor(error.code));
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    refuse(response, 'The header Expect takes 100-continue only.');
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) =>
    refuseOnSocket(socket, 'CONNECT is not supported.'),
  );
}

/** Listens, with every limit on what a peer may make the server wait for (trust: time limits). */
export async function listen(options: ListenOptions): Promise<Listener> {
  // node-server answers errors of its own with bare text; ours are all caught before.
  const handle = getRequestListener(options.fetch as Parameters<typeof getRequestListener>[0]);
  const answering = new Set<Duplex>();
  let draining = false;
  const server = createServer(
    {
      headersTimeout: TIME_LIMITS.requestHeadersMs,
      requestTimeout: TIME_LIMITS.requestMs,
      keepAliveTimeout: TIME_LIMITS.keepAliveMs,
      connectionsCheckingInterval: TIME_LIMITS.connectionsCheckIntervalMs,
      maxHeaderSize: MAX_HEADER_BYTES,
      // A missing Host is refused by the guard, which answers with the envelope.
      requireHostHeader: false,
      insecureHTTPParser: false,
    },
    (request, response) => {
      const { socket } = request;
      answering.add(socket);
      response.once('close', () => answering.delete(socket));
      if (draining) response.setHeader('Connection', 'close');
      if (request.rawHeaders.length / 2 >= MAX_HEADERS) {
        refuse(response, `A request has fewer than ${MAX_HEADERS} headers.`);
        return;
      }
      void handle(request, response);
    },
  );
  server.maxHeadersCount = MAX_HEADERS;
  withOwnRefusals(server, answering);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: options.port, host: options.host }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async close(graceMs) {
      draining = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}
