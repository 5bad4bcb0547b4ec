import { badRequest, notFound } from '#src/platform/errors.ts';

/** The longest path and query together, in bytes as sent. */
export const MAX_TARGET_LENGTH = 8 * 1024;

const CONTROL = /\p{Cc}/u;
const PRINTABLE_ASCII = /^[\x21-\x7e]*$/;

export interface RequestTarget {
  /** As it came, not decoded. */
  readonly path: string;
  /** Decoded once; a slash that came as %2F stays inside its segment. */
  readonly segments: readonly string[];
  /** Decoded pairs in order. Repeated names are kept: the route decides whether it allows them. */
  readonly query: readonly (readonly [name: string, value: string])[];
}

function decode(text: string, what: string): string {
  // `takeApart` has checked that unescaped text is printable ASCII.
  if (!text.includes('%')) return text;
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch {
    throw badRequest(`The ${what} is not valid percent-encoded UTF-8.`);
  }
  if (CONTROL.test(decoded)) throw badRequest(`The ${what} must not hold control characters.`);
  return decoded;
}

function decodePath(path: string): string[] {
  const segments = path
    .slice(1)
    .split('/')
    .map((segment) => decode(segment, 'path'));
  // A URL parser in the app would resolve these segments to another path, which may be a route, so they are not found here.
  const resolvable = path.includes('\\') || segments.some((segment) => segment === '.' || segment === '..');
  if (resolvable) throw notFound();
  return segments;
}

function decodeQuery(query: string): [string, string][] {
  return query.split('&').map((pair) => {
    const spaced = pair.replaceAll('+', ' ');
    const equals = spaced.indexOf('=');
    const name = equals === -1 ? spaced : spaced.slice(0, equals);
    const value = equals === -1 ? '' : spaced.slice(equals + 1);
    return [decode(name, 'query'), decode(value, 'query')];
  });
}

/** The last parsed target. Each request parses its target twice, and most requests are about the same event. */
let last: { readonly text: string; readonly target: RequestTarget } | undefined;

/** Parses like `takeApart`, but returns the same object again if the text is the same as the last time. */
export function parseRequestTarget(text: string): RequestTarget {
  if (last?.text !== text) last = { text, target: takeApart(text) };
  return last.target;
}

/**
 * Parses a raw request target strictly: decoded once, nothing normalised or repaired.
 * In a query a `+` is a space, as forms and `URLSearchParams` write it.
 * @throws ApiError `bad_request` for malformed encoding, control characters and anything that is not a plain path of at
 * most 8 KiB; `not_found` for dot segments and backslashes, which are never part of a route.
 */
function takeApart(target: string): RequestTarget {
  if (target.length > MAX_TARGET_LENGTH) throw badRequest(`The address is longer than ${MAX_TARGET_LENGTH} bytes.`);
  if (!target.startsWith('/')) throw badRequest('The request target must be a path.');
  if (!PRINTABLE_ASCII.test(target)) throw badRequest('The address must be ASCII; percent-encode everything else.');
  if (target.includes('#')) throw badRequest('The address must not hold a fragment.');
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  const query = mark === -1 ? '' : target.slice(mark + 1);
  // The whole query is decoded before an unknown path is refused: syntax comes before routes.
  const pairs = query === '' ? [] : decodeQuery(query);
  return { path, segments: decodePath(path), query: pairs };
}
