import type { z } from 'zod';
import { answersCreated, answersList, answersOne, answersQueued } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';
import type { RefusalCase } from '#src/http/refusals.ts';

// The verbs that the parts of a ballot have in common, as the API document describes them.

type Part = 'Candidate' | 'Group' | 'Position' | 'Sponsor';

interface Words {
  readonly refusals?: readonly RefusalCase[];
  readonly example: object;
  readonly summary?: string;
}

/** `GET /`: every one of the parts that a ballot has of a kind. */
export const listing = <Query extends z.ZodType>(part: Part, view: z.ZodType, query: Query) =>
  operation({
    ...{ operationId: `list${part}s`, summary: `List ${part.toLowerCase()}s` },
    ...{ method: 'GET', path: '/', scope: 'read', query },
    answers: answersList(view, `Every ${part.toLowerCase()} of the event.`),
  });

/** `POST /`: one more. */
export const creating = (part: Part, view: z.ZodType, words: Words) =>
  operation({
    ...{ operationId: `create${part}`, summary: `Create a ${part.toLowerCase()}` },
    ...{ method: 'POST', path: '/', scope: 'write' },
    answers: answersCreated(view, `The new ${part.toLowerCase()}.`),
    ...words,
  });

/** `GET /:id`: one of them. */
export const reading = (part: Part, view: z.ZodType) =>
  operation({
    ...{ operationId: `get${part}`, summary: `Read a ${part.toLowerCase()}` },
    ...{ method: 'GET', path: '/:id', scope: 'read' },
    answers: answersOne(view, `The ${part.toLowerCase()}.`),
  });

/** `PATCH /:id`: what of it is sent. */
export const changing = (part: Part, view: z.ZodType, words: Words) =>
  operation({
    ...{ operationId: `update${part}`, summary: `Change a ${part.toLowerCase()}` },
    ...{ method: 'PATCH', path: '/:id', scope: 'write' },
    answers: answersOne(view, `The ${part.toLowerCase()} as it is now.`),
    ...words,
  });

/** `DELETE /:id` of parts that disappear in the background. */
export const deleting = (part: Exclude<Part, 'Sponsor'>, refusals: readonly RefusalCase[]) =>
  operation({
    ...{ operationId: `delete${part}`, summary: `Queue the deletion of a ${part.toLowerCase()}` },
    ...{ method: 'DELETE', path: '/:id', scope: 'write', refusals },
    answers: answersQueued(`The ${part.toLowerCase()} disappears within seconds.`),
  });
