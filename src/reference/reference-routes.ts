import { Hono } from 'hono';
import type { Answer } from '#src/http/answer.ts';
import type { Env } from '#src/http/env.ts';
import { answer } from '#src/http/send.ts';
import { notFound } from '#src/platform/errors.ts';
import { makeOnce } from '#src/platform/make-once.ts';
import type { JsonSchema } from './describe-schema.ts';
import type { ReferenceDocument } from './document-shape.ts';
import { type Figures, readGuides } from './read-guides.ts';
import * as operations from './reference-operations.ts';
import { PAGE_POLICY } from './render-page.ts';
import { renderReference } from './render-reference.ts';

const HEADERS = { 'Content-Security-Policy': PAGE_POLICY, 'Cache-Control': 'public, max-age=300' };

/**
 * The reference that the server itself serves: pages made from the API document and the guides, when they are first asked
 * for. They ask nothing of any other address.
 * @param readFigures what the guides say of the running service
 */
export function referenceRouter(describe: () => JsonSchema, readFigures: () => Promise<Figures>): Hono<Env> {
  const readPages = makeOnce(async () => {
    const guides = await readGuides(await readFigures());
    // What `describeApi` returns is typed as JSON; it has the shape that the pages show.
    return renderReference(describe() as unknown as ReferenceDocument, guides);
  });
  const read = async (name: string): Promise<Answer> => {
    const content = (await readPages()).get(name);
    if (content === undefined) throw notFound();
    return { status: 200, text: { content, type: 'text/html; charset=utf-8' }, headers: HEADERS };
  };
  const router = new Hono<Env>();
  router.on(...operations.getReference, async (c) => answer(c, await read('')));
  router.on(...operations.getReferencePage, async (c) => answer(c, await read(c.req.param('page'))));
  return router;
}
