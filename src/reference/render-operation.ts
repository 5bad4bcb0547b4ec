import { caseOf } from '#src/http/refusals.ts';
import {
  type ContentShape,
  follow,
  type OperationShape,
  type ParameterShape,
  type ReferenceDocument,
  type ResponseShape,
} from './document-shape.ts';
import { type Html, html } from './html.ts';
import { renderCode, renderLine, renderMarkdown } from './render-markdown.ts';
import { renderFields, renderType, schemaName } from './render-schema.ts';

export interface PlacedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: OperationShape;
}

const pretty = (value: unknown): string => JSON.stringify(value, null, 2);

const parametersOf = ({ operation }: PlacedOperation, document: ReferenceDocument): ParameterShape[] =>
  (operation.parameters ?? []).flatMap((parameter) => follow(parameter, document.components.parameters) ?? []);

const responsesOf = (operation: OperationShape, document: ReferenceDocument): [string, ResponseShape][] =>
  Object.entries(operation.responses).flatMap(([status, response]): [string, ResponseShape][] => {
    const found = follow(response, document.components.responses);
    return found === undefined ? [] : [[status, found]];
  });

const bodyOf = ({ requestBody }: OperationShape): ContentShape | undefined => requestBody?.content['application/json'];

/** The variable that holds a key in examples. */
function keyVariable(operation: OperationShape): string {
  const [scope] = [operation['x-required-scope'] ?? []].flat();
  if (scope === 'vote') return '$VOTE_KEY';
  return scope === 'write' ? '$WRITE_KEY' : '$READ_KEY';
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A call as it can be pasted into a shell. */
function renderCall(placed: PlacedOperation, body: unknown, document: ReferenceDocument): Html {
  const { method, path, operation } = placed;
  const parameters = parametersOf(placed, document);
  const filled = path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const example = parameters.find((parameter) => parameter.in === 'path' && parameter.name === name)?.example;
    return example === undefined ? whole : String(example);
  });
  const needed = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name, example = '…' }) => `${name}=${encodeURIComponent(example)}`);
  const query = needed.length === 0 ? '' : `?${needed.join('&')}`;
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$API${filled}${query}"`,
    ...(operation.security.length > 0 ? [`-H "Authorization: Bearer ${keyVariable(operation)}"`] : []),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${quote(pretty(body))}`]),
  ];
  return renderCode(lines.join(' \\\n  '), 'sh', `A call of ${operation.operationId}`);
}

function renderParameters(placed: PlacedOperation, document: ReferenceDocument): Html {
  const parameters = parametersOf(placed, document).filter(({ name }) => name !== 'idOrCode');
  if (parameters.length === 0) return html``;
  return html`<h4>Parameters</h4><ul class="fields">${parameters.map(
    ({ name, in: place, required, description, schema }) =>
      html`<li><code class="field">${name}</code> <span class="type">${place} · ${renderType(schema, document.components.schemas)}</span>${
        place !== 'path' && required && html` <span class="must">required</span>`
      }${description !== undefined && html`<div>${renderLine(description)}</div>`}</li>`,
  )}</ul>`;
}

function renderBody(operation: OperationShape, document: ReferenceDocument): Html {
  const content = bodyOf(operation);
  if (content?.schema === undefined) return html``;
  const { schemas } = document.components;
  const choices = content.schema['oneOf'];
  if (!Array.isArray(choices)) return html`<h4>Body</h4>${renderFields(content.schema, schemas, true)}`;
  return html`<h4>Body: one of these</h4>${choices.map((choice, index) => {
    const name = schemaName(choice) ?? '';
    const { summary = name } = content.examples?.[name] ?? {};
    return html`<details${index === 0 && html` open`}><summary>${summary}</summary>${renderFields(choice, schemas, true)}</details>`;
  })}`;
}

const isGood = (status: string, response: ResponseShape): boolean =>
  response['x-codes'] === undefined && status !== 'default';

function renderAnswer(status: string, response: ResponseShape, document: ReferenceDocument): Html {
  const json = response.content?.['application/json'];
  const [type] = Object.keys(response.content ?? {});
  const fields = json?.schema === undefined ? html`` : renderFields(json.schema, document.components.schemas, false);
  return html`<h4><span class="status">${status}</span> ${renderLine(response.description)}</h4>${
    json === undefined && type !== undefined && html`<p>A body of the type <code>${type}</code>.</p>`
  }${fields.text.includes('<li>') && html`<details><summary>Fields of the answer</summary>${fields}</details>`}`;
}

/** Refusals with a reason of their own; the codes that any operation may answer stand in one line below. */
function renderRefusals(operation: OperationShape, document: ReferenceDocument): Html {
  const refusals = responsesOf(operation, document).filter(([, response]) => response['x-codes'] !== undefined);
  const rows = refusals.flatMap(([status, response]) =>
    (response['x-reasons'] ?? []).map((reason) => {
      const rule = caseOf(reason, Number(status));
      return html`<tr><td>${status}</td><td><code>${rule?.code ?? ''}</code></td><td><code>${reason}</code></td><td>${renderLine(rule?.when ?? '')}</td></tr>`;
    }),
  );
  const codes = refusals.flatMap(([status, response]) =>
    (response['x-codes'] ?? []).map((code) => html`${status} <code>${code}</code>`),
  );
  const table = html`<div class="wide" tabindex="0"><table><thead><tr><th>Status</th><th>Code</th><th>Reason</th><th>When</th></tr></thead><tbody>${rows}</tbody></table></div>`;
  const list = codes.map((code, index) => (index === 0 ? code : html`, ${code}`));
  return html`<details><summary>Refusals</summary>${rows.length > 0 && table}<p>Codes: ${list}. See <a href="/reference/errors">Errors</a>.</p></details>`;
}

function renderExamples(placed: PlacedOperation, document: ReferenceDocument): Html {
  const { operation } = placed;
  const content = bodyOf(operation);
  const bodies = Object.values(content?.examples ?? {});
  const calls =
    bodies.length === 0
      ? html`${renderCall(placed, content?.example, document)}`
      : html`${bodies.map(({ summary, value }) => html`<p class="file">${summary}</p>${renderCall(placed, value, document)}`)}`;
  const answers = responsesOf(operation, document).flatMap(([status, response]) => {
    const example = response.content?.['application/json']?.example;
    if (!isGood(status, response) || example === undefined) return [];
    return html`<p class="file">${status}</p>${renderCode(pretty(example), 'json', `Answer ${status}`)}`;
  });
  return html`${calls}${answers}`;
}

/** One operation: what it does and takes on one side, a call and its answers on the other. */
export function renderOperation(placed: PlacedOperation, document: ReferenceDocument): Html {
  const { method, path, operation } = placed;
  const answers = responsesOf(operation, document).filter(([status, response]) => isGood(status, response));
  return html`<article class="op" id="${operation.operationId}"><h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="line"><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></p>
<div class="sides"><div>${renderMarkdown(operation.description)}${renderParameters(placed, document)}${renderBody(operation, document)}${answers.map(
    ([status, response]) => renderAnswer(status, response, document),
  )}${renderRefusals(operation, document)}</div><div class="examples">${renderExamples(placed, document)}</div></div></article>`;
}

/** One message to a webhook endpoint: what it means, its fields, and how it looks. */
export function renderMessage(type: string, operation: OperationShape, document: ReferenceDocument): Html {
  const content = bodyOf(operation);
  return html`<article class="op" id="${type}"><h3><a href="#${type}"><code>${type}</code></a></h3><div class="sides"><div>${renderMarkdown(operation.description)}${
    content?.schema !== undefined &&
    html`<details><summary>Fields</summary>${renderFields(content.schema, document.components.schemas, false)}</details>`
  }</div><div class="examples">${renderCode(pretty(content?.example), 'json', `The body of ${type}`)}</div></div></article>`;
}
