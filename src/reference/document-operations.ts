import { z } from 'zod';
import { operation } from '#src/http/operation.ts';

export const getOpenApi = operation({
  operationId: 'getOpenApi',
  summary: 'This API as an OpenAPI 3.1 document',
  method: 'GET',
  path: '/',
  scope: 'none',
  answers: {
    200: {
      description: 'The document.',
      schema: z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) }),
      example: { openapi: '3.1.1', info: {}, paths: {} },
    },
  },
});
