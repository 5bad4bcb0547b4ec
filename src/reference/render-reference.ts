import { reasonAnchor } from '#src/http/errors.ts';
import { hasReason, REFUSALS, type RefusalCase, reasonOf } from '#src/http/refusals.ts';
import { type ErrorCode, STATUS_BY_CODE } from '#src/platform/errors.ts';
import { CODE_WORDS } from './describe-operation.ts';
import type { ReferenceDocument } from './document-shape.ts';
import { type Html, html, slugOf } from './html.ts';
import type { Guide } from './read-guides.ts';
import { renderLine, renderMarkdown } from './render-markdown.ts';
import { type PlacedOperation, renderMessage, renderOperation } from './render-operation.ts';
import { type Contents, type Link, renderPage } from './render-page.ts';

const MESSAGES = 'Webhooks';
const MESSAGES_PAGE = 'webhook-messages';

interface Section {
  readonly link: Link;
  readonly description: string;
  readonly operations: readonly PlacedOperation[];
}

function sectionsOf(document: ReferenceDocument): Section[] {
  const placed = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]): PlacedOperation => ({ method: method.toUpperCase(), path, operation }),
    ),
  );
  return document.tags
    .filter(({ name }) => name !== MESSAGES)
    .map(({ name, description }) => {
      const operations = placed.filter(({ operation }) => operation.tags.includes(name));
      const parts = operations.map(({ operation: { operationId, summary } }) => ({
        anchor: operationId,
        title: summary,
      }));
      return { link: { name: slugOf(name), title: name, parts }, description, operations };
    });
}

function renderOverview(document: ReferenceDocument, guides: readonly Guide[], sections: readonly Section[]): Html {
  const { title, version, description } = document.info;
  return html`<h1>${title}</h1><div class="prose">${renderMarkdown(description)}</div>
<p class="type">Version ${version} · <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1), from which generators make a client in your language</p>
<h2 id="guides">Guides</h2><ul class="cards">${guides.map(
    ({ name, title, summary }) =>
      html`<li><a href="/reference/${name}"><strong>${title}</strong><span>${summary}</span></a></li>`,
  )}</ul>${sections.map(
    ({ link, description, operations }) =>
      html`<h2 id="${link.name}"><a href="/reference/${link.name}">${link.title}</a></h2><p class="lead">${renderLine(description)}</p><ul class="operations">${operations.map(
        ({ method, path, operation }) =>
          html`<li><a href="/reference/${link.name}#${operation.operationId}"><span class="method ${method.toLowerCase()}">${method}</span><span class="what">${operation.summary}</span><code>${path}</code></a></li>`,
      )}</ul>`,
  )}<h2 id="${MESSAGES_PAGE}"><a href="/reference/${MESSAGES_PAGE}">Webhook messages</a></h2><p class="lead">What is sent to webhook endpoints: ${Object.keys(document.webhooks).length} types.</p>`;
}

function renderMessages(document: ReferenceDocument): Html {
  const messages = Object.entries(document.webhooks);
  return html`<h1>Webhook messages</h1><div class="prose"><p class="lead">What is sent to webhook endpoints, with the body of each type. <a href="/reference/webhooks">Webhooks</a> tells how to receive and verify them.</p></div>${messages.map(
    ([type, { post }]) => renderMessage(type, post, document),
  )}`;
}

const renderSection = ({ link, description, operations }: Section, document: ReferenceDocument): Html =>
  html`<h1>${link.title}</h1><p class="lead">${renderLine(description)}</p>${operations.map((placed) => renderOperation(placed, document))}`;

const isCode = (code: string): code is ErrorCode => code in STATUS_BY_CODE;

/** Every code and every reason, below the guide to errors: made from the tables that the program uses. */
function renderErrorTables(): Html {
  const codes = Object.entries(STATUS_BY_CODE).map(
    ([code, status]) =>
      html`<tr id="${code}"><td>${status}</td><td><code>${code}</code></td><td>${isCode(code) && renderLine(CODE_WORDS[code])}</td></tr>`,
  );
  const named = new Set<string>();
  const reasons = Object.entries(REFUSALS)
    .filter(([name]) => hasReason(name as RefusalCase))
    .map(([name, { code, when }]) => {
      const [reason, status] = [reasonOf(name as RefusalCase), STATUS_BY_CODE[code]];
      const anchor = reasonAnchor(reason, status);
      // Two cases may give one reason with one status: the first one is where links lead.
      const id = named.has(anchor) ? undefined : html` id="${anchor}"`;
      named.add(anchor);
      return html`<tr${id}><td>${status}</td><td><code>${reason}</code></td><td>${renderLine(when)}</td></tr>`;
    });
  const table = (head: string, rows: readonly Html[]): Html =>
    html`<div class="wide" tabindex="0"><table><thead><tr><th>Status</th><th>${head}</th><th>When</th></tr></thead><tbody>${rows}</tbody></table></div>`;
  return html`<h2 id="codes">Every code</h2>${table('Code', codes)}<h2 id="reasons">Every reason</h2>${table('Reason', reasons)}`;
}

/** Every page of the reference by its name, the overview as the empty one. */
export function renderReference(document: ReferenceDocument, guides: readonly Guide[]): ReadonlyMap<string, string> {
  const sections = sectionsOf(document);
  const messages = {
    name: MESSAGES_PAGE,
    title: 'Webhook messages',
    parts: Object.keys(document.webhooks).map((type) => ({ anchor: type, title: type })),
  };
  const contents: Contents = {
    serviceName: document.info.title,
    guides: guides.map(({ name, title }) => ({ name, title })),
    sections: [...sections.map(({ link }) => link), messages],
  };
  const page = (name: string, title: string, content: Html): [string, string] => [
    name,
    renderPage(contents, name, title, content),
  ];
  return new Map([
    page('', document.info.title, renderOverview(document, guides, sections)),
    ...guides.map(({ name, title, content }) =>
      page(name, title, name === 'errors' ? html`${content}<div class="prose">${renderErrorTables()}</div>` : content),
    ),
    ...sections.map((section) => page(section.link.name, section.link.title, renderSection(section, document))),
    page(messages.name, messages.title, renderMessages(document)),
  ]);
}
