import { Hono } from 'hono';
import { z } from 'zod';
import type { Answer } from '#src/http/answer.ts';
import { answersOne, answersText } from '#src/http/answer-shapes.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { answer } from '#src/http/send.ts';
import { notFound } from '#src/platform/errors.ts';
import { Pauses } from '#src/platform/loop-turns.ts';
import { makeOnce } from '#src/platform/make-once.ts';
import { readAssets } from './built-assets.ts';
import type { JsonSchema } from './describe-schema.ts';
import type { ReferenceDocument } from './document-shape.ts';
import { readGuides } from './read-guides.ts';
import { PAGE_POLICY, PAGE_SCRIPT } from './render-page.ts';
import { renderReference } from './render-reference.ts';
import { indexReference, searchEntry } from './search-index.ts';
import { writeIndex, writeReference } from './write-reference.ts';

/** The service's URL as the guides' source text writes it. */
const WRITTEN_ADDRESS = 'http://127.0.0.1:3000';

const CACHED = { 'Cache-Control': 'public, max-age=300' };

/** An answer that is made once. It stores bytes, because encoding a text for each request would take longer than sending it. */
const keptAnswer = (content: string | Buffer<ArrayBuffer>, type: string, headers = {}): Answer => ({
  status: 200,
  bytes: { content: typeof content === 'string' ? Buffer.from(content) : content, type },
  headers: { ...CACHED, ...headers },
});

export const textAnswer = (content: string | Buffer<ArrayBuffer>, type: string, headers = {}): Answer =>
  keptAnswer(content, `${type}; charset=utf-8`, headers);

const jsonAnswer = (data: unknown): Answer => keptAnswer(JSON.stringify(data), 'application/json');

/** Makes all answers of the reference, by name: the page `polls`, its Markdown `polls.md`. */
async function makeAnswers(document: ReferenceDocument): Promise<ReadonlyMap<string, Answer>> {
  const pauses = new Pauses();
  const [server] = document.servers;
  const { verifier, sdk } = await readAssets();
  const guides = await readGuides(
    {
      // Guides name a service on the reader's machine. Pages show the URL of the service that serves them.
      ...(server === undefined ? {} : { [WRITTEN_ADDRESS]: server.url }),
      VERIFIER_SHA256: verifier.sha256,
      SDK_SHA256: sdk.sha256,
    },
    pauses,
  );
  const answers = new Map<string, Answer>();
  const policy = { 'Content-Security-Policy': PAGE_POLICY };
  const markdown = new Map<string, string>();
  for (const [name, text] of writeReference(document, guides)) {
    markdown.set(name, text);
    answers.set(`${name}.md`, textAnswer(text, 'text/markdown'));
    await pauses.take();
  }
  for (const [name, text] of renderReference(document, guides, markdown)) {
    answers.set(name, textAnswer(text, 'text/html', policy));
    await pauses.take();
  }
  return answers
    .set('page.js', textAnswer(PAGE_SCRIPT, 'text/javascript'))
    .set('search.json', jsonAnswer({ data: indexReference(document, guides) }))
    .set('llms.txt', textAnswer(writeIndex(document, guides), 'text/plain'));
}

/** Operations without a parameter, with the name of their answer. */
const FIXED = [
  {
    ...{ id: 'getReference', path: '/reference', name: '', summary: 'Read the overview of the reference' },
    answers: answersText('text/html', 'A page.'),
  },
  {
    ...{ id: 'getReferenceIndex', path: '/llms.txt', name: 'llms.txt' },
    summary: 'List the pages of the reference for programs',
    description: 'In the form of [llmstxt.org](https://llmstxt.org), with links to the pages in Markdown.',
    answers: answersText('text/plain', 'The list.'),
  },
  {
    ...{
      id: 'getReferenceScript',
      path: '/reference/page.js',
      name: 'page.js',
      summary: 'Read the script of the pages',
    },
    answers: answersText('text/javascript', 'The search, and buttons that copy.'),
  },
  {
    ...{ id: 'getReferenceSearch', path: '/reference/search.json', name: 'search.json' },
    summary: 'Read the index of the search',
    answers: answersOne(z.array(searchEntry), 'Every place that can be found.'),
  },
];

/** Serves the reference. Its pages are made of the API document and the guides at the first request, and load nothing from other hosts. */
export function referenceRouter(describe: () => Promise<JsonSchema>): Hono<Env> {
  // The result of `describeApi` is typed as JSON; it has the shape that the pages read.
  const readAnswers = makeOnce(async () => makeAnswers((await describe()) as unknown as ReferenceDocument));
  const find = async (name: string): Promise<Answer> => {
    const found = (await readAnswers()).get(name);
    if (found === undefined) throw notFound();
    return found;
  };
  const router = new Hono<Env>();
  for (const { id, path, name, ...words } of FIXED)
    router.on(...operation(id, `GET ${path}`, { scope: 'none', ...words }), async (c) => answer(c, await find(name)));
  router.on(
    ...operation('getReferencePage', 'GET /reference/:page', {
      summary: 'Read a guide or a section of the reference',
      description: 'With `.md` at the end of its name in Markdown, as programs read it; the overview is `index.md`.',
      scope: 'none',
      answers: { 200: { description: 'A page.', contentType: ['text/html', 'text/markdown'] } },
    }),
    async (c) => answer(c, await find(c.req.param('page'))),
  );
  return router;
}

/** `GET /openapi.json`: the API document, made at the first request. */
export function documentRouter(describe: () => Promise<JsonSchema>): Hono<Env> {
  const read = makeOnce(async () => jsonAnswer(await describe()));
  const router = new Hono<Env>();
  router.on(
    ...operation('getOpenApi', 'GET /', {
      summary: 'This API as an OpenAPI 3.1 document',
      scope: 'none',
      answers: {
        200: {
          description: 'The document.',
          schema: z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) }),
          example: { openapi: '3.1.1', info: {}, paths: {} },
        },
      },
    }),
    async (c) => answer(c, await read()),
  );
  return router;
}
