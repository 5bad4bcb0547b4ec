import { z } from 'zod';
import type { ReferenceDocument } from './document-shape.ts';
import type { Guide } from './read-guides.ts';
import { type ErrorRow, errorCodes, errorReasons, MESSAGES, sectionsOf } from './reference-content.ts';

const KINDS = ['page', 'operation', 'heading', 'message', 'code', 'reason'] as const;

/** A place of the reference that the search may lead to. */
export const searchEntry = z
  .object({
    title: z.string(),
    address: z.string().meta({ description: 'The page, and the place on it.' }),
    kind: z.enum(KINDS),
    about: z.string().meta({ description: 'What is searched, too, and shown below the title.' }),
  })
  .meta({
    description: 'A place of the reference.',
    examples: [
      {
        title: 'Cast a ballot',
        address: '/reference/ballots#castBallot',
        kind: 'operation',
        about: 'POST /public/voting-events/{idOrCode}/ballot/cast · castBallot',
      },
    ],
  });

type SearchEntry = z.infer<typeof searchEntry>;

const plain = (markdown: string): string => markdown.replaceAll('`', '').replaceAll(/\[([^[\]]*)\]\([^()]*\)/g, '$1');

const entry = (kind: SearchEntry['kind'], title: string, place: string, about: string): SearchEntry => ({
  title: plain(title),
  kind,
  about: plain(about),
  address: place === '' ? '/reference' : `/reference/${place}`,
});

/** A row without an anchor repeats the reason and status of an earlier row, and gets no entry. */
const errorEntries = (kind: 'code' | 'reason', rows: readonly ErrorRow[]): SearchEntry[] =>
  rows.flatMap(({ status, word, when, anchor }) =>
    anchor === undefined ? [] : entry(kind, word, `errors#${anchor}`, `${status} · ${when}`),
  );

/** Everything that the search finds, pages first. Entries that match a search equally well are shown in this order. */
export function indexReference(document: ReferenceDocument, guides: readonly Guide[]): SearchEntry[] {
  const sections = sectionsOf(document);
  return [
    entry('page', 'Overview', '', 'What holds for every call.'),
    ...guides.map(({ name, title, summary }) => entry('page', title, name, summary)),
    ...sections.map(({ name, title, description }) => entry('page', title, name, description)),
    entry('page', MESSAGES.title, MESSAGES.name, MESSAGES.summary),
    ...sections.flatMap(({ name, operations }) =>
      operations.map(({ method, path, operation: { operationId, summary } }) =>
        entry('operation', summary, `${name}#${operationId}`, `${method} ${path} · ${operationId}`),
      ),
    ),
    ...guides.flatMap(({ name, title, headings }) =>
      headings.map(({ text, anchor }) => entry('heading', text, `${name}#${anchor}`, title)),
    ),
    ...Object.entries(document.webhooks).map(([type, { post }]) =>
      entry('message', type, `${MESSAGES.name}#${type}`, post.description),
    ),
    ...errorEntries('code', errorCodes()),
    ...errorEntries('reason', errorReasons()),
  ];
}
