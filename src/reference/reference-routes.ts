import { Hono } from 'hono';
import type { Answer } from '#src/http/answer.ts';
import type { Env } from '#src/http/env.ts';
import { answer } from '#src/http/send.ts';
import { notFound } from '#src/platform/errors.ts';
import { makeOnce } from '#src/platform/make-once.ts';
import type { JsonSchema } from './describe-schema.ts';
import type { ReferenceDocument } from './document-shape.ts';
import { PAGE_SCRIPT } from './page-script.ts';
import { type Figures, type Guide, readGuides } from './read-guides.ts';
import * as operations from './reference-operations.ts';
import { PAGE_POLICY } from './render-page.ts';
import { renderReference } from './render-reference.ts';
import { indexReference } from './search-index.ts';
import { writeIndex, writeReference } from './write-reference.ts';

const CACHED = { 'Cache-Control': 'public, max-age=300' };

const textAnswer = (content: string, type: string, headers = {}): Answer => ({
  status: 200,
  text: { content, type: `${type}; charset=utf-8` },
  headers: { ...CACHED, ...headers },
});

const jsonAnswer = (data: unknown): Answer => ({
  status: 200,
  text: { content: JSON.stringify({ data }), type: 'application/json' },
  headers: CACHED,
});

/** Everything that the reference answers, as it is sent, by its name: the page `polls` beside `polls.md`. */
function makeAnswers(document: ReferenceDocument, guides: readonly Guide[]): ReadonlyMap<string, Answer> {
  const policy = { 'Content-Security-Policy': PAGE_POLICY };
  const pages = [...renderReference(document, guides)];
  const written = [...writeReference(document, guides)];
  return new Map([
    ...pages.map(([name, text]): [string, Answer] => [name, textAnswer(text, 'text/html', policy)]),
    ...written.map(([name, text]): [string, Answer] => [`${name}.md`, textAnswer(text, 'text/markdown')]),
    ['page.js', textAnswer(PAGE_SCRIPT, 'text/javascript')],
    ['search.json', jsonAnswer(indexReference(document, guides))],
    ['llms.txt', textAnswer(writeIndex(document, guides), 'text/plain')],
  ]);
}

/**
 * The reference that the server itself serves: pages made from the API document and the guides, when they are first asked
 * for. They ask nothing of any other address.
 * @param readFigures what the guides say of the running service
 */
export function referenceRouter(describe: () => JsonSchema, readFigures: () => Promise<Figures>): Hono<Env> {
  const readAnswers = makeOnce(async () => {
    const guides = await readGuides(await readFigures());
    // What `describeApi` returns is typed as JSON; it has the shape that the pages show.
    return makeAnswers(describe() as unknown as ReferenceDocument, guides);
  });
  const find = async (name: string): Promise<Answer> => {
    const found = (await readAnswers()).get(name);
    if (found === undefined) throw notFound();
    return found;
  };
  const router = new Hono<Env>();
  router.on(...operations.getReference, async (c) => answer(c, await find('')));
  router.on(...operations.getReferenceIndex, async (c) => answer(c, await find('llms.txt')));
  router.on(...operations.getReferenceScript, async (c) => answer(c, await find('page.js')));
  router.on(...operations.getReferenceSearch, async (c) => answer(c, await find('search.json')));
  router.on(...operations.getReferencePage, async (c) => answer(c, await find(c.req.param('page'))));
  return router;
}
