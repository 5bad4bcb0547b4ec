import { badRequest } from '#src/platform/errors.ts';

/** Headers that mean one thing or nothing: sent twice, two readers would disagree on them. */
const SINGLE_VALUE = new Set([
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
]);
// A last label that begins with a letter is not the end of an address: nothing there can be spelt in two ways.
const PLAIN_HOST = /^(?:[a-z0-9_-]+\.)*[a-z][a-z0-9_-]*(?::[1-9]\d{0,3})?$/;
const HOST = /^(?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
const PORT = /:\d+$/;
const REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;
const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?$/i;
const ZERO = /^0+$/;

/** Every value of a header as it came, in order. `rawHeaders` is Node's flat list of names and values, `name` in lower case. */
export function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index];
    if (sent?.length === name.length && sent.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}

/**
 * Whether a Host header names a host that a URL can have, written as a URL would write it: `127.1` and `0x7f.1` are
 * other spellings of an address, and two readers may take them for two hosts.
 */
function isHost(value: string): boolean {
  if (PLAIN_HOST.test(value)) return true;
  if (!HOST.test(value)) return false;
  const url = URL.parse(`http://${value}`);
  return url !== null && url.hostname === value.replace(PORT, '').toLowerCase();
}

/**
 * What Node's parser lets through although two readers could see the end of such a request in different places. Its
 * connection cannot be used any further.
 * @throws ApiError `bad_request` for any transfer coding but chunked, and for chunked in HTTP/1.0, which does not know it.
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
 * The first stage, before any route is looked for: headers that make a request mean two things, or nothing.
 * @throws ApiError `bad_request` for a single-value header sent twice, a missing or bad Host, a coded body.
 */
export function checkRequestSyntax(rawHeaders: readonly string[]): void {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (!SINGLE_VALUE.has(name)) continue;
    if (seen.has(name)) throw badRequest(`The header ${name} must be sent once.`, { field: name });
    seen.add(name);
  }
  const [host] = valuesOf(rawHeaders, 'host');
  if (host === undefined || !isHost(host)) throw badRequest('The header Host must name a host.', { field: 'Host' });
  if (seen.has('content-encoding')) {
    throw badRequest('Bodies are taken as they are: leave Content-Encoding out.', { field: 'Content-Encoding' });
  }
}

/** The caller's own request ID when it can be used as one, otherwise undefined: a bad one is never an error. */
export function ownRequestId(rawHeaders: readonly string[]): string | undefined {
  const values = valuesOf(rawHeaders, 'x-request-id');
  const [only] = values;
  return values.length === 1 && only !== undefined && REQUEST_ID.test(only) ? only : undefined;
}

/**
 * The key of an idempotent request, or undefined where none was sent.
 * @throws ApiError `bad_request` when it is not 1 to 255 visible ASCII characters, or was sent twice.
 */
export function parseIdempotencyKey(rawHeaders: readonly string[]): string | undefined {
  const values = valuesOf(rawHeaders, 'idempotency-key');
  const [only] = values;
  if (only === undefined) return undefined;
  if (values.length > 1 || !IDEMPOTENCY_KEY.test(only)) {
    throw badRequest('Idempotency-Key must be sent once and have 1 to 255 visible ASCII characters without spaces.', {
      field: 'Idempotency-Key',
    });
  }
  return only;
}

/** Whether a body was announced at all: by a length above zero, or by a transfer coding, however little follows it. */
export function announcesBody(rawHeaders: readonly string[]): boolean {
  const [length] = valuesOf(rawHeaders, 'content-length');
  return valuesOf(rawHeaders, 'transfer-encoding').length > 0 || (length !== undefined && !ZERO.test(length));
}

/** @throws ApiError `bad_request` unless the body is declared as JSON in UTF-8, once. */
export function checkContentType(rawHeaders: readonly string[]): void {
  const [type] = valuesOf(rawHeaders, 'content-type');
  if (type === undefined || !JSON_TYPE.test(type)) {
    throw badRequest('A body needs the header Content-Type: application/json.', { field: 'Content-Type' });
  }
}
