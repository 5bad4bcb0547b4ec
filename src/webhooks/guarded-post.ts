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

/** Most bytes of an answer that are read, and most bytes that are stored. */
const MAX_READ_BYTES = 16_384;
const MAX_KEPT_BYTES = 2_048;

interface PostAnswer {
  readonly status: number;
  readonly retryAfter: string | null;
  /** The beginning of the answer's body. */
  readonly body: string;
}

class ExchangeTimeout extends Error {
  override readonly name = 'TimeoutError';
}

/** The beginning of a body as text, without NUL bytes, which PostgreSQL refuses. */
function startOf(chunks: readonly Uint8Array[]): string {
  const kept = Buffer.concat(chunks)
    .subarray(0, MAX_READ_BYTES)
    .filter((byte) => byte !== 0)
    .subarray(0, MAX_KEPT_BYTES);
  // With `stream`, a character that is cut in half at the end is dropped instead of replaced.
  return new TextDecoder().decode(kept, { stream: true });
}

/** Posts a text, and reads the beginning of the answer. Follows no redirect. @throws the network error, or a `TimeoutError` */
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
        // Leaving the loop closes the connection, so that a long answer cannot fill the memory.
        if (bytes >= MAX_READ_BYTES) break;
      }
    } catch (fault) {
      // The status counts as the answer even if the body breaks off. A body that comes too slowly is a timeout.
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
  /** Why there is no answer, in one word; null if there is an answer. */
  readonly error: string | null;
  readonly body: string | null;
  readonly retryAfter: string | null;
  readonly durationMs: number;
}

/** Thrown for a private or reserved address, to which users must not make this service connect (SSRF). */
class RefusedAddress extends Error {
  readonly code = 'address_not_allowed';
}

type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (fault: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Time limit of one DNS query, and number of tries. */
const NAME_TIMEOUT_MS = 1_500;
const NAME_TRIES = 2;

/** Asks DNS servers directly: names that never resolve would block the few threads that run `getaddrinfo`. */
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

/** Resolves a name, and refuses it if any of its addresses is refused. The connection uses the checked addresses, against DNS rebinding. */
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

/** As `resolve`, but asks the system for this machine's own names: names without a dot, and names in its hosts file. */
const ownNamesFirst =
  (resolve: Resolve): Resolve =>
  (hostname, options, callback) => {
    const isOwn = async (): Promise<boolean> =>
      !hostname.includes('.') ||
      (await readFile(HOSTS_FILE, 'utf8').catch(() => '')).toLowerCase().split(/\s+/).includes(hostname.toLowerCase());
    isOwn().then((own) => (own ? lookup : resolve)(hostname, options, callback));
  };

/**
 * Limits what a receiver can make its key exchange cost. With DHE it would send its own prime, and a prime of 10,000 bits blocks the event
 * loop for a second, before any certificate is looked at. It also cannot ask for further exchanges (renegotiation).
 */
const TLS = {
  ciphers: `${DEFAULT_CIPHERS}:!kDHE`,
  ecdhCurve: 'X25519:P-256:P-384:P-521',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

/** Most bytes that a receiver may send before the handshake ends. A chain of certificates usually has 3,000 to 8,000. */
const MAX_HANDSHAKE_BYTES = 16_384;

/** Thrown before the certificates are verified: 72 certificates with keys made for an attack block the event loop for half a second. */
class LongHandshake extends Error {
  readonly code = 'CERTIFICATES_TOO_LONG';
}

/** Carries a TLS connection, and ends it if the receiver sends more than `MAX_HANDSHAKE_BYTES` during the handshake. */
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
    // Without a port in the URL, `target.port` is empty, and undici would use the port of http.
    connect({ ...target, protocol: 'http:', port: target.port || '443' }, (fault, plain) => {
      // In case of an error, undici passes no second argument.
      if (!plain) return callback(fault ?? new Error('no connection'), null);
      const socket = new HandshakeSocket(plain);
      // `tls.connect` takes any duplex stream, but undici's type allows only a socket.
      connect({ ...target, httpSocket: socket as Duplex as Socket }, (...outcome) => {
        socket.handshakeEnded();
        callback(...outcome);
      });
    });
  };
}

/** Connects like undici, but never to a refused address. Checks literal IP addresses here, because Node calls no lookup for them. */
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
    // If a DNS query fails with ECONNREFUSED, the name server refused, not the receiver.
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
  /** Sends a text. Any failure of the exchange is an outcome, not an error. */
  post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<PostOutcome>;
  close(): Promise<void>;
}

/** @param resolve looks up names that must be public; by default by DNS servers @param exchangeMs time limit of an exchange */
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
