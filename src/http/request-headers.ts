import { badRequest } from '#src/platform/errors.ts';

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

/** The caller's X-Request-Id if it is valid, otherwise undefined: a malformed ID is ignored and never an error. */
export function ownRequestId(rawHeaders: readonly string[]): string | undefined {
  const values = valuesOf(rawHeaders, 'x-request-id');
  const [only] = values;
  return values.length === 1 && only !== undefined && REQUEST_ID.test(only) ? only : undefined;
}

/** The Idempotency-Key, if sent. @throws ApiError `bad_request` unless it is 1 to 255 visible ASCII characters, once */
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

/** Whether a body is announced: by a Content-Length above zero, or by a Transfer-Encoding, even if no byte follows. */
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

/** The headers of every answer, early refusals included; operations may add more. @param secure whether HTTPS is used */
export const answerHeaders = (requestId: string, secure: boolean): Record<string, string> => ({
  'X-Request-Id': requestId,
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  ...(secure ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}),
});
