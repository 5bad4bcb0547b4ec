import { Hono } from 'hono';
import { z } from 'zod';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { answer } from '#src/http/send.ts';
import type { JsonSchema } from './describe-schema.ts';

/** `GET /openapi.json`: the API document. It is made when it is first asked for. */
export function documentRouter(describe: () => JsonSchema): Hono<Env> {
  let content: string | undefined;
  const router = new Hono<Env>();
  router.on(
    ...operation({
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
    }),
    async (c) => {
      content ??= JSON.stringify(describe());
      const headers = { 'Cache-Control': 'public, max-age=300' };
      return answer(c, { status: 200, text: { content, type: 'application/json' }, headers });
    },
  );
  return router;
}
