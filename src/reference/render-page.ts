import { createHash } from 'node:crypto';
import { type Html, html, Html as Markup } from './html.ts';
import { PAGE_STYLE } from './page-style.ts';
import { OVERVIEW } from './write-reference.ts';

export interface Link {
  readonly name: string;
  readonly title: string;
  /** Parts of the page itself, listed while it is read. */
  readonly parts?: readonly { readonly anchor: string; readonly title: string }[];
}

/** The table of contents beside every page: guides, then the sections of the API. */
export interface Contents {
  readonly serviceName: string;
  readonly guides: readonly Link[];
  readonly sections: readonly Link[];
}

/** The same page in Markdown. */
const markdownAddress = (name: string): string => `/reference/${name === '' ? OVERVIEW : name}.md`;

const address = (name: string): string => (name === '' ? '/reference' : `/reference/${name}`);

function renderLinks(links: readonly Link[], current: string): Html {
  return html`<ul>${links.map(({ name, title, parts = [] }) => {
    const here = name === current;
    const within =
      here && parts.length > 0
        ? html`<ul>${parts.map((part) => html`<li><a href="#${part.anchor}">${part.title}</a></li>`)}</ul>`
        : html``;
    return html`<li><a href="${address(name)}"${here && html` aria-current="page"`}>${title}</a>${within}</li>`;
  })}</ul>`;
}

/** The way back and on, at the foot of a page. */
function renderTurn({ guides, sections }: Contents, current: string): Html {
  const all = [...guides, ...sections];
  const index = all.findIndex(({ name }) => name === current);
  const [before, after] = index === -1 ? [undefined, all[0]] : [all[index - 1], all[index + 1]];
  return html`<div class="turn">${before === undefined ? html`<span></span>` : html`<a href="${address(before.name)}">← ${before.title}</a>`}${
    after !== undefined && html`<a href="${address(after.name)}">${after.title} →</a>`
  }</div>`;
}

/** A whole page of the reference. It asks for nothing else: no script, no font, no picture from anywhere. */
export function renderPage(contents: Contents, current: string, title: string, content: Html): string {
  const { serviceName, guides, sections } = contents;
  const fullTitle = title === serviceName ? title : `${title} · ${serviceName}`;
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><link rel="alternate" type="text/markdown" href="${markdownAddress(current)}"><title>${fullTitle}</title><style>${new Markup(PAGE_STYLE)}</style></head>
<body><a class="skip" href="#content">Skip to the content</a><header><strong><a href="/reference">${serviceName}</a></strong><a class="to-contents" href="#contents">Contents</a><a class="to-openapi" href="${markdownAddress(current)}">Markdown</a><a class="to-openapi" href="/openapi.json">OpenAPI</a></header>
<div class="frame"><main id="content">${content}${renderTurn(contents, current)}</main>
<nav id="contents" aria-label="Contents">${renderLinks([{ name: '', title: 'Overview' }], current)}<p>Guides</p>${renderLinks(guides, current)}<p>Reference</p>${renderLinks(sections, current)}</nav></div></body></html>
`.text;
}

const styleHash = createHash('sha256').update(PAGE_STYLE).digest('base64');

/** Nothing may be loaded or run on a page but its own stylesheet. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
