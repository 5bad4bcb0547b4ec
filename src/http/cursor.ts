import { z } from 'zod';
import { ApiError } from '#src/platform/errors.ts';
import { equalSecrets, type Secrets } from '#src/platform/secrets.ts';

export const DEFAULT_PAGE_SIZE = 50;
export const MAX_PAGE_SIZE = 200;
const MAC_BYTES = 16;

const LIMIT_SHOWN = {
  type: 'integer',
  minimum: 1,
  maximum: MAX_PAGE_SIZE,
  default: DEFAULT_PAGE_SIZE,
  description: 'Rows of a page.',
};

/** `limit` of a paginated list: digits only, 1 to 200. */
export const limitField = () =>
  z
    .string()
    .regex(/^\d{1,3}$/, 'must be a whole number from 1 to 200')
    .transform(Number)
    .pipe(z.int().min(1, 'must be at least 1').max(MAX_PAGE_SIZE, `must be at most ${MAX_PAGE_SIZE}`))
    .default(DEFAULT_PAGE_SIZE)
    .meta({ shownAs: LIMIT_SHOWN });

export const cursorField = () =>
  z
    .string()
    .max(1_000)
    // A code of 16 bytes, and a key behind it.
    .regex(/^[A-Za-z0-9_-]{23,}$/, 'must be the nextCursor of the page before')
    .optional()
    .describe('The `nextCursor` of the page before, unchanged.');

/**
 * A cursor holds the key of the last row and is signed together with the list that it belongs to (account, list, filters):
 * one that was made elsewhere, changed or guessed is refused.
 */
export function encodeCursor(secrets: Secrets, list: string, after: string): string {
  const body = Buffer.from(after, 'utf8');
  return Buffer.concat([secrets.mac('cursor', `${list}\n${after}`).subarray(0, MAC_BYTES), body]).toString('base64url');
}

/** The key of the last row seen, or undefined on the first page. @throws ApiError `bad_request` for a cursor this list did not give */
export function decodeCursor(secrets: Secrets, list: string, cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  const after = bytes.subarray(MAC_BYTES).toString('utf8');
  const genuine =
    bytes.toString('base64url') === cursor &&
    secrets
      .macs('cursor', `${list}\n${after}`)
      .some((mac) => equalSecrets(bytes.subarray(0, MAC_BYTES), mac.subarray(0, MAC_BYTES)));
  if (!genuine) {
    throw new ApiError('bad_request', 'The cursor is not one that this list gave. Pass nextCursor on unchanged.', {
      field: 'cursor',
    });
  }
  return after;
}

/** Cuts a page from rows that were asked for with one more than the page holds. */
export function cutPage<Row>(
  rows: readonly Row[],
  limit: number,
  keyOf: (row: Row) => string,
  sign: (after: string) => string,
) {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = rows.length > limit && last !== undefined ? sign(keyOf(last)) : null;
  return { page, nextCursor };
}
