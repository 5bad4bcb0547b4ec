import { badRequest } from '#src/platform/errors.ts';

/** Headers that mean one thing or nothing: sent twice, two readers would disagree on them. */
const SINGLE_VALUE = new Set([
  'authorization',
  'host',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'expect',
]);
const HOST = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/;
const REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;
const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

/** Every value of a header as it came, in order. `rawHeaders` is Node's flat list of names and values. */
export function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}

/** The first stage, before any route is looked for: what makes a request ambiguous. @throws ApiError `bad_request` */
export function checkRequestSyntax(rawHeaders: readonly string[]): void {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (!SINGLE_VALUE.has(name)) continue;
    if (seen.has(name)) throw badRequest(`The header ${name} must be sent once.`, { field: name });
    seen.add(name);
  }
  const host = valuesOf(rawHeaders, 'host')[0];
  if (host === undefined || !HOST.test(host)) throw badRequest('The header Host must name a host.', { field: 'Host' });
  const encoding = valuesOf(rawHeaders, 'content-encoding')[0];
  if (encoding !== undefined) {
    throw badRequest('Bodies are taken as they are: leave Content-Encoding out.', { field: 'Content-Encoding' });
  }
}

/** The caller's own request ID when it can be used as one, otherwise undefined: a bad one is never an error. */
export function ownRequestId(rawHeaders: readonly string[]): string | undefined {
  const values = valuesOf(rawHeaders, 'x-request-id');
  const [only] = values;
  return values.length === 1 && only !== undefined && REQUEST_ID.test(only) ? only : undefined;
}

/** The key of an idempotent request, or undefined. @throws ApiError `bad_request` when it is not 1–255 visible ASCII characters or stands twice. */
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

/** Whether a body was announced at all. */
export function announcesBody(rawHeaders: readonly string[]): boolean {
  const length = valuesOf(rawHeaders, 'content-length')[0];
  return valuesOf(rawHeaders, 'transfer-encoding').length > 0 || (length !== undefined && length !== '0');
}

/** @throws ApiError `bad_request` unless the body is declared as JSON in UTF-8. */
export function checkContentType(rawHeaders: readonly string[]): void {
  const type = valuesOf(rawHeaders, 'content-type')[0];
  if (type === undefined || !JSON_TYPE.test(type)) {
    throw badRequest('A body needs the header Content-Type: application/json.', { field: 'Content-Type' });
  }
}
