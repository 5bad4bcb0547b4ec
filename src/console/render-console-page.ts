import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Html, html, Html as Markup } from '#src/reference/html.ts';
import { PAGE_STYLE } from '#src/reference/page-style.ts';
import type { Start } from './console-feed.ts';
import { CONSOLE_STYLE } from './console-style.ts';

const STYLE = PAGE_STYLE + CONSOLE_STYLE;
const SCRIPT = readFileSync(new URL('./console-page.js', import.meta.url), 'utf8');

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The page runs its one script, asks this service alone, and can write no markup. */
const PAGE_POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(SCRIPT)}`,
  `style-src ${hashOf(STYLE)}`,
  "connect-src 'self'",
  "frame-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** A mail runs nothing and loads nothing, not even its logo; its styles stand in its elements. Its links open pages of their own. */
export const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox";

/** @param text a mail as it was sent */
export const mailPage = (text: string): string =>
  text.replace('<head>', '<head><meta name="referrer" content="no-referrer"><base target="_blank">');

interface Part {
  readonly id: string;
  readonly title: string;
  readonly content: Html;
}

const list = (id: string, empty: string): Html =>
  html`<ol class="rows" id="${id}" tabindex="-1"></ol><p class="none" data-of="${id}">${empty}</p>`;

const clock = (words: string, hours: number): Html =>
  html`<button type="button" data-advance="${hours * 3_600_000}">${words}</button>`;

const PARTS: readonly Part[] = [
  {
    id: 'mails',
    title: 'Mails',
    content: html`<p class="lead">The mails of this start, which reach nobody. Files of all of them are in the data folder. With SMTP_URL, mails go to that server and are not shown here.</p>${list('mail-rows', 'No mail yet. Ask for a voter key, and it is here.')}`,
  },
  {
    id: 'requests',
    title: 'Requests',
    content: html`<p class="lead">Every request to the API since the start, and refusals from before it.</p>
<form class="tools" id="filter"><label><input type="checkbox" name="refused"> Refused only</label><label>Find <input type="search" name="text" autocomplete="off" spellcheck="false" placeholder="route, account, code, request ID"></label></form>${list('request-rows', 'No request that is looked for.')}`,
  },
  {
    id: 'payments',
    title: 'Payments',
    content: html`<p class="lead">Pages of the payment sandbox. The buttons do what a payer does there.</p>
<p class="tools" id="clock">Let the open pages get older: ${clock('30 minutes', 0.5)}${clock('1 hour', 1)}${clock('1 day', 24)}</p>${list('payment-rows', 'No payment yet. A paid cast answers with a checkoutUrl, and its page is here.')}`,
  },
  {
    id: 'webhooks',
    title: 'Webhooks',
    content: html`<p class="lead">The newest messages to the endpoints of all accounts, with every attempt.</p>${list('delivery-rows', 'No message sent yet.')}`,
  },
  {
    id: 'inbox',
    title: 'Inbox',
    content: html`<p class="lead">A receiver of webhooks. It takes what an endpoint with such an address sends, whatever name stands at its end:</p>
<pre aria-label="A call that makes an endpoint" id="subscribe" tabindex="0"></pre><p class="line" id="copy-subscribe"></p>${list('message-rows', 'No message received yet.')}`,
  },
  {
    id: 'results',
    title: 'Results',
    content: html`<p class="lead">The newest events, counted as ballots are confirmed.</p>${list('result-rows', 'No event yet.')}`,
  },
];

/** The page of the console, and the policy that it is sent with. */
export function renderConsolePage(serviceName: string, { runId, token }: Start): { text: string; policy: string } {
  const links = PARTS.map(
    ({ id, title }) => html`<li><a href="#${id}">${title} <span class="count" id="${id}-count"></span></a></li>`,
  );
  const sections = PARTS.map(
    ({ id, title, content }) =>
      html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title" tabindex="-1">${title}</h2>${content}</section>`,
  );
  const { text } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer"><link rel="icon" href="data:,"><title>Console · ${serviceName}</title><style>${new Markup(STYLE)}</style></head>
<body data-run="${runId}" data-token="${token}"><a class="skip" href="#content">Skip to the content</a><header><strong>Console</strong><span id="state" role="status">Connecting …</span><a href="/reference">Reference</a></header>
<div class="frame"><nav aria-label="Parts"><ul>${links}</ul></nav><main id="content" tabindex="-1"><h1>${serviceName} on this machine</h1><p id="said" role="alert"></p>${sections}<noscript><p><strong>This page needs JavaScript: it shows what happens while it happens.</strong></p></noscript></main></div><script>${new Markup(SCRIPT)}</script></body></html>
`;
  return { text, policy: PAGE_POLICY };
}
