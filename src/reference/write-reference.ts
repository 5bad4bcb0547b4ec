import { LANGUAGES, SAMPLES_WORDS, samplesOf, writeNames } from './call-samples.ts';
import type { OperationShape, ReferenceDocument, ResponseShape } from './document-shape.ts';
import { answersOf, bodyOf, type PlacedOperation, parametersOf, pretty, refusalsIn } from './operation-parts.ts';
import { type Field, type FieldList, readFields, readType, schemaName } from './read-fields.ts';
import type { Guide } from './read-guides.ts';
import { type ErrorRow, errorCodes, errorReasons, MESSAGES, type Section, sectionsOf } from './reference-content.ts';

const joinBlocks = (...blocks: readonly (string | undefined)[]): string =>
  blocks.filter((block) => block !== undefined && block !== '').join('\n\n');

const writeCode = (text: string, language: string): string => `\`\`\`${language}\n${text}\n\`\`\``;

/** A Markdown table. A bar in a cell is escaped, because it would end the cell. */
function writeTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const writeEntry = (name: string, facts: readonly string[], description: string | undefined): string =>
  `- \`${name}\` (${facts.filter((fact) => fact !== '').join(', ')})${description === undefined ? '' : `: ${description.replaceAll('\n', ' ')}`}`;

const indent = (lines: string): string => lines.replaceAll(/^/gm, '  ');

function writeField({ name, type, required, limits, description, within }: Field, isBody: boolean): string {
  const presence = isBody ? (required ? 'required' : '') : required ? '' : 'may be absent';
  const entry = writeEntry(name, [type, presence, limits], description);
  return within.some((list) => list.length > 0) ? `${entry}\n${indent(writeFields(within, isBody))}` : entry;
}

function writeFields(lists: readonly FieldList[], isBody: boolean): string {
  return lists
    .map((fields, index) => {
      const lines = fields.map((field) => writeField(field, isBody)).join('\n');
      return lists.length === 1 ? lines : `- ${index === 0 ? 'Either' : 'Or'}:\n${indent(lines)}`;
    })
    .join('\n');
}

function writeParameters(placed: PlacedOperation, document: ReferenceDocument): string {
  const parameters = parametersOf(placed, document);
  if (parameters.length === 0) return '';
  const entries = parameters.map(({ name, in: place, required, description, schema }) =>
    writeEntry(name, [place, readType(schema, document.components.schemas), required ? 'required' : ''], description),
  );
  return joinBlocks('### Parameters', entries.join('\n'));
}

function writeBody(operation: OperationShape, { components: { schemas } }: ReferenceDocument): string {
  const content = bodyOf(operation);
  if (content?.schema === undefined) return '';
  const choices = content.schema['oneOf'];
  if (!Array.isArray(choices)) return joinBlocks('### Body', writeFields(readFields(content.schema, schemas), true));
  const bodies = choices.map((choice) => {
    const name = schemaName(choice) ?? '';
    const { summary = name } = content.examples?.[name] ?? {};
    return joinBlocks(`#### ${summary}`, writeFields(readFields(choice, schemas), true));
  });
  return joinBlocks('### Body: one of these', ...bodies);
}

function writeAnswer(status: string, response: ResponseShape, { components: { schemas } }: ReferenceDocument): string {
  const json = response.content?.['application/json'];
  const types = Object.keys(response.content ?? {}).map((type) => `\`${type}\``);
  return joinBlocks(
    `### ${status} ${response.description}`,
    json === undefined && types.length > 0 ? `A body of the type ${types.join(' or ')}.` : '',
    json?.schema === undefined ? '' : writeFields(readFields(json.schema, schemas), false),
    json?.example === undefined ? '' : writeCode(pretty(json.example), 'json'),
  );
}

function writeRefusals(operation: OperationShape, document: ReferenceDocument): string {
  const { reasons, codes } = refusalsIn(operation, document);
  const rows = reasons.map(({ status, code, reason, when }) => [status, `\`${code}\``, `\`${reason}\``, when]);
  const list = codes.map(({ status, code }) => `${status} \`${code}\``).join(', ');
  return joinBlocks(
    '### Refusals',
    rows.length > 0 ? writeTable(['Status', 'Code', 'Reason', 'When'], rows) : '',
    `Codes: ${list}. See [Errors](/reference/errors).`,
  );
}

function scopeText({ security, 'x-required-scope': scope }: OperationShape): string {
  if (security.length === 0) return 'no key';
  const scopes = [scope ?? []].flat().map((one) => `\`${one}\``);
  return scopes.length === 0 ? 'any key' : `scope ${scopes.join(' or ')}`;
}

function writeOperation(placed: PlacedOperation, document: ReferenceDocument): string {
  const { method, path, operation } = placed;
  const calls = samplesOf(placed, document).map(({ summary, texts }) =>
    joinBlocks(summary, ...LANGUAGES.map(({ name, code }) => writeCode(texts[name], code))),
  );
  return joinBlocks(
    `## ${operation.summary}`,
    `\`${method} ${path}\` · operation \`${operation.operationId}\` · ${scopeText(operation)}`,
    operation.description,
    writeParameters(placed, document),
    writeBody(operation, document),
    '### Call',
    ...calls,
    ...answersOf(operation, document).map(([status, response]) => writeAnswer(status, response, document)),
    writeRefusals(operation, document),
  );
}

function writeMessage(type: string, operation: OperationShape, document: ReferenceDocument): string {
  const content = bodyOf(operation);
  const fields = content?.schema === undefined ? [] : readFields(content.schema, document.components.schemas);
  return joinBlocks(
    `## \`${type}\``,
    operation.description,
    writeFields(fields, false),
    writeCode(pretty(content?.example), 'json'),
  );
}

/** The name of the overview in Markdown; as an HTML page it has an empty name. */
export const OVERVIEW = 'index';

/** Turns links to guides and pages into links to the Markdown of these pages. */
const linkMarkdown = (text: string): string =>
  text
    .replaceAll(/\]\((?:\.\.\/|guides\/)?([a-z-]+\.md(?:#[^()\s]*)?)\)/g, '](/reference/$1)')
    .replaceAll(/\]\(\/reference\/([\w-]+)(#[^()\s]*)?\)/g, '](/reference/$1.md$2)');

const errorTable = (head: string, rows: readonly ErrorRow[]): string =>
  writeTable(
    ['Status', head, 'When'],
    rows.map(({ status, word, when }) => [String(status), `\`${word}\``, when]),
  );

function writeGuide({ name, text }: Guide): string {
  // Only HTML pages show pictures: Markdown keeps their captions.
  const words = text.trim().replaceAll(/!\[([^[\]]*)\]\([^()]*\)/g, '*$1*');
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

function* writePages(document: ReferenceDocument, guides: readonly Guide[]): Generator<[string, string]> {
  const sections = sectionsOf(document);
  const { title, version, description } = document.info;
  yield [
    OVERVIEW,
    joinBlocks(
      `# ${title}`,
      description,
      `Version ${version}. The same as an OpenAPI 3.1 document: [openapi.json](/openapi.json).`,
      writeContents('', guides, sections),
    ),
  ];
  for (const guide of guides) yield [guide.name, writeGuide(guide)];
  for (const { name, title, description, operations } of sections)
    yield [
      name,
      joinBlocks(
        `# ${title}`,
        description,
        SAMPLES_WORDS,
        writeCode(writeNames(document), 'sh'),
        ...operations.map((placed) => writeOperation(placed, document)),
      ),
    ];
  yield [
    MESSAGES.name,
    joinBlocks(
      `# ${MESSAGES.title}`,
      `${MESSAGES.summary} [Webhooks](/reference/webhooks) says how to receive and verify them.`,
      ...Object.entries(document.webhooks).map(([type, { post }]) => writeMessage(type, post, document)),
    ),
  ];
}

export function* writeReference(document: ReferenceDocument, guides: readonly Guide[]): Generator<[string, string]> {
  for (const [name, text] of writePages(document, guides)) yield [name, `${linkMarkdown(text)}\n`];
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
