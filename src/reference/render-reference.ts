import { LANGUAGES, SAMPLES_WORDS, samplesOf, writeNames } from './call-samples.ts';
import type { OperationShape, ReferenceDocument, ResponseShape } from './document-shape.ts';
import { type Html, html } from './html.ts';
import { answersOf, bodyOf, type PlacedOperation, parametersOf, pretty, refusalsIn } from './operation-parts.ts';
import { type Field, type FieldList, readFields, readType, schemaName } from './read-fields.ts';
import type { Guide } from './read-guides.ts';
import { type ErrorRow, errorCodes, errorReasons, MESSAGES, type Section, sectionsOf } from './reference-content.ts';
import { type Heading, renderCode, renderLine, renderMarkdown } from './render-markdown.ts';
import { type Contents, renderPage } from './render-page.ts';

function renderField({ name, type, required, limits, description, within }: Field, isBody: boolean): Html {
  return html`<li><code class="field">${name}</code> <span class="type">${type}</span>${
    isBody && required && html` <span class="must">required</span>`
  }${!isBody && !required && html` <span class="type">may be absent</span>`}${
    limits !== '' && html` <span class="type">${limits}</span>`
  }${description !== undefined && html`<div>${renderLine(description)}</div>`}${renderFields(within, isBody)}</li>`;
}

function renderFields(lists: readonly FieldList[], isBody: boolean): Html {
  const choice = (index: number): Html =>
    lists.length > 1 ? html`<p class="choice">${index === 0 ? 'Either' : 'Or'}</p>` : html``;
  return html`${lists.map(
    (fields, index) =>
      html`${choice(index)}<ul class="fields">${fields.map((field) => renderField(field, isBody))}</ul>`,
  )}`;
}

function renderParameters(placed: PlacedOperation, document: ReferenceDocument): Html {
  const parameters = parametersOf(placed, document).filter(({ name }) => name !== 'idOrCode');
  if (parameters.length === 0) return html``;
  return html`<h3>Parameters</h3><ul class="fields">${parameters.map(
    ({ name, in: place, required, description, schema }) =>
      html`<li><code class="field">${name}</code> <span class="type">${place} · ${readType(schema, document.components.schemas)}</span>${
        place !== 'path' && required && html` <span class="must">required</span>`
      }${description !== undefined && html`<div>${renderLine(description)}</div>`}</li>`,
  )}</ul>`;
}

function renderBody(operation: OperationShape, document: ReferenceDocument): Html {
  const content = bodyOf(operation);
  if (content?.schema === undefined) return html``;
  const { schemas } = document.components;
  const choices = content.schema['oneOf'];
  if (!Array.isArray(choices)) return html`<h3>Body</h3>${renderFields(readFields(content.schema, schemas), true)}`;
  return html`<h3>Body: one of these</h3>${choices.map((choice, index) => {
    const name = schemaName(choice) ?? '';
    const { summary = name } = content.examples?.[name] ?? {};
    return html`<details${index === 0 && html` open`}><summary>${summary}</summary>${renderFields(readFields(choice, schemas), true)}</details>`;
  })}`;
}

/** Long field lists that a page has shown, by their markup: repeating them would be most of the page's size. */
type ShownFields = Map<string, { readonly anchor: string; readonly title: string }>;

/** Characters of markup: a longer field list is shown once a page, and then linked. */
const SHORT_FIELDS = 1_500;

function renderAnswerFields(placed: PlacedOperation, fields: Html, shown: ShownFields): Html {
  const before = shown.get(fields.text);
  if (before !== undefined)
    return html`<p>The fields are those of the answer of <a href="#${before.anchor}">${before.title}</a>.</p>`;
  const { operationId, summary } = placed.operation;
  if (fields.text.length > SHORT_FIELDS) shown.set(fields.text, { anchor: operationId, title: summary });
  return html`<details><summary>Fields of the answer</summary>${fields}</details>`;
}

function renderAnswer(
  placed: PlacedOperation,
  [status, response]: readonly [string, ResponseShape],
  document: ReferenceDocument,
  shown: ShownFields,
): Html {
  const json = response.content?.['application/json'];
  const [type] = Object.keys(response.content ?? {});
  const fields = json?.schema === undefined ? [] : readFields(json.schema, document.components.schemas);
  return html`<h3><span class="status">${status}</span> ${renderLine(response.description)}</h3>${
    json === undefined && type !== undefined && html`<p>A body of the type <code>${type}</code>.</p>`
  }${fields.some((list) => list.length > 0) && renderAnswerFields(placed, renderFields(fields, false), shown)}`;
}

function renderRefusals(operation: OperationShape, document: ReferenceDocument): Html {
  const { reasons, codes } = refusalsIn(operation, document);
  const rows = reasons.map(
    ({ status, code, reason, when }) =>
      html`<tr><td>${status}</td><td><code>${code}</code></td><td><code>${reason}</code></td><td>${renderLine(when)}</td></tr>`,
  );
  const table = html`<div class="wide" tabindex="0"><table><thead><tr><th>Status</th><th>Code</th><th>Reason</th><th>When</th></tr></thead><tbody>${rows}</tbody></table></div>`;
  const list = codes.map(({ status, code }, index) => html`${index > 0 && ', '}${status} <code>${code}</code>`);
  return html`<details><summary>Refusals</summary>${rows.length > 0 && table}<p>Codes: ${list}. See <a href="/reference/errors">Errors</a>.</p></details>`;
}

/** A call in every language. Radio buttons choose the language that is shown, without a script too. */
function renderSamples(placed: PlacedOperation, document: ReferenceDocument): Html {
  const { operationId } = placed.operation;
  const samples = samplesOf(placed, document);
  const tabs = LANGUAGES.map(
    ({ name, title }, index) =>
      html`<label><input type="radio" name="in-${operationId}" value="${name}"${index === 0 && html` checked`}>${title}</label>`,
  );
  const blocks = LANGUAGES.map(({ name, title, code }, index) => {
    const label = `A call of ${operationId}${index === 0 ? '' : ` in ${title}`}`;
    return html`<div class="in-${name}">${samples.map(
      ({ summary, texts }) =>
        html`${summary !== undefined && html`<p class="file">${summary}</p>`}${renderCode(texts[name], code, label)}`,
    )}</div>`;
  });
  return html`<fieldset class="tabs"><legend class="unseen">Language</legend>${tabs}</fieldset>${blocks}`;
}

function renderExamples(placed: PlacedOperation, document: ReferenceDocument): Html {
  const answers = answersOf(placed.operation, document).flatMap(([status, response]) => {
    const example = response.content?.['application/json']?.example;
    if (example === undefined) return [];
    return html`<p class="file">${status}</p>${renderCode(pretty(example), 'json', `Answer ${status}`)}`;
  });
  return html`${renderSamples(placed, document)}${answers}`;
}

/** What an operation does and takes on one side, a call and its answers on the other. @param shown field lists above it on the page */
function renderOperation(placed: PlacedOperation, document: ReferenceDocument, shown: ShownFields): Html {
  const { method, path, operation } = placed;
  const answers = answersOf(operation, document);
  return html`<article class="op" id="${operation.operationId}"><h2><a href="#${operation.operationId}">${operation.summary}</a></h2>
<p class="line"><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></p>
<div class="sides"><div>${renderMarkdown(operation.description)}${renderParameters(placed, document)}${renderBody(operation, document)}${answers.map(
    (answer) => renderAnswer(placed, answer, document, shown),
  )}${renderRefusals(operation, document)}</div><div class="examples">${renderExamples(placed, document)}</div></div></article>`;
}

function renderMessage(type: string, operation: OperationShape, document: ReferenceDocument): Html {
  const content = bodyOf(operation);
  return html`<article class="op" id="${type}"><h2><a href="#${type}"><code>${type}</code></a></h2><div class="sides"><div>${renderMarkdown(operation.description)}${
    content?.schema !== undefined &&
    html`<details><summary>Fields</summary>${renderFields(readFields(content.schema, document.components.schemas), false)}</details>`
  }</div><div class="examples">${renderCode(pretty(content?.example), 'json', `The body of ${type}`)}</div></div></article>`;
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

/** Every code and every reason, from the tables that the code uses; shown below the guide to errors. */
function renderErrorTables(): Html {
  const table = (head: string, rows: readonly ErrorRow[]): Html =>
    html`<div class="wide" tabindex="0"><table><thead><tr><th>Status</th><th>${head}</th><th>When</th></tr></thead><tbody>${rows.map(
      ({ status, word, when, anchor }) =>
        html`<tr${anchor !== undefined && html` id="${anchor}"`}><td>${status}</td><td><code>${word}</code></td><td>${renderLine(when)}</td></tr>`,
    )}</tbody></table></div>`;
  return html`<h2 id="codes">Every code</h2>${table('Code', errorCodes())}<h2 id="reasons">Every reason</h2>${table('Reason', errorReasons())}`;
}

/** Yields the name and the HTML of every page of the reference, each made when it is asked for. The overview's name is empty. */
export function* renderReference(document: ReferenceDocument, guides: readonly Guide[]): Generator<[string, string]> {
  const sections = sectionsOf(document);
  const contents: Contents = {
    serviceName: document.info.title,
    guides: guides.map(({ name, title }) => ({ name, title })),
    sections: [
      ...sections.map(({ name, title, operations }) => ({
        name,
        title,
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
  yield page('', document.info.title, renderOverview(document, guides, sections));
  for (const { name, title, content, headings } of guides)
    yield name === 'errors'
      ? page(name, title, html`${content}<div class="prose">${renderErrorTables()}</div>`, [
          ...headings,
          ...ERROR_HEADINGS,
        ])
      : page(name, title, content, headings);
  for (const section of sections) yield page(section.name, section.title, renderSection(section, document));
  yield page(MESSAGES.name, MESSAGES.title, renderMessages(document));
}
