import { constants } from 'node:crypto';
import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { DEFAULT_CIPHERS } from 'node:tls';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { isRefusedAddress } from '#src/platform/network-address.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { endpointUrlFault, isWithinReach, type WebhookReach } from './receiver-url.ts';

/** Most bytes of an answer that are read, and most that are stored. */
const MAX_READ_BYTES = 16_384;
const MAX_KEPT_BYTES = 2_048;

interface PostAnswer {
  readonly status: number;
  readonly retryAfter: string | null;
  /** The start of the answer's body. */
  readonly body: string;
}

class ExchangeTimeout extends Error {
  override readonly name = 'TimeoutError';
}

/** The start of a body as text, without NUL bytes, which PostgreSQL rejects. */
function startOf(chunks: readonly Uint8Array[]): string {
  const kept = Buffer.concat(chunks)
    .subarray(0, MAX_READ_BYTES)
    .filter((byte) => byte !== 0)
    .subarray(0, MAX_KEPT_BYTES);
  // `stream` drops a character cut in half at the end instead of replacing it.
  return new TextDecoder().decode(kept, { stream: true });
}

/** Posts a text and reads the start of the answer, without redirects. @throws the network error, or a `TimeoutError` */
async function postMessage(
  dispatcher: Dispatcher,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  exchangeMs: number,
): Promise<PostAnswer> {
  const { origin, pathname, search } = new URL(url);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new ExchangeTimeout('the exchange took too long')), exchangeMs);
  try {
    const path = `${pathname}${search}`;
    const answer = await dispatcher.request({ origin, path, method: 'POST', headers, body, signal: late.signal });
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const chunk of answer.body) {
        chunks.push(chunk);
        bytes += chunk.length;
        // Closes the connection, so that a long answer cannot fill the memory.
        if (bytes >= MAX_READ_BYTES) break;
      }
    } catch (fault) {
      // The status is the answer, even where the body breaks off. A body that comes too slowly is a timeout.
      if (late.signal.aborted) throw fault;
    }
    const retryAfter = answer.headers['retry-after'];
    return {
      status: answer.statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
      body: startOf(chunks),
    };
  } finally {
    clearTimeout(timer);
  }
}

export interface PostOutcome {
  readonly status: number | null;
  /** Why there is no answer, as one word; null if there is an answer. */
  readonly error: string | null;
  readonly body: string | null;
  readonly retryAfter: string | null;
  readonly durationMs: number;
}

/** Thrown for a private or reserved address: users must not make this service connect there (SSRF). */
class RefusedAddress extends Error {
  readonly code = 'address_not_allowed';
}

type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (fault: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Time limit of one DNS query, and the number of tries. */
const NAME_TIMEOUT_MS = 1_500;
const NAME_TRIES = 2;

/** Asks DNS servers: names that never resolve would block the few threads on which `getaddrinfo` runs. */
function askNameServers(): Resolve {
  const resolver = new Resolver({ timeout: NAME_TIMEOUT_MS, tries: NAME_TRIES });
  return (hostname, _options, callback) => {
    Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]).then(([four, six]) => {
      const addresses = [
        ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
        ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
      ];
      if (addresses.length > 0) return callback(null, addresses);
      callback(four.status === 'rejected' ? four.reason : new Error('a name has no address'), []);
    });
  };
}

/** Resolves a name and refuses it if any address is refused. The connection uses the checked addresses, against DNS rebinding. */
const guardedLookup =
  (resolve: Resolve, isRefused: (address: string) => boolean): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (fault, addresses) => {
      if (fault !== null) return callback(fault, []);
      if (addresses.length === 0 || addresses.some(({ address }) => isRefused(address))) {
        return callback(new RefusedAddress('a receiver resolves into a private network'), []);
      }
      const [first] = addresses;
      return options.all === true || first === undefined
        ? callback(null, addresses)
        : callback(null, first.address, first.family);
    });
  };

const HOSTS_FILE = '/etc/hosts';

/** As `resolve`, but asks the system for names of this machine: those without a dot, and those of its hosts file. */
const ownNamesFirst =
  (resolve: Resolve): Resolve =>
  (hostname, options, callback) => {
    const isOwn = async (): Promise<boolean> =>
      !hostname.includes('.') ||
      (await readFile(HOSTS_FILE, 'utf8').catch(() => '')).toLowerCase().split(/\s+/).includes(hostname.toLowerCase());
    isOwn().then((own) => (own ? lookup : resolve)(hostname, options, callback));
  };

/**
 * A receiver cannot choose what its key exchange costs: with DHE it sends a prime of its own, and one of 10,000 bits holds the event loop for
 * a second, before any certificate is looked at. Nor can it ask for one exchange after the other.
 */
const TLS = {
  ciphers: `${DEFAULT_CIPHERS}:!kDHE`,
  ecdhCurve: 'X25519:P-256:P-384:P-521',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

/** Most bytes that a receiver sends before the handshake ends: a chain of certificates usually has 3,000 to 8,000. */
const MAX_HANDSHAKE_BYTES = 16_384;

/** Thrown before the certificates are verified: 72 of them, with keys made for it, hold the event loop for half a second. */
class LongHandshake extends Error {
  readonly code = 'CERTIFICATES_TOO_LONG';
}

/** A connection that TLS is spoken over, and that breaks off where the receiver's part of the handshake is too long. */
class HandshakeSocket extends Duplex {
  readonly #plain: Socket;
  #bytesLeft = MAX_HANDSHAKE_BYTES;

  constructor(plain: Socket) {
    super();
    this.#plain = plain;
    plain.on('data', (chunk: Uint8Array) => {
      this.#bytesLeft -= chunk.length;
      if (this.#bytesLeft < 0) this.destroy(new LongHandshake('a receiver sends too much before the handshake ends'));
      else if (!this.push(chunk)) plain.pause();
    });
    plain.on('end', () => this.push(null));
    plain.on('error', (fault) => this.destroy(fault));
    plain.on('close', () => this.destroy());
  }

  handshakeEnded(): void {
    this.#bytesLeft = Number.POSITIVE_INFINITY;
  }

  override _read(): void {
    this.#plain.resume();
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (fault?: Error | null) => void): void {
    this.#plain.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#plain.end(done);
  }

  override _destroy(fault: Error | null, done: (fault: Error | null) => void): void {
    this.#plain.destroy();
    done(fault);
  }
}

function countedConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) => {
    if (target.protocol !== 'https:') return connect(target, callback);
    // An address without a port has an empty one here, which undici would take for that of http.
    connect({ ...target, protocol: 'http:', port: target.port || '443' }, (fault, plain) => {
      // With a fault undici gives no second argument.
      if (!plain) return callback(fault ?? new Error('no connection'), null);
      const socket = new HandshakeSocket(plain);
      // `tls.connect` takes any duplex stream; undici's type names a socket alone.
      connect({ ...target, httpSocket: socket as Duplex as Socket }, (...outcome) => {
        socket.handshakeEnded();
        callback(...outcome);
      });
    });
  };
}

/** Connects as undici does, but never to a refused address. Literal IP addresses are checked here: Node calls no lookup for them. */
function guardedConnector(reach: WebhookReach, resolve: Resolve): buildConnector.connector {
  const options = { timeout: TIME_LIMITS.webhookConnectMs, allowH2: false, ...TLS };
  const inside = countedConnector({ ...options, lookup: guardedLookup(ownNamesFirst(resolve), () => false) });
  const connect = countedConnector({ ...options, lookup: guardedLookup(resolve, isRefusedAddress) });
  return (target, callback) => {
    if (isWithinReach(reach, target.hostname)) return inside(target, callback);
    const host = target.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && isRefusedAddress(host)) {
      callback(new RefusedAddress('a receiver lies in a private network'), null);
      return;
    }
    connect(target, callback);
  };
}

function errorWord(fault: unknown): string {
  for (let error: unknown = fault; error instanceof Error; error = error.cause) {
    const code = String(Reflect.get(error, 'code') ?? '');
    if (code === 'address_not_allowed') return code;
    // ECONNREFUSED of a DNS query comes from the name server, not from the receiver.
    const asked = String(Reflect.get(error, 'syscall') ?? '').startsWith('query');
    if (asked && !/TIMEOUT|ECANCELLED/.test(code)) return 'name_not_found';
    if (/TIMEOUT|TIMEDOUT|ECANCELLED/.test(code) || error.name === 'TimeoutError' || error.name === 'AbortError')
      return 'timeout';
    if (/ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|EBADNAME|EAI_/.test(code)) return 'name_not_found';
    if (/CERT|SSL|TLS|SELF_SIGNED|ALTNAME|VERIFY/.test(code)) return 'certificate';
    if (code === 'ECONNREFUSED') return 'refused';
    if (/ECONNRESET|EPIPE|UND_ERR_SOCKET|HPE_/.test(code)) return 'broken_off';
  }
  return 'unreachable';
}

export interface Poster {
  /** Sends a text; every failure of the exchange is an outcome. */
  post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<PostOutcome>;
  close(): Promise<void>;
}

/** @param resolve looks up names that must be public; DNS servers by default @param exchangeMs of an exchange */
export function createPoster(
  reach: WebhookReach,
  resolve: Resolve = askNameServers(),
  exchangeMs: number = TIME_LIMITS.webhookExchangeMs,
): Poster {
  const agent = new Agent({
    connect: guardedConnector(reach, resolve),
    headersTimeout: exchangeMs,
    bodyTimeout: exchangeMs,
    maxHeaderSize: MAX_READ_BYTES,
  });
  return {
    async post(url, headers, body) {
      const startedAt = performance.now();
      const outcome = (rest: Omit<PostOutcome, 'durationMs'>): PostOutcome => ({
        ...rest,
        durationMs: Math.round(performance.now() - startedAt),
      });
      if (endpointUrlFault(url, reach) !== undefined) {
        return outcome({ status: null, error: 'url_not_allowed', body: null, retryAfter: null });
      }
      try {
        const sent = { 'content-type': 'application/json', 'user-agent': 'voting-service-webhooks/1', ...headers };
        return outcome({ ...(await postMessage(agent, url, sent, body, exchangeMs)), error: null });
      } catch (fault) {
        return outcome({ status: null, error: errorWord(fault), body: null, retryAfter: null });
      }
    },
    close: () => agent.destroy(),
  };
}
