import { LANGUAGES } from './call-samples.ts';
import type { ReferenceDocument } from './document-shape.ts';
import { Html, html } from './html.ts';
import type { Guide } from './read-guides.ts';
import { type ErrorRow, errorCodes, errorReasons, MESSAGES, type Section, sectionsOf } from './reference-content.ts';
import { type Heading, renderLine, renderMarkdown } from './render-markdown.ts';
import { type Contents, renderPage } from './render-page.ts';

/** A heading, and the text below it. */
const HEADED = /^([^\n]*)\n*(.*)$/s;

const CODE = /^```(\w+)\n(?:(?!```).*\n)*```$/gm;

/** The line below the heading of an operation. */
const LINE = /^`([A-Z]+) (\S+)` · operation `(\w+)`(.*)$/m;

/** Renders text with fields: the brackets after a name become grey words, and a description begins on its own line. */
const renderFields = (text: string): Html =>
  new Html(
    renderMarkdown(text).text.replaceAll(
      /(<li><code>[^<]+<\/code>) \(([^<\n]*?)\)(?:: |$|(?=<))/gm,
      (_, name: string, facts: string) => `${name} <i>${facts.replace(/(?<=, )required\b/, '<b>$&</b>')}</i><br>`,
    ),
  );

/** Long field lists that the page has shown, with links to them: repeating the lists would make up most of the page's size. */
type ShownFields = Map<string, Html>;

/** A field list of more characters is shown once on a page; later places link to it. */
const SHORT_FIELDS = 600;

function renderFolded(fields: string, link: Html, shown: ShownFields): Html {
  const before = shown.get(fields);
  if (before !== undefined) return html`<p>The fields are those of the answer of ${before}.</p>`;
  if (fields.length > SHORT_FIELDS) shown.set(fields, link);
  return html`<details><summary>Fields</summary>${renderFields(fields)}</details>`;
}

/** A call in every language. Radio buttons choose the visible language, even without the script. */
function renderSamples(operationId: string, samples: string): Html {
  const tabs = LANGUAGES.map(
    ({ name, title }, index) =>
      html`<label><input type="radio" name="in-${operationId}" value="${name}"${index === 0 && html` checked`}>${title}</label>`,
  );
  const blocks = LANGUAGES.map(({ name, title, code }, index) => {
    const shown = samples.replaceAll(CODE, (block, language) => (language === code ? block : ''));
    const label = `A call of ${operationId}${index === 0 ? '' : ` in ${title}`}`;
    return html`<div class="in-${name}">${renderMarkdown(shown, label)}</div>`;
  });
  return html`<fieldset class="tabs"><legend class="unseen">Language</legend>${tabs}</fieldset>${blocks}`;
}

/** An operation or a message: its description and input on one side, a call and the answers on the other. @param part its Markdown */
function renderPart(part: string, shown: ShownFields): Html {
  const [head = '', ...sections] = part.split(/^### /m).map((section) => section.trim());
  const [, title = '', about = ''] = HEADED.exec(head) ?? [];
  const [line, method = '', path, operationId, scope = ''] = LINE.exec(about) ?? [];
  const anchor = operationId ?? title.replaceAll('`', '');
  const link = html`<a href="#${anchor}">${renderLine(title)}</a>`;
  const examples: Html[] = [];
  const renderAnswer = (text: string, label: string): Html => {
    const words = text.replaceAll(CODE, (code) => {
      examples.push(html`<p>${label}</p>${renderMarkdown(code, label)}`);
      return '';
    });
    const [above = '', ...fields] = `\n${words.trim()}`.split(/\n(?=- `)/);
    return html`${renderMarkdown(above)}${fields.length > 0 && renderFolded(fields.join('\n'), link, shown)}`;
  };
  const renderSection = (section: string): Html => {
    const [, name = '', text = ''] = HEADED.exec(section) ?? [];
    const heading = html`<h3>${renderLine(name)}</h3>`;
    if (name === 'Refusals') return html`<details><summary>${name}</summary>${renderMarkdown(text)}</details>`;
    if (name === 'Call') {
      examples.push(renderSamples(anchor, text));
      return html``;
    }
    const [status] = /^\d{3}/.exec(name) ?? [];
    return html`${heading}${status === undefined ? renderFields(text) : renderAnswer(text, `Answer ${status}`)}`;
  };
  const words = [renderAnswer(about.replace(LINE, ''), `The body of ${anchor}`), ...sections.map(renderSection)];
  return html`<article class="op" id="${anchor}"><h2>${link}</h2>
${line !== undefined && html`<p><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code>${renderLine(scope)}</p>`}<div class="sides"><div>${words}</div><div class="examples">${examples}</div></div></article>`;
}

/** The page of a section or of all messages, from its Markdown. */
function renderSection(markdown: string): Html {
  const [head = '', ...parts] = markdown.split(/^## /m);
  const shown: ShownFields = new Map();
  return html`<div class="prose head">${renderMarkdown(head)}</div>${parts.map((part) => renderPart(part, shown))}`;
}

function renderOverview(document: ReferenceDocument, guides: readonly Guide[], sections: readonly Section[]): Html {
  const { title, version, description } = document.info;
  return html`<h1>${title}</h1><div class="prose">${renderMarkdown(description)}</div>
<p class="type">Version ${version} · <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1), from which generators make a client in your language</p>
<h2 id="guides">Guides</h2><ul class="cards">${guides.map(
    ({ name, title, summary }) =>
      html`<li><a href="/reference/${name}"><strong>${title}</strong><span>${summary}</span></a></li>`,
  )}</ul>${sections.map(
    ({ name, title, description, operations }) =>
      html`<h2 id="${name}"><a href="/reference/${name}">${title}</a></h2><p class="lead">${renderLine(description)}</p><ul class="operations">${operations.map(
        ({ method, path, operation }) =>
          html`<li><a href="/reference/${name}#${operation.operationId}"><span class="method ${method.toLowerCase()}">${method}</span><span class="what">${operation.summary}</span><code>${path}</code></a></li>`,
      )}</ul>`,
  )}<h2 id="${MESSAGES.name}"><a href="/reference/${MESSAGES.name}">${MESSAGES.title}</a></h2><p class="lead">What is sent to webhook endpoints: ${Object.keys(document.webhooks).length} types.</p>`;
}

const ERROR_HEADINGS: readonly Heading[] = [
  { depth: 2, text: 'Every code', anchor: 'codes' },
  { depth: 2, text: 'Every reason', anchor: 'reasons' },
];

/** Tables of every code and every reason, made from the tables that the code uses. Shown below the guide to errors. */
function renderErrorTables(): Html {
  const table = (head: string, rows: readonly ErrorRow[]): Html =>
    html`<div class="wide" tabindex="0"><table><thead><tr><th>Status</th><th>${head}</th><th>When</th></tr></thead><tbody>${rows.map(
      ({ status, word, when, anchor }) =>
        html`<tr${anchor !== undefined && html` id="${anchor}"`}><td>${status}</td><td><code>${word}</code></td><td>${renderLine(when)}</td></tr>`,
    )}</tbody></table></div>`;
  return html`<h2 id="codes">Every code</h2>${table('Code', errorCodes())}<h2 id="reasons">Every reason</h2>${table('Reason', errorReasons())}`;
}

/** Yields the name and the HTML of every page of the reference; each is made when it is read. The overview's name is empty. */
export function* renderReference(
  document: ReferenceDocument,
  guides: readonly Guide[],
  markdown: ReadonlyMap<string, string>,
): Generator<[string, string]> {
  const sections = sectionsOf(document);
  const messages = Object.keys(document.webhooks);
  const contents: Contents = {
    serviceName: document.info.title,
    guides: guides.map(({ name, title }) => ({ name, title })),
    sections: [
      ...sections.map(({ name, title, operations }) => ({
        name,
        title,
        parts: operations.map(({ operation: { operationId, summary } }) => ({ anchor: operationId, title: summary })),
      })),
      { ...MESSAGES, parts: messages.map((type) => ({ anchor: type, title: type })) },
    ],
  };
  const page = (name: string, title: string, content: Html, headings?: readonly Heading[]): [string, string] => [
    name,
    renderPage(contents, name, title, content, headings),
  ];
  yield page('', document.info.title, renderOverview(document, guides, sections));
  for (const { name, title, content, headings } of guides)
    yield name === 'errors'
      ? page(name, title, html`${content}<div class="prose">${renderErrorTables()}</div>`, [
          ...headings,
          ...ERROR_HEADINGS,
        ])
      : page(name, title, content, headings);
  for (const { name, title } of contents.sections) yield page(name, title, renderSection(markdown.get(name) ?? ''));
}
