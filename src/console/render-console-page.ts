import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Html, html, Html as Markup } from '#src/reference/html.ts';
import { PAGE_STYLE } from '#src/reference/page-style.ts';
import type { Start } from './console-feed.ts';

const CONSOLE_STYLE = `
[hidden]{display:none!important}
header strong{flex:none}
#state{flex:1;font-size:.9rem;color:var(--soft)}
.frame{max-width:82rem}
nav{border-top:0;padding:.6rem .75rem 0}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem}
.count{font-size:.8rem;color:var(--soft);font-variant-numeric:tabular-nums}
main{padding-top:1rem}
main:focus,h2:focus{outline:0}
h1{font-size:1.15rem;color:var(--soft);font-weight:500;margin:0}
h2{margin-top:.8rem}h4{margin:1rem 0 .3rem}h4 small{font-weight:400}
.lead{font-size:.95rem}
#said{margin:.5rem 0;color:var(--delete);font-weight:600}#said:empty{display:none}
small,time{font-size:.84rem;color:var(--soft);overflow-wrap:anywhere}
.rows{list-style:none;margin:1rem 0;padding:0}
.rows>li{padding:.7rem 0;border-top:1px solid var(--line);overflow-wrap:anywhere}
.rows>li:focus{outline:0}
.none{color:var(--soft)}
.line{display:flex;flex-wrap:wrap;gap:.15rem .7rem;align-items:center;margin:.15rem 0}
.line time{margin-left:auto}.line a{padding:.3rem 0}
.key{font-size:1.25rem;letter-spacing:.03em}
.badge{font-size:.8rem;padding:.05rem .5rem;border:1px solid currentColor;border-radius:1rem;color:var(--soft)}
.badge.open,.badge.rehearsal,.badge.pending,.badge.processing,.badge.too_old{color:var(--change)}
.badge.paid,.badge.delivered,.badge.verified{color:var(--post)}
.badge.failed,.badge.wrong_signature,.badge.not_signed{color:var(--delete)}
.s2,.s3{color:var(--post)}.s4{color:var(--change)}.s5{color:var(--delete)}
button,.tools input{font:inherit}
button{min-height:2.25rem;padding:.2rem .9rem;color:var(--ink);background:var(--shade);border:1px solid var(--soft);border-radius:6px;cursor:pointer}
button:hover{border-color:var(--accent)}
button:focus-visible,input:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.tools{display:flex;flex-wrap:wrap;gap:.6rem 1rem;align-items:center}
.tools label{display:inline-flex;gap:.4rem;align-items:center;min-height:2.25rem}
.tools input[type=search]{min-width:0;width:22rem;max-width:100%;padding:.3rem .6rem;color:inherit;background:var(--definition);border:1px solid var(--soft);border-radius:6px}
.tools input::placeholder{color:var(--soft);opacity:1}
pre{white-space:pre-wrap;overflow-wrap:anywhere;max-height:26rem}
summary{padding:.3rem 0}
iframe{display:block;width:100%;height:26rem;background:#fff;border:1px solid var(--line);border-radius:8px}
.attempts{margin:.2rem 0;padding-left:1.6rem;font-size:.92rem}
.candidates{list-style:none;padding:0}
.candidate{display:grid;grid-template-columns:minmax(0,1fr) minmax(4rem,2fr) 7rem;gap:.8rem;align-items:center;padding:.15rem 0}
progress{width:100%;height:.6rem;appearance:none;border:0;border-radius:1rem;overflow:hidden;background:var(--line)}
progress::-webkit-progress-bar{background:var(--line)}
progress::-webkit-progress-value{background:var(--accent)}progress::-moz-progress-bar{background:var(--accent)}
@media(min-width:64rem){nav{padding:1.25rem}nav ul{display:block}main{padding-top:1.25rem}}
@media(max-width:40rem){.tools label{flex-wrap:wrap}.line time{margin-left:0}}
`;

const STYLE = PAGE_STYLE + CONSOLE_STYLE;
const SCRIPT = readFileSync(new URL('./console-page.js', import.meta.url), 'utf8');

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The page may run its one script and send requests to this service, but cannot insert markup. */
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

/** A mail can run no script and load nothing, not even its logo; its styles are inline. Its links open new pages. */
export const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox";

/** @param text HTML of the mail as sent */
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
