import { badRequest } from '#src/platform/errors.ts';

const MAX_TARGET_LENGTH = 8 * 1024;
const CONTROL = /\p{Cc}/u;
// What RFC 3986 lets stand in a path and query, and the few more that browsers and tools leave as they are.
const TARGET = /^[\x21-\x7e]*$/;

export interface RequestTarget {
  /** As it came, not decoded. */
  readonly path: string;
  /** Decoded once; a slash that came as %2F stays inside its segment. */
  readonly segments: readonly string[];
  /** Decoded pairs in order, repetitions included: whether one is allowed is the route's question. */
  readonly query: readonly (readonly [name: string, value: string])[];
}

function decode(text: string, what: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch {
    throw badRequest(`The ${what} is not valid percent-encoded UTF-8.`);
  }
  if (CONTROL.test(decoded)) throw badRequest(`The ${what} must not hold control characters.`);
  return decoded;
}

/**
 * Takes a raw request target apart, strictly: decoded once, nothing normalised.
 * In a query a `+` is a space, as forms and `URLSearchParams` write it.
 * @throws ApiError `bad_request` for malformed encoding, control characters and anything that is not a plain path.
 */
export function parseRequestTarget(target: string): RequestTarget {
  if (target.length > MAX_TARGET_LENGTH) throw badRequest('The address is too long.');
  if (!target.startsWith('/')) throw badRequest('The request target must be a path.');
  if (!TARGET.test(target)) throw badRequest('The address must be ASCII; percent-encode everything else.');
  if (target.includes('#')) throw badRequest('The address must not hold a fragment.');
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  const query = mark === -1 ? '' : target.slice(mark + 1);
  const segments = path
    .slice(1)
    .split('/')
    .map((segment) => decode(segment, 'path'));
  const pairs: [string, string][] = [];
  for (const pair of query === '' ? [] : query.split('&')) {
    const equals = pair.indexOf('=');
    const name = equals === -1 ? pair : pair.slice(0, equals);
    const value = equals === -1 ? '' : pair.slice(equals + 1);
    pairs.push([decode(name.replaceAll('+', ' '), 'query'), decode(value.replaceAll('+', ' '), 'query')]);
  }
  return { path, segments, query: pairs };
}
