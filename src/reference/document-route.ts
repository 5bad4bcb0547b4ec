import { z } from 'zod';
import { type Route, readRoute } from '#src/http/route.ts';
import type { JsonSchema } from './describe-schema.ts';

/** `GET /openapi.json`: the API document. It is made when it is first asked for. */
export function documentRoute(describe: () => JsonSchema): Route {
  let content: string | undefined;
  return readRoute({
    operationId: 'getOpenApi',
    summary: 'This API as an OpenAPI 3.1 document',
    method: 'GET',
    path: '/openapi.json',
    scope: 'none',
    answers: {
      200: {
        description: 'The document.',
        schema: z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) }),
        example: { openapi: '3.1.1', info: {}, paths: {} },
      },
    },
    find: async () => null,
    read: async () => {
      content ??= JSON.stringify(describe());
      const headers = { 'Cache-Control': 'public, max-age=300' };
      return { status: 200, text: { content, type: 'application/json' }, headers };
    },
  });
}
