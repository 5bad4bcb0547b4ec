import { Hono } from 'hono';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { answer } from '#src/http/send.ts';
import { notFound } from '#src/platform/errors.ts';
import { readAssets } from './built-assets.ts';

const HEADERS = { 'Cache-Control': 'public, max-age=300' };

export function sdkRouter(): Hono<Env> {
  const router = new Hono<Env>();
  router.on(
    ...operation('getSdk', 'GET /:file', {
      summary: 'Download the SDK for TypeScript and JavaScript',
      description:
        'A package without dependencies: `npm install` takes this address. The guide [SDK](/reference/sdk) shows how it is used.',
      scope: 'none',
      answers: { 200: { description: 'The package.', contentType: 'application/gzip' } },
    }),
    async (c) => {
      const { name, content } = (await readAssets()).sdk;
      if (c.req.param('file') !== name) throw notFound();
      return answer(c, { status: 200, bytes: { content, type: 'application/gzip' }, headers: HEADERS });
    },
  );
  return router;
}
