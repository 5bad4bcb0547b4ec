import { Hono } from 'hono';
import type { Env } from '#src/http/env.ts';
import { answer } from '#src/http/send.ts';
import { notFound } from '#src/platform/errors.ts';
import { makeOnce } from '#src/platform/make-once.ts';
import { bundleSdk } from './bundle-sdk.ts';
import * as operations from './sdk-operations.ts';

const HEADERS = { 'Cache-Control': 'public, max-age=300' };

/** The SDK for customers. It is compiled in another process, when it is first asked for. */
export function sdkRouter(): Hono<Env> {
  const readPackage = makeOnce(bundleSdk);
  const router = new Hono<Env>();
  router.on(...operations.getSdk, async (c) => {
    const { fileName, content } = await readPackage();
    if (c.req.param('file') !== fileName) throw notFound();
    return answer(c, { status: 200, bytes: { content, type: 'application/gzip' }, headers: HEADERS });
  });
  return router;
}
