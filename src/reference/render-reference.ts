import { SAMPLES_WORDS, writeNames } from './call-samples.ts';
import type { ReferenceDocument } from './document-shape.ts';
import { type Html, html } from './html.ts';
import type { Guide } from './read-guides.ts';
import { type ErrorRow, errorCodes, errorReasons, MESSAGES, type Section, sectionsOf } from './reference-content.ts';
import { type Heading, renderCode, renderLine, renderMarkdown } from './render-markdown.ts';
import { renderMessage, renderOperation, type ShownFields } from './render-operation.ts';
import { type Contents, renderPage } from './render-page.ts';

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

function renderMessages(document: ReferenceDocument): Html {
  const messages = Object.entries(document.webhooks);
  return html`<h1>${MESSAGES.title}</h1><div class="prose"><p class="lead">${MESSAGES.summary} <a href="/reference/webhooks">Webhooks</a> says how to receive and verify them.</p></div>${messages.map(
    ([type, { post }]) => renderMessage(type, post, document),
  )}`;
}

function renderSection({ title, description, operations }: Section, document: ReferenceDocument): Html {
  const shown: ShownFields = new Map();
  return html`<h1>${title}</h1><p class="lead">${renderLine(description)}</p><div class="prose">${renderMarkdown(SAMPLES_WORDS)}${renderCode(
    writeNames(document),
    'sh',
    'The names of the samples',
  )}</div>${operations.map((placed) => renderOperation(placed, document, shown))}`;
}

const ERROR_HEADINGS: readonly Heading[] = [
  { depth: 2, text: 'Every code', anchor: 'codes' },
  { depth: 2, text: 'Every reason', anchor: 'reasons' },
];

/** Every code and every reason, below the guide to errors: made from the tables that the program uses. */
function renderErrorTables(): Html {
  const table = (head: string, rows: readonly ErrorRow[]): Html =>
    html`<div class="wide" tabindex="0"><table><thead><tr><th>Status</th><th>${head}</th><th>When</th></tr></thead><tbody>${rows.map(
      ({ status, word, when, anchor }) =>
        html`<tr${anchor !== undefined && html` id="${anchor}"`}><td>${status}</td><td><code>${word}</code></td><td>${renderLine(when)}</td></tr>`,
    )}</tbody></table></div>`;
  return html`<h2 id="codes">Every code</h2>${table('Code', errorCodes())}<h2 id="reasons">Every reason</h2>${table('Reason', errorReasons())}`;
}

/** Every page of the reference by its name, the overview as the empty one. */
export function renderReference(document: ReferenceDocument, guides: readonly Guide[]): ReadonlyMap<string, string> {
  const sections = sectionsOf(document);
  const contents: Contents = {
    serviceName: document.info.title,
    guides: guides.map(({ name, title }) => ({ name, title })),
    sections: [
      ...sections.map(({ name, title, operations }) => ({
        ...{ name, title },
        parts: operations.map(({ operation: { operationId, summary } }) => ({ anchor: operationId, title: summary })),
      })),
      {
        ...MESSAGES,
        parts: Object.keys(document.webhooks).map((type) => ({ anchor: type, title: type })),
      },
    ],
  };
  const page = (name: string, title: string, content: Html, headings?: readonly Heading[]): [string, string] => [
    name,
    renderPage(contents, name, title, content, headings),
  ];
  return new Map([
    page('', document.info.title, renderOverview(document, guides, sections)),
    ...guides.map(({ name, title, content, headings }) =>
      name === 'errors'
        ? page(name, title, html`${content}<div class="prose">${renderErrorTables()}</div>`, [
            ...headings,
            ...ERROR_HEADINGS,
          ])
        : page(name, title, content, headings),
    ),
    ...sections.map((section) => page(section.name, section.title, renderSection(section, document))),
    page(MESSAGES.name, MESSAGES.title, renderMessages(document)),
  ]);
}
