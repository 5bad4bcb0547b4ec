import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector, request } from 'undici';
import { isRefusedAddress } from '#src/platform/network-address.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { endpointUrlFault } from './endpoint-url.ts';

const MAX_READ_BYTES = 16_384;
const MAX_KEPT_CHARACTERS = 2_048;

/** What came of one attempt to reach a receiver. */
export interface PostOutcome {
  readonly status: number | null;
  /** Why there is no good answer, in one word; null when there is an answer. */
  readonly error: string | null;
  readonly body: string | null;
  readonly retryAfter: string | null;
  readonly durationMs: number;
}

/** Raised where an address is one that nobody outside may make this service speak to. */
class RefusedAddress extends Error {
  readonly code = 'address_not_allowed';
}

/** Asks for the addresses of a name. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (fault: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Resolves a name and refuses it when any of its addresses is refused: the connection goes to the very addresses that were looked at. */
const guardedLookup =
  (resolve: Resolve): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (fault, addresses) => {
      if (fault !== null) return callback(fault, []);
      if (addresses.length === 0 || addresses.some(({ address }) => isRefusedAddress(address))) {
        return callback(new RefusedAddress('a receiver resolves into a private network'), []);
      }
      const [first] = addresses;
      return options.all === true || first === undefined
        ? callback(null, addresses)
        : callback(null, first.address, first.family);
    });
  };

/** Connects like undici does, but never to a refused address. Node asks no resolver for addresses in letters, so those are looked at here. */
function guardedConnector(allowPrivate: boolean, resolve: Resolve): buildConnector.connector {
  const options = { timeout: TIME_LIMITS.webhookConnectMs };
  if (allowPrivate) return buildConnector(options);
  const connect = buildConnector({ ...options, lookup: guardedLookup(resolve) });
  return (target, callback) => {
    const host = target.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && isRefusedAddress(host)) {
      callback(new RefusedAddress('a receiver lies in a private network'), null);
      return;
    }
    connect(target, callback);
  };
}

async function readStart(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop closes the connection: nobody fills our memory with an answer.
    if (bytes >= MAX_READ_BYTES) break;
  }
  const text = Buffer.concat(chunks).subarray(0, MAX_READ_BYTES).toString('utf8');
  return text.replaceAll('\0', '').slice(0, MAX_KEPT_CHARACTERS);
}

/** One word for why an exchange failed. */
function errorWord(fault: unknown): string {
  for (let error: unknown = fault; error instanceof Error; error = error.cause) {
    const code = String(Reflect.get(error, 'code') ?? '');
    if (code === 'address_not_allowed') return code;
    if (/TIMEOUT|TIMEDOUT/.test(code) || error.name === 'TimeoutError' || error.name === 'AbortError') return 'timeout';
    if (/ENOTFOUND|EAI_/.test(code)) return 'name_not_found';
    if (/CERT|SSL|TLS|SELF_SIGNED|ALTNAME|VERIFY/.test(code)) return 'certificate';
    if (code === 'ECONNREFUSED') return 'refused';
    if (/ECONNRESET|EPIPE|UND_ERR_SOCKET|HPE_/.test(code)) return 'broken_off';
  }
  return 'unreachable';
}

export interface Poster {
  /** Sends a text; every failure is an outcome. */
  post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<PostOutcome>;
  close(): Promise<void>;
}

/**
 * @param allowPrivate lets receivers lie in private networks and speak plain http
 * @param resolve what names are looked up with; the machine's own resolver unless told otherwise
 */
export function createPoster(allowPrivate: boolean, resolve: Resolve = lookup): Poster {
  const agent = new Agent({
    connect: guardedConnector(allowPrivate, resolve),
    headersTimeout: TIME_LIMITS.webhookExchangeMs,
    bodyTimeout: TIME_LIMITS.webhookExchangeMs,
    maxHeaderSize: MAX_READ_BYTES,
  });
  return {
    async post(url, headers, body) {
      const startedAt = performance.now();
      const outcome = (rest: Omit<PostOutcome, 'durationMs'>): PostOutcome => ({
        ...rest,
        durationMs: Math.round(performance.now() - startedAt),
      });
      if (endpointUrlFault(url, allowPrivate) !== undefined) {
        return outcome({ status: null, error: 'url_not_allowed', body: null, retryAfter: null });
      }
      try {
        const answer = await request(url, {
          method: 'POST',
          dispatcher: agent,
          signal: AbortSignal.timeout(TIME_LIMITS.webhookExchangeMs),
          headers: { 'content-type': 'application/json', 'user-agent': 'voting-service-webhooks/1', ...headers },
          body,
        });
        const retryAfter = answer.headers['retry-after'];
        return outcome({
          status: answer.statusCode,
          error: null,
          body: await readStart(answer.body),
          retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
        });
      } catch (fault) {
        return outcome({ status: null, error: errorWord(fault), body: null, retryAfter: null });
      }
    },
    close: () => agent.destroy(),
  };
}
