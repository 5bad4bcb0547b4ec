import { type Html, html } from './html.ts';
import type { Field, FieldList } from './read-fields.ts';
import { renderLine } from './render-markdown.ts';

function renderField({ name, type, required, limits, description, within }: Field, isBody: boolean): Html {
  return html`<li><code class="field">${name}</code> <span class="type">${type}</span>${
    isBody && required && html` <span class="must">required</span>`
  }${!isBody && !required && html` <span class="type">may be absent</span>`}${
    limits !== '' && html` <span class="type">${limits}</span>`
  }${description !== undefined && html`<div>${renderLine(description)}</div>`}${renderFields(within, isBody)}</li>`;
}

/** The fields of a body or an answer, those of objects within them below. */
export function renderFields(lists: readonly FieldList[], isBody: boolean): Html {
  const choice = (index: number): Html =>
    lists.length > 1 ? html`<p class="choice">${index === 0 ? 'Either' : 'Or'}</p>` : html``;
  return html`${lists.map(
    (fields, index) =>
      html`${choice(index)}<ul class="fields">${fields.map((field) => renderField(field, isBody))}</ul>`,
  )}`;
}
