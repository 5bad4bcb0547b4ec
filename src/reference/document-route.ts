import { Hono } from 'hono';
import type { Env } from '#src/http/env.ts';
import { answer } from '#src/http/send.ts';
import type { JsonSchema } from './describe-schema.ts';
import * as operations from './document-operations.ts';

/** `GET /openapi.json`: the API document. It is made when it is first asked for. */
export function documentRouter(describe: () => JsonSchema): Hono<Env> {
  let content: string | undefined;
  const router = new Hono<Env>();
  router.on(...operations.getOpenApi, async (c) => {
    content ??= JSON.stringify(describe());
    const headers = { 'Cache-Control': 'public, max-age=300' };
    return answer(c, { status: 200, text: { content, type: 'application/json' }, headers });
  });
  return router;
}
