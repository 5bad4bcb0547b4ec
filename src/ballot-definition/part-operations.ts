import type { z } from 'zod';
import { answersList, answersOne } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';

type Part = 'Candidate' | 'Group' | 'Position' | 'Sponsor';

/** `GET /`: every one of the parts that a ballot has of a kind. */
export const listing = <Query extends z.ZodType>(part: Part, view: z.ZodType, query: Query) =>
  operation({
    ...{ operationId: `list${part}s`, summary: `List ${part.toLowerCase()}s` },
    ...{ method: 'GET', path: '/', scope: 'read', query },
    answers: answersList(view, `Every ${part.toLowerCase()} of the event.`),
  });

/** `GET /:id`: one of them. */
export const reading = (part: Part, view: z.ZodType) =>
  operation({
    ...{ operationId: `get${part}`, summary: `Read a ${part.toLowerCase()}` },
    ...{ method: 'GET', path: '/:id', scope: 'read' },
    answers: answersOne(view, `The ${part.toLowerCase()}.`),
  });
