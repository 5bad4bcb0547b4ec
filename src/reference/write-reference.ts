import { SAMPLES_WORDS, writeNames } from './call-samples.ts';
import type { ReferenceDocument } from './document-shape.ts';
import type { Guide } from './read-guides.ts';
import { type ErrorRow, errorCodes, errorReasons, MESSAGES, type Section, sectionsOf } from './reference-content.ts';
import { joinBlocks, writeCode, writeMessage, writeOperation, writeTable } from './write-operation.ts';

/** The name of the overview in Markdown, which has none as a page. */
export const OVERVIEW = 'index';

/** Links of guides and of the document lead to pages; here they lead to the same pages in Markdown. */
const linkMarkdown = (text: string): string =>
  text
    .replaceAll(/\]\((?:\.\.\/|guides\/)?([a-z-]+\.md(?:#[^)\s]*)?)\)/g, '](/reference/$1)')
    .replaceAll(/\]\(\/reference\/([\w-]+)(#[^)\s]*)?\)/g, '](/reference/$1.md$2)');

const errorTable = (head: string, rows: readonly ErrorRow[]): string =>
  writeTable(
    ['Status', head, 'When'],
    rows.map(({ status, word, when }) => [String(status), `\`${word}\``, when]),
  );

function writeGuide({ name, text }: Guide): string {
  // A picture is drawn into its page alone: its caption says what it shows.
  const words = text.trim().replaceAll(/!\[([^\]]*)\]\([^)]*\)/g, '*$1*');
  if (name !== 'errors') return words;
  const tables = [
    '## Every code',
    errorTable('Code', errorCodes()),
    '## Every reason',
    errorTable('Reason', errorReasons()),
  ];
  return joinBlocks(words, ...tables);
}

const entry = (base: string, name: string, title: string, summary: string): string =>
  `- [${title}](${base}/reference/${name}.md): ${summary}`;

/** The pages as a list of links each for guides and for the API. */
function writeContents(base: string, guides: readonly Guide[], sections: readonly Section[]): string {
  return joinBlocks(
    '## Guides',
    guides.map(({ name, title, summary }) => entry(base, name, title, summary)).join('\n'),
    '## Reference',
    [
      ...sections.map(({ name, title, description }) => entry(base, name, title, description)),
      entry(base, MESSAGES.name, MESSAGES.title, MESSAGES.summary),
    ].join('\n'),
  );
}

/** Every page of the reference in Markdown, by its name. */
export function writeReference(document: ReferenceDocument, guides: readonly Guide[]): ReadonlyMap<string, string> {
  const sections = sectionsOf(document);
  const { title, version, description } = document.info;
  const pages: [string, string][] = [
    [
      OVERVIEW,
      joinBlocks(
        `# ${title}`,
        description,
        `Version ${version}. The same as an OpenAPI 3.1 document: [openapi.json](/openapi.json).`,
        writeContents('', guides, sections),
      ),
    ],
    ...guides.map((guide): [string, string] => [guide.name, writeGuide(guide)]),
    ...sections.map(({ name, title, description, operations }): [string, string] => [
      name,
      joinBlocks(
        `# ${title}`,
        description,
        SAMPLES_WORDS,
        writeCode(writeNames(document), 'sh'),
        ...operations.map((placed) => writeOperation(placed, document)),
      ),
    ]),
    [
      MESSAGES.name,
      joinBlocks(
        `# ${MESSAGES.title}`,
        `${MESSAGES.summary} [Webhooks](/reference/webhooks) says how to receive and verify them.`,
        ...Object.entries(document.webhooks).map(([type, { post }]) => writeMessage(type, post, document)),
      ),
    ],
  ];
  return new Map(pages.map(([name, text]) => [name, `${linkMarkdown(text)}\n`]));
}

/** `/llms.txt` in the form of llmstxt.org: a title, a paragraph, and links to every page in Markdown. */
export function writeIndex(document: ReferenceDocument, guides: readonly Guide[]): string {
  const { info, servers } = document;
  const [paragraph = ''] = info.description.split('\n\n');
  const base = servers[0]?.url ?? '';
  const overview = entry(base, OVERVIEW, 'Overview', 'What holds for every call, and the list of all pages.');
  const contents = writeContents(base, guides, sectionsOf(document)).replace('## Guides\n\n', `$&${overview}\n`);
  return `${joinBlocks(`# ${info.title}`, `> ${paragraph}`, contents)}
- [OpenAPI 3.1 document](${base}/openapi.json): every operation for programs.
`;
}
