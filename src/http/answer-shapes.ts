import { z } from 'zod';
import { namesOf, pick } from '#src/platform/pick.ts';
import type { Answer } from './answer.ts';
import { EXAMPLE } from './example-values.ts';

/** The shape of an answer of one status: the API document shows it, and tests check every answer against it. */
export interface AnswerShape {
  readonly description: string;
  /** Schema of a JSON body. Left out if there is no body, or if it is not JSON. */
  readonly schema?: z.ZodType;
  /** Content type of a body that is not JSON, such as `text/plain`; several if the request chooses one. */
  readonly contentType?: string | readonly string[];
  /** Headers that only this answer has, by name, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Example of the answer; made from the examples of the schema when left out. */
  readonly example?: unknown;
}

export type AnswerShapes = Readonly<Partial<Record<Answer['status'], AnswerShape>>>;

const dataOf = (schema: z.ZodType) => z.object({ data: schema });

/** 200 `{ data }` */
export const answersOne = (schema: z.ZodType, description: string): AnswerShapes => ({
  200: { description, schema: dataOf(schema) },
});

/** 201 `{ data }` */
export const answersCreated = (schema: z.ZodType, description: string): AnswerShapes => ({
  201: { description, schema: dataOf(schema) },
});

/** 200 `{ data: […], nextCursor: null }`: every row in one answer. */
export const answersList = (schema: z.ZodType, description: string): AnswerShapes => ({
  200: { description, schema: z.object({ data: z.array(schema), nextCursor: z.null() }) },
});

/** 200 `{ data: […], nextCursor }`: a page. */
export const answersPage = (schema: z.ZodType, description: string): AnswerShapes => ({
  200: { description, schema: z.object({ data: z.array(schema), nextCursor }) },
});

const nextCursor = z.string().nullable().meta({
  description: 'Pass it on unchanged as `cursor` for the next page; null on the last one.',
});

const queuedSchema = z.object({ id: z.string(), status: z.literal('queued') }).meta({
  id: 'Queued',
  description: 'Work that is done within seconds.',
  examples: [{ id: EXAMPLE.candidate, status: 'queued' }],
});

/** 202 `{ data }` */
export const answersAccepted = (schema: z.ZodType, description: string): AnswerShapes => ({
  202: { description, schema: dataOf(schema) },
});

/** 202 `{ data: { id, status: "queued" } }` */
export const answersQueued = (description: string): AnswerShapes => answersAccepted(queuedSchema, description);

const changedSchema = z
  .object({
    action: z.enum(['reject', 'delete']),
    changed: z.int().meta({ description: 'How many rows are not as they were before.' }),
  })
  .meta({
    id: 'BulkChange',
    description: 'A change of many rows, all or none.',
    examples: [{ action: 'reject', changed: 1 }],
  });

/** 200 `{ data: { action, changed } }` */
export const answersBulkChange = (description: string): AnswerShapes => answersOne(changedSchema, description);

/** 204 without a body. */
export const answersNothing = (description: string): AnswerShapes => ({ 204: { description } });

/** 302 with the address in `Location`. */
export const answersRedirect = (description: string): AnswerShapes => ({
  302: { description, headers: { Location: 'Where to go on.' } },
});

export const answersText = (contentType: string, description: string): AnswerShapes => ({
  200: { description, contentType },
});

export const answersBytes = (description: string): AnswerShapes => ({
  200: { description, contentType: 'application/octet-stream' },
});

/** A file of one of these content types; `example` shows a JSON file. */
export const answersFile = (contentType: readonly string[], description: string, example: unknown): AnswerShapes => ({
  200: { description, contentType, example, headers: { 'Content-Disposition': 'The name to save it under.' } },
});

/** @returns a function that copies the fields of a view from a row, and no other column */
export function viewer<View extends z.ZodObject>(view: View): (row: z.output<View>) => z.output<View> {
  const names = namesOf(view.shape) as (keyof z.output<View>)[];
  return (row) => pick(row, names) as z.output<View>;
}

/** A time in an answer: Unix milliseconds. */
export const timeShape = () => z.int().meta({ description: 'Unix time in milliseconds.' });

/** A list of an answer, read-only: views pass on the array of the row without copying it. */
export const listShape = <Item extends z.ZodType>(item: Item) => z.array(item).readonly();
