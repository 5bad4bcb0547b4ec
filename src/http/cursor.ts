import { desc, type SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { z } from 'zod';
import type { Executor } from '#src/database/client.ts';
import { ApiError } from '#src/platform/errors.ts';
import { equalSecrets, type Secrets } from '#src/platform/secrets.ts';
import type { Answer } from './answer.ts';
import type { AnswerShapes } from './answer-shapes.ts';

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
    // A MAC of 16 bytes, followed by the key of a row.
    .regex(/^[A-Za-z0-9_-]{23,}$/, 'must be the nextCursor of the page before')
    .optional()
    .describe('The `nextCursor` of the page before, unchanged.');

/** The key of the last row, and a MAC over key and list (account, filters): a cursor of another list is refused. */
export function encodeCursor(secrets: Secrets, list: string, after: string): string {
  const body = Buffer.from(after, 'utf8');
  return Buffer.concat([secrets.mac('cursor', `${list}\n${after}`).subarray(0, MAC_BYTES), body]).toString('base64url');
}

/** The key of the last row seen, or undefined on the first page. @throws ApiError `bad_request` for a forged or foreign cursor */
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

/** Cuts a page from rows that were read with LIMIT `limit + 1`: the extra row shows that there is a next page. */
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

/** Most rows that a list without pages returns: the newest that match its filters (completions 3). */
export const MOST_ROWS = 1_000;
/** Newest rows that a filter scans, so that a long history does not slow a list down. */
export const MOST_LOOKED_AT = 20_000;

/** Rows, and whether older rows were left out. */
export interface Newest<Row> {
  readonly rows: readonly Row[];
  readonly truncated: boolean;
}

export interface TimeWindow {
  /** Unix ms, both included. */
  readonly from?: number | undefined;
  readonly until?: number | undefined;
}

const momentField = () =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a Unix time in milliseconds')
    .transform(Number)
    .meta({ shownAs: { type: 'integer', minimum: 0, description: 'Unix time in milliseconds, included.' } })
    .optional();

/** The query parameters by which older rows of a list without pages are read. */
export const windowFields = () => ({ from: momentField(), until: momentField() });

const truncated = z
  .literal(true)
  .optional()
  .meta({ description: 'There where older rows are left out: ask for them with `until`.' });

/** 200 `{ data: […], nextCursor: null }`, with `truncated: true` if older rows are left out. */
export const answersNewest = (schema: z.ZodType, description: string): AnswerShapes => ({
  200: { description, schema: z.object({ data: z.array(schema), nextCursor: z.null(), truncated }) },
});

export const listNewest = ({ truncated: more }: Newest<unknown>, data: readonly unknown[]): Answer => ({
  status: 200,
  body: { data, nextCursor: null, ...(more ? { truncated: true } : {}) },
});

/** Whether a table has more than `MOST_LOOKED_AT` rows in a time window. */
export async function liesBeyond(
  executor: Executor,
  table: PgTable & { readonly id: PgColumn },
  inWindow: SQL | undefined,
): Promise<boolean> {
  const rows = executor.select({ id: table.id }).from<PgTable>(table).where(inWindow).orderBy(desc(table.id));
  return (await rows.offset(MOST_LOOKED_AT).limit(1)).length > 0;
}

/** Cuts rows that were read with LIMIT `MOST_ROWS + 1`. @param passedOver whether rows lie beyond `MOST_LOOKED_AT` */
export function cutNewest<Row>(rows: readonly Row[], passedOver: boolean): Newest<Row> {
  return { rows: rows.slice(0, MOST_ROWS), truncated: rows.length > MOST_ROWS || passedOver };
}
