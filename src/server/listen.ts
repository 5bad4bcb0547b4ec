import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import {
  type AddressInfo,
  createServer as createSocketServer,
  type ListenOptions as NetListenOptions,
  Socket,
  type Server as SocketServer,
} from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server';
import { type ObservedRequest, toApiError } from '#src/http/errors.ts';
import { parseRequestTarget } from '#src/http/request-target.ts';
import { SECOND_MS } from '#src/platform/clock.ts';
import { ApiError, badRequest } from '#src/platform/errors.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { countedAddress } from '#src/platform/network-address.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { Connection } from './connection.ts';
import { checkFraming, checkRequestSyntax } from './framing.ts';
import { guardAccept } from './guard-accept.ts';
import { closeAfter, type RefusingService, refusalResponse, refuseOnResponse, refuseOnSocket } from './refusal.ts';

const MAX_HEADER_BYTES = 16 * 1024;
export const MAX_HEADERS = 200;

/** Options of Node's server: limits on the time and the memory that one peer may take. */
export const HTTP_SERVER_OPTIONS = {
  headersTimeout: TIME_LIMITS.requestHeadersMs,
  requestTimeout: TIME_LIMITS.requestMs,
  connectionsCheckingInterval: TIME_LIMITS.connectionsCheckIntervalMs,
  keepAliveTimeout: TIME_LIMITS.keepAliveMs,
  maxHeaderSize: MAX_HEADER_BYTES,
  insecureHTTPParser: false,
  // Node would refuse a missing Host with an empty answer; `checkRequestSyntax` refuses it with the usual error body.
  requireHostHeader: false,
} as const satisfies ServerOptions;

/**
 * Sockets that listen on a shared port. Node accepts one connection per socket and iteration of the event loop, so in a burst a new
 * connection waits for the others of its socket. With more sockets, an iteration would accept so many that it delays running requests.
 */
const SOCKETS = 64;
/**
 * Connections that the kernel queues: for a single socket, and for each of several. In a burst, a shorter queue drops connections,
 * whose peers retry after a second. With longer queues in all, an attacker who opens and resets connections delays other peers.
 */
const BACKLOG = { alone: 4_096, shared: 256 };
/** Connections that one address may hold. A process can open some 20,000 files, and one stranger must not hold them all. */
const MOST_OF_ADDRESS = 1_000;
/** From this total of connections on, an address may hold only `MOST_OF_MANY`. */
const MANY_CONNECTIONS = 8_000;
const MOST_OF_MANY = 100;
/** After so many new connections within a second, an address may open only `MOST_NEW_OF_MANY` in it: each invalid request opens another. */
const MANY_NEW = 2_000;
const MOST_NEW_OF_MANY = 100;
/** Unread bytes of answers that may wait in memory for one address. Streamed answers wait elsewhere. */
const MOST_UNREAD = 64 * 1024 * 1024;

/** How long a peer may delay the sending of an answer. */
interface AnswerLimits {
  /** The longest time in which the peer takes no byte of the answer. */
  readonly stallMs: number;
  /** The time from the first to the last byte. It also stops a peer that takes a few bytes now and then. */
  readonly wholeMs: number;
}

const ANSWER_LIMITS: AnswerLimits = { stallMs: TIME_LIMITS.answerStallMs, wholeMs: TIME_LIMITS.answerMs };

export interface ListenOptions extends Pick<NetListenOptions, 'reusePort'> {
  readonly fetch: (request: Request, env: HttpBindings) => Response | Promise<Response>;
  readonly port: number;
  readonly host: string;
  /** URL of the reference that error bodies link to; no link when left out. */
  readonly referenceUrl?: string;
  /** Whether a proxy sends the requests of all clients. Its address then has no limit of connections. */
  readonly behindProxy?: boolean;
  /** Whether clients reach the service over HTTPS. */
  readonly secure?: boolean;
  /** Logs requests that are refused before the app sees them, and faults of the listening sockets. */
  readonly log?: Log | undefined;
  /** Counts the requests that are refused before the app sees them. */
  readonly observe?: ((request: ObservedRequest) => void) | undefined;
  /** Replaces limits of the service, so that tests can exceed them quickly. */
  readonly serverOptions?: ServerOptions;
  readonly answerLimits?: AnswerLimits;
}

export interface Listener {
  readonly port: number;
  /** Goes on accepting requests for `ms`, but closes each connection after its next answer. */
  drain(ms: number): Promise<void>;
  /** Stops accepting, lets requests in flight finish within `graceMs`, then cuts the remaining connections. */
  close(graceMs: number): Promise<void>;
}

function framingRefusal(code: string | undefined): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return badRequest(`A request has at most ${MAX_HEADERS} headers, of ${MAX_HEADER_BYTES} bytes together.`);
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return badRequest('The request took too long to arrive.');
  if (code === 'HPE_INVALID_EOF_STATE') return badRequest('The request ended before it was complete.');
  return badRequest('The request is not valid HTTP.');
}

/** Progress of an answer whose bytes wait for the peer. */
interface Writing {
  /** By the clock of `performance.now()`. */
  readonly since: number;
  readonly taken: number;
  readonly takenAt: number;
}

/** Bytes that the kernel has taken. If it has taken part of a piece, only the socket's handle knows how many bytes are left. */
function takenBytes(socket: Socket): number {
  const left: unknown = Reflect.get(Reflect.get(socket, '_handle') ?? {}, 'writeQueueSize');
  return socket.bytesWritten - (typeof left === 'number' ? left : socket.writableLength);
}

/** Accepts connections, refuses malformed requests, and passes all others to the app. */
class HttpServer {
  readonly #server: Server;
  readonly #handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  readonly #options: ListenOptions;
  readonly #limits: AnswerLimits;
  readonly #service: RefusingService;
  /** More listening sockets on the port of `#server`, which pass their connections to it. */
  readonly #beside: SocketServer[] = [];
  readonly #connections = new Map<Duplex, Connection>();
  /** Connections by address. */
  readonly #held = new Map<string, number>();
  /** Connections that were opened in a second, by address. */
  #opened = { second: 0, inAll: 0, of: new Map<string, number>() };
  /** The answers that are not finished, in the order of their requests. */
  readonly #unanswered = new Set<ServerResponse>();
  readonly #answersOf = new WeakMap<Duplex, Set<ServerResponse>>();
  readonly #refused = new WeakSet<Duplex>();
  readonly #writing = new WeakMap<ServerResponse, Writing>();
  #sweep: NodeJS.Timeout | undefined;
  #draining = false;
  /** Whether refused connections are reset before they come here (`guardAccept`). */
  #isGuarded = false;

  constructor(options: ListenOptions) {
    this.#options = options;
    this.#service = { referenceUrl: options.referenceUrl, secure: options.secure === true };
    this.#limits = options.answerLimits ?? ANSWER_LIMITS;
    // For faults outside of the app, which should not occur: node-server itself would answer without the usual error body.
    const errorHandler = (fault: unknown): Response => refusalResponse(this.#errorOf(fault), this.#service);
    // node-server needs a host name, and an HTTP/1.0 request may have none; nothing depends on it.
    const hostname = 'localhost';
    const fetch = options.fetch as Parameters<typeof getRequestListener>[0];
    this.#handle = getRequestListener(fetch, { errorHandler, hostname });
    this.#server = createServer({ ...HTTP_SERVER_OPTIONS, ...options.serverOptions });
    this.#server.maxHeadersCount = MAX_HEADERS;
    // A peer may close its sending side after its requests and still read the answers. The option is not in Node's types.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#attach();
  }

  /** Has no listener for upgrades on purpose: without one, Node ignores the header Upgrade and handles the request as any other. */
  #attach(): void {
    this.#server.on('connection', (socket) => {
      const address = countedAddress(socket.remoteAddress ?? '') ?? '';
      if (!this.#isGuarded && this.#refuses(address)) {
        socket.resetAndDestroy();
        return;
      }
      this.#held.set(address, (this.#held.get(address) ?? 0) + 1);
      this.#connections.set(socket, new Connection(socket, address));
      socket.once('close', () => {
        this.#connections.delete(socket);
        const left = (this.#held.get(address) ?? 1) - 1;
        if (left === 0) this.#held.delete(address);
        else this.#held.set(address, left);
      });
    });
    this.#server.on('request', (request, response) =>
      this.#inOrder(request, response, () => this.#take(request, response)),
    );
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#refuseConnection(error, socket));
    this.#server.on('checkExpectation', (request, response) => {
      const error = badRequest('The header Expect takes 100-continue only.', { field: 'Expect' });
      this.#inOrder(request, response, () => this.#refuse(response, error, true));
    });
    this.#server.on('connect', (request, socket) => {
      this.#connections.get(socket)?.end();
      const error = badRequest('CONNECT is not supported.');
      // Node has detached this connection: nothing else handles its errors.
      socket.on('error', () => socket.destroy());
      this.#note(refuseOnSocket(socket, error, request.rawHeaders, this.#service), error, request.socket.remoteAddress);
    });
  }

  #refuses(address: string): boolean {
    if (this.#options.behindProxy === true) return false;
    const most = this.#connections.size < MANY_CONNECTIONS ? MOST_OF_ADDRESS : MOST_OF_MANY;
    return this.#opensTooMany(address) || (this.#held.get(address) ?? 0) >= most;
  }

  #opensTooMany(address: string): boolean {
    const second = Math.floor(performance.now() / SECOND_MS);
    if (second !== this.#opened.second) this.#opened = { second, inAll: 0, of: new Map() };
    const { of } = this.#opened;
    const own = (of.get(address) ?? 0) + 1;
    of.set(address, own);
    this.#opened.inAll += 1;
    return this.#opened.inAll > MANY_NEW && own > MOST_NEW_OF_MANY;
  }

  /** @param address of the peer itself: the headers of a request that cannot be parsed are not trusted */
  #note(requestId: string, error: ApiError, address: string | undefined): void {
    const { status, code } = error;
    this.#options.observe?.({ method: 'none', route: 'none', status, ms: 0, code });
    this.#options.log?.info({ requestId, address, status, code, reason: error.message }, 'request');
  }

  #refuse(response: ServerResponse, error: ApiError, closing: boolean): void {
    this.#note(refuseOnResponse(response, error, closing, this.#service), error, response.req.socket.remoteAddress);
  }

  #errorOf(fault: unknown): ApiError {
    if (fault instanceof ApiError) return fault;
    if (fault instanceof RequestError) return badRequest('The request target is not valid.');
    this.#options.log?.error({ fault: summariseFault(fault) }, 'a request failed outside of the app');
    return toApiError(fault);
  }

  /** Cuts connections whose peers read an answer too slowly, and those of an address with more than `MOST_UNREAD` unread bytes. */
  #cutStalled(): void {
    const now = performance.now();
    const unread = new Map<string, number>();
    for (const response of this.#unanswered) {
      const { socket } = response.req;
      // While the answer is still being made, the peer is not the cause of the wait.
      if (!response.headersSent || socket.writableLength === 0) continue;
      const address = this.#options.behindProxy === true ? undefined : countedAddress(socket.remoteAddress ?? '');
      const others = unread.get(address ?? '') ?? 0;
      if (address !== undefined && others > 0 && others + socket.writableLength > MOST_UNREAD) {
        socket.destroy();
        continue;
      }
      unread.set(address ?? '', others + socket.writableLength);
      const taken = takenBytes(socket);
      const seen = this.#writing.get(response);
      if (seen === undefined) this.#writing.set(response, { since: now, taken, takenAt: now });
      else if (
        now - seen.since >= this.#limits.wholeMs ||
        (taken === seen.taken && now - seen.takenAt >= this.#limits.stallMs)
      ) {
        this.#options.log?.info({ taken }, 'an answer was not taken in time');
        socket.destroy();
      } else if (taken !== seen.taken) this.#writing.set(response, { since: seen.since, taken, takenAt: now });
    }
  }

  #inOrder({ socket }: IncomingMessage, response: ServerResponse, begin: () => void): void {
    this.#unanswered.add(response);
    const own = this.#answersOf.get(socket) ?? new Set();
    this.#answersOf.set(socket, own.add(response));
    response.once('close', () => {
      this.#unanswered.delete(response);
      own.delete(response);
    });
    this.#connections.get(socket)?.inOrder(response, begin);
  }

  /** Checks a request before node-server: that would repair a bad Host or target, or refuse it without the usual error body. */
  #take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#draining) response.setHeader('Connection', 'close');
    let framed = false;
    try {
      checkFraming(request.rawHeaders, request.httpVersion);
      framed = true;
      checkRequestSyntax(request.rawHeaders, request.httpVersion);
      parseRequestTarget(request.url ?? '');
    } catch (fault) {
      this.#refuse(response, this.#errorOf(fault), !framed);
      return;
    }
    void this.#handle(request, response);
  }

  /** Refuses the connection after the answers to earlier requests: an error in their place could report an accepted ballot as refused. */
  #refuseConnection(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    this.#connections.get(socket)?.end();
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const before = [...(this.#answersOf.get(socket) ?? [])];
    const broken = before.at(-1)?.req.complete === false ? before.pop() : undefined;
    const refuse = (): void => {
      if (broken?.headersSent === true) closeAfter(socket);
      else if (socket.writable) {
        const refusal = framingRefusal(error.code);
        const address = socket instanceof Socket ? socket.remoteAddress : undefined;
        this.#note(refuseOnSocket(socket, refusal, broken?.req.rawHeaders ?? [], this.#service), refusal, address);
      }
    };
    const previous = before.at(-1);
    // Thousands of connections may break off at once, and each gets an answer: they take turns.
    if (previous === undefined) this.#connections.get(socket)?.soon(refuse);
    else previous.once('close', refuse);
  }

  async listen({ port, host, reusePort = false }: ListenOptions): Promise<number> {
    await this.#listenOn(this.#server, { port, host, reusePort });
    const taken = (this.#server.address() as AddressInfo).port;
    for (let more = 1; reusePort && more < SOCKETS; more += 1) {
      const beside = createSocketServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
        this.#server.emit('connection', socket),
      );
      await this.#listenOn(beside, { port: taken, host, reusePort });
      this.#beside.push(beside);
    }
    this.#sweep = setInterval(() => this.#cutStalled(), TIME_LIMITS.connectionsCheckIntervalMs);
    this.#sweep.unref();
    return taken;
  }

  async #listenOn(server: SocketServer, options: NetListenOptions): Promise<void> {
    server.listen({ backlog: options.reusePort === true ? BACKLOG.shared : BACKLOG.alone, ...options });
    await untilListening(server);
    this.#isGuarded = guardAccept(server, (peer) => this.#refuses(countedAddress(peer) ?? ''));
    // Accepting can fail later, for instance when file descriptors run out; the process must survive that.
    server.on('error', (fault) => this.#options.log?.error({ fault: summariseFault(fault) }, 'the listener failed'));
  }

  /** Closes each connection after its next answer. */
  #beginDraining(): void {
    this.#draining = true;
    for (const response of this.#unanswered) if (!response.headersSent) response.setHeader('Connection', 'close');
  }

  async drain(ms: number): Promise<void> {
    this.#beginDraining();
    await delay(ms);
  }

  async close(graceMs: number): Promise<void> {
    // Closes idle and silent connections too.
    const closed = Promise.all(
      [this.#server, ...this.#beside].map((server) => new Promise<void>((resolve) => server.close(() => resolve()))),
    );
    this.#beginDraining();
    const timer = setTimeout(() => {
      for (const socket of this.#connections.keys()) socket.destroy();
    }, graceMs);
    await closed;
    clearTimeout(timer);
    clearInterval(this.#sweep);
  }
}

/** @throws Node's error with `listen` as its `syscall`, also for a host whose name is unknown: it is no fault of the database */
async function untilListening(server: SocketServer): Promise<void> {
  await once(server, 'listening').catch((fault: Error) => {
    throw Object.assign(fault, { syscall: 'listen' });
  });
}

/** Checks that no other service has the port: `reusePort` would silently share it. @throws the error of a port in use */
export async function requireFreePort({ port, host }: { readonly port: number; readonly host: string }): Promise<void> {
  const probe = createSocketServer().listen({ port, host, exclusive: true });
  await untilListening(probe);
  probe.close();
  await once(probe, 'close');
}

/** Starts the HTTP server, with limits on the time that a peer may take, and the usual error body for every refused request. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const server = new HttpServer(options);
  const port = await server.listen(options);
  return { port, drain: (ms) => server.drain(ms), close: (graceMs) => server.close(graceMs) };
}
