import { z } from 'zod';
import type { Answer } from './answer.ts';
import type { AnswerShapes } from './answer-shapes.ts';

/** Rows that a list without pages answers at most: the newest of what its filters find (completions 3). */
export const MOST_ROWS = 1_000;
/** Newest rows that a filter looks at: no list takes longer because there is a long history. */
export const MOST_LOOKED_AT = 20_000;

/** Rows, and whether there are more of them than an answer holds. */
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

/** The query parameters by which older rows of such a list are read. */
export const windowFields = () => ({ from: momentField(), until: momentField() });

const truncated = z
  .literal(true)
  .optional()
  .meta({ description: 'There where older rows are left out: ask for them with `until`.' });

/** 200 `{ data: […], nextCursor: null }`, with `truncated: true` where there are more. */
export const answersNewest = (schema: z.ZodType, description: string): AnswerShapes => ({
  200: { description, schema: z.object({ data: z.array(schema), nextCursor: z.null(), truncated }) },
});

export const listNewest = ({ truncated: more }: Newest<unknown>, data: readonly unknown[]): Answer => ({
  status: 200,
  body: { data, nextCursor: null, ...(more ? { truncated: true } : {}) },
});

/** Cuts what was asked for with one row more than an answer holds. */
export function cutNewest<Row>(rows: readonly Row[], passedOver: boolean): Newest<Row> {
  return { rows: rows.slice(0, MOST_ROWS), truncated: rows.length > MOST_ROWS || passedOver };
}
