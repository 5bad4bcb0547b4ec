import { valuesOf } from '#src/http/request-headers.ts';
import { badRequest } from '#src/platform/errors.ts';

/** Headers with a single value: if a request repeats one, a proxy and this server could read different values. */
const SINGLE_VALUE: readonly string[] = [
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'expect',
  'from',
  'host',
  'if-modified-since',
  'if-unmodified-since',
  'max-forwards',
  'origin',
  'proxy-authorization',
  'referer',
  'user-agent',
  'x-request-id',
];
/** One bit for each single-value header. */
const BIT_OF = new Map(SINGLE_VALUE.map((name, index) => [name, 1 << index]));
const CONTENT_ENCODING = BIT_OF.get('content-encoding') ?? 0;
// A host whose last label begins with a letter is no IP address, so it has only one spelling.
const PLAIN_HOST = /^(?:[a-z0-9_-]+\.)*[a-z][a-z0-9_-]*(?::[1-9]\d{0,3})?$/;
const HOST = /^(?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
const PORT = /:\d+$/;

/** Whether a Host has the form that a URL would give it: an address such as `127.1` may be different hosts to different readers. */
function isHost(value: string): boolean {
  if (PLAIN_HOST.test(value)) return true;
  if (!HOST.test(value)) return false;
  const url = URL.parse(`http://${value}`);
  return url !== null && url.hostname === value.replace(PORT, '').toLowerCase();
}

/**
 * Refuses requests whose end Node's parser and a proxy could see in different places (request smuggling). The connection cannot be used
 * any further.
 * @throws ApiError `bad_request` for any transfer coding except chunked, and for chunked in HTTP/1.0, which lacks this coding
 */
export function checkFraming(rawHeaders: readonly string[], httpVersion: string): void {
  const codings = valuesOf(rawHeaders, 'transfer-encoding');
  const [coding] = codings;
  if (coding === undefined) return;
  if (codings.length > 1 || coding.toLowerCase() !== 'chunked' || httpVersion === '1.0') {
    throw badRequest('The only Transfer-Encoding taken is chunked, in HTTP/1.1.', { field: 'Transfer-Encoding' });
  }
}

/**
 * Refuses, before routing, headers that make a request ambiguous or meaningless.
 * @throws ApiError `bad_request` for a repeated single-value header, a missing or bad Host (HTTP/1.0 needs none), Content-Encoding.
 */
export function checkRequestSyntax(rawHeaders: readonly string[], httpVersion = '1.1'): void {
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    const bit = BIT_OF.get(name) ?? 0;
    if ((seen & bit) !== 0) throw badRequest(`The header ${name} must be sent once.`, { field: name });
    seen |= bit;
  }
  const [host] = valuesOf(rawHeaders, 'host');
  if (host === undefined ? httpVersion !== '1.0' : !isHost(host))
    throw badRequest('The header Host must name a host.', { field: 'Host' });
  if ((seen & CONTENT_ENCODING) !== 0) {
    throw badRequest('Bodies are taken as they are: leave Content-Encoding out.', { field: 'Content-Encoding' });
  }
}
