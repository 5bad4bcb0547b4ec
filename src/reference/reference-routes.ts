import type { Answer } from '#src/http/answer.ts';
import { answersText } from '#src/http/answer-shapes.ts';
import { type Route, readRoute } from '#src/http/route.ts';
import { notFound } from '#src/platform/errors.ts';
import type { JsonSchema } from './describe-schema.ts';
import type { ReferenceDocument } from './document-shape.ts';
import { readGuides } from './read-guides.ts';
import { PAGE_POLICY } from './render-page.ts';
import { renderReference } from './render-reference.ts';

type Pages = ReadonlyMap<string, string>;

const HEADERS = { 'Content-Security-Policy': PAGE_POLICY, 'Cache-Control': 'public, max-age=300' };

/**
 * The reference that the server itself serves: pages made from the API document and the guides, when they are first asked
 * for. They ask nothing of any other address.
 */
export function referenceRoutes(describe: () => JsonSchema): Route[] {
  let pages: Promise<Pages> | undefined;
  const readPages = (): Promise<Pages> => {
    pages ??= readGuides().then(
      // What `describeApi` returns is typed as JSON; it has the shape that the pages show.
      (guides) => renderReference(describe() as unknown as ReferenceDocument, guides),
      (fault: unknown) => {
        // Files that could not be read now are read again next time.
        pages = undefined;
        throw fault;
      },
    );
    return pages;
  };
  const read = async (name: string): Promise<Answer> => {
    const content = (await readPages()).get(name);
    if (content === undefined) throw notFound();
    return { status: 200, text: { content, type: 'text/html; charset=utf-8' }, headers: HEADERS };
  };
  const answers = answersText('text/html', 'A page.');
  return [
    readRoute({
      operationId: 'getReference',
      summary: 'Read the overview of the reference',
      method: 'GET',
      path: '/reference',
      scope: 'none',
      answers,
      find: async () => '',
      read: async ({ target }) => read(target),
    }),
    readRoute({
      operationId: 'getReferencePage',
      summary: 'Read a guide or a section of the reference',
      method: 'GET',
      path: '/reference/:page',
      scope: 'none',
      answers,
      find: async ({ params }) => params['page'] ?? '',
      read: async ({ target }) => read(target),
    }),
  ];
}
