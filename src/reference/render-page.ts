import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Html, html } from './html.ts';
import { PAGE_STYLE, TOOLS_STYLE } from './page-style.ts';
import { type Heading, renderLine } from './render-markdown.ts';
import { OVERVIEW } from './write-reference.ts';

export const PAGE_SCRIPT = readFileSync(new URL('./page-script.js', import.meta.url), 'utf8');

const integrity = `sha256-${createHash('sha256').update(PAGE_SCRIPT).digest('base64')}`;

/** Loads the script. The integrity check stops a script of another version; the page is complete without it. */
const SCRIPT_TAG = html`<script src="/reference/page.js" integrity="${integrity}" defer></script>`;

/** Shown by the script, without which the search does not work. */
const SEARCH_BUTTON = html`<button class="find" type="button" aria-haspopup="dialog" aria-keyshortcuts="Control+K Meta+K" hidden>Search <kbd>Ctrl K</kbd></button>`;

const SEARCH_DIALOG: Html = html`<dialog class="search" aria-label="Search" closedby="any"><div><input type="text" aria-label="Search" placeholder="Operations, guides, reasons of errors" autocomplete="off" autocapitalize="off" spellcheck="false" enterkeyhint="go"><button type="button">Close</button></div><p aria-live="polite"></p><ul aria-label="Hits"></ul></dialog>`;

interface Link {
  readonly name: string;
  readonly title: string;
  /** Parts of the page, listed only on the page itself. */
  readonly parts?: readonly { readonly anchor: string; readonly title: string }[];
}

/** The table of contents beside every page: guides, then the sections of the API. */
export interface Contents {
  readonly serviceName: string;
  readonly guides: readonly Link[];
  readonly sections: readonly Link[];
}

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

function renderTurn({ guides, sections }: Contents, current: string): Html {
  const all = [...guides, ...sections];
  const index = all.findIndex(({ name }) => name === current);
  const [before, after] = index === -1 ? [undefined, all[0]] : [all[index - 1], all[index + 1]];
  return html`<div class="turn">${before === undefined ? html`<span></span>` : html`<a href="${address(before.name)}">← ${before.title}</a>`}${
    after !== undefined && html`<a href="${address(after.name)}">${after.title} →</a>`
  }</div>`;
}

/** The headings of a page, shown beside its text if there is room. */
const renderHeadings = (headings: readonly Heading[]): Html =>
  html`<nav class="on-page" aria-label="On this page"><p>On this page</p><ul>${headings.map(
    ({ depth, text, anchor }) =>
      html`<li><a href="#${anchor}"${depth > 2 && html` class="deep"`}>${renderLine(text)}</a></li>`,
  )}</ul></nav>`;

const STYLE = PAGE_STYLE + TOOLS_STYLE;

/** A whole page. It loads only its own script. @param headings shown beside the text if the contents do not list them */
export function renderPage(
  contents: Contents,
  current: string,
  title: string,
  content: Html,
  headings: readonly Heading[] = [],
): string {
  const isBeside = headings.length > 1;
  const { serviceName, guides, sections } = contents;
  const fullTitle = title === serviceName ? title : `${title} · ${serviceName}`;
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><link rel="alternate" type="text/markdown" href="${markdownAddress(current)}"><title>${fullTitle}</title><style>${new Html(STYLE)}</style>${SCRIPT_TAG}</head>
<body><a class="skip" href="#content">Skip to the content</a><header><strong><a href="/reference">${serviceName}</a></strong>${SEARCH_BUTTON}<a class="to-contents" href="#contents">Contents</a><a class="to-openapi" href="${markdownAddress(current)}">Markdown</a><a class="to-openapi" href="/openapi.json">OpenAPI</a></header>
<div class="frame${isBeside && ' beside'}"><main id="content">${content}${renderTurn(contents, current)}</main>
${isBeside && renderHeadings(headings)}<nav id="contents" aria-label="Contents">${renderLinks([{ name: '', title: 'Overview' }], current)}<p>Guides</p>${renderLinks(guides, current)}<p>Reference</p>${renderLinks(sections, current)}</nav></div>${SEARCH_DIALOG}</body></html>
`.text;
}

const styleHash = createHash('sha256').update(STYLE).digest('base64');

/** Content-Security-Policy: a page loads and runs only its own stylesheet and script, and the script calls this service only. */
export const PAGE_POLICY = `default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'sha256-${styleHash}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
