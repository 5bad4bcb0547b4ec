import { createHash } from 'node:crypto';
import { Hono } from 'hono';
import type { Answer } from '#src/http/answer.ts';
import { answersText } from '#src/http/answer-shapes.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { answer } from '#src/http/send.ts';
import { makeOnce } from '#src/platform/make-once.ts';
import { type Asset, readAssets } from './built-assets.ts';
import { Html, html } from './html.ts';
import { PAGE_STYLE } from './page-style.ts';
import { textAnswer } from './reference-routes.ts';

const STYLE = `${PAGE_STYLE}
form{max-width:46rem;display:grid;gap:1rem}
label{display:block;font-weight:600}
.hint{display:block;font-weight:400;font-size:.9rem;color:var(--soft)}
input,textarea{display:block;width:100%;margin-top:.3rem;padding:.55rem .65rem;font:inherit;font-weight:400;color:inherit;background:var(--paper);border:1px solid var(--soft);border-radius:6px}
textarea{min-height:5.5rem;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.85rem}
input:focus-visible,textarea:focus-visible,button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
button{justify-self:start;min-height:2.75rem;padding:.5rem 1.6rem;font:inherit;font-weight:600;color:var(--paper);background:var(--accent);border:0;border-radius:6px;cursor:pointer}
button:disabled{opacity:.6;cursor:default}
#about{margin-top:-.4rem;font-size:1.15rem;color:var(--soft)}#about:empty,#progress:empty,#outcome:empty,#answer:empty{display:none}
#answer{max-width:46rem;margin:1.2rem 0;padding:1rem 1.2rem;border:2px solid currentColor;border-radius:10px}
#answer h2{margin:0;padding:0;border:0;font-size:1.35rem}#answer p{margin:.4rem 0 0;color:var(--ink)}
#answer.in,#answer.yes,#outcome.yes{color:var(--post)}#answer.removed,#answer.no,#outcome.no{color:var(--delete)}#answer:is(.void,.not_yet,.not_there,.no_promise,.partial,.unreadable),#outcome.partial{color:var(--change)}
#outcome{font-weight:600}details{max-width:46rem}summary{padding:.6rem 0;font-weight:600;cursor:pointer}details label{margin-bottom:1rem}
.drop{padding:1.1rem;border:2px dashed var(--soft);border-radius:10px}.drop input{border:0;padding:.5rem 0 0}.drop input::file-selector-button{min-height:2.75rem;margin-right:.6rem;padding:.3rem 1rem;font:inherit;font-weight:600;color:var(--paper);background:var(--accent);border:0;border-radius:6px;cursor:pointer}
#checks{max-width:46rem;list-style:none;padding:0}
#checks li{display:grid;grid-template-columns:1.6rem 10rem minmax(0,1fr);gap:.4rem;padding:.45rem 0;border-bottom:1px solid var(--line)}
#checks .verified span{color:var(--post)}#checks .failed span{color:var(--delete)}#checks .left_out span{color:var(--change)}
@media(max-width:38rem){#checks li{grid-template-columns:1.6rem minmax(0,1fr)}#checks li>:last-child{grid-column:2}}
.sum{overflow-wrap:anywhere}`;

const styleHash = createHash('sha256').update(STYLE).digest('base64');

/** Content-Security-Policy: the page runs only its own script, and loads nothing from other hosts. */
const VERIFIER_POLICY = `default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'sha256-${styleHash}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const integrityOf = ({ sha256 }: Asset): string => `sha256-${Buffer.from(sha256, 'hex').toString('base64')}`;

/** @param script the program of the page @param file the verifier for the command line */
function renderVerifierPage(serviceName: string, script: Asset, file: Asset): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer"><link rel="icon" href="data:,"><title>Is my ballot in? · ${serviceName}</title><style>${new Html(STYLE)}</style></head>
<body><a class="skip" href="#content">Skip to the content</a><header><strong><a href="/reference">${serviceName}</a></strong><a href="/reference/verifying-a-ballot">How it works</a></header>
<main id="content"><h1 data-say="title">Is my ballot in?</h1>
<p id="about"></p>
<p id="progress" role="status"></p>
<div id="answer" role="alert"></div>
<form id="form">
<label class="drop"><span data-say="receipt">Your receipt</span> <span class="hint" data-say="receiptHint"></span><input id="receipt" type="file" accept="text/plain,.txt"></label>
<details id="by-hand"><summary data-say="byHand">Enter it by hand</summary>
<label><span data-say="event">event</span> <span class="hint" data-say="eventHint"></span><input name="event" required autocomplete="off" spellcheck="false"></label>
<label><span data-say="key">key</span> <span class="hint" data-say="keyHint"></span><input name="key" autocomplete="off" spellcheck="false"></label>
<label><span data-say="code">code</span> <span class="hint" data-say="codeHint"></span><input name="code" autocomplete="off" spellcheck="false"></label>
<label><span data-say="promise">promise</span> <span class="hint" data-say="promiseHint"></span><textarea name="promise" spellcheck="false"></textarea></label>
<button id="check" type="submit" data-say="check">Check</button></details>
</form>
<details id="observers"><summary data-say="observers">For observers: every check</summary><div lang="en">
<p class="prose">This page reads the whole log of a voting event and checks it here, in your browser: that every entry is signed for, that nothing was changed or removed, that your ballot is in, and, after the end, that the ballots give the published result.</p>
<p id="outcome"></p>
<ul id="checks" aria-label="What was checked"></ul>
<p><a id="keep" download="checkpoint.txt" hidden>Keep this checkpoint for the next time</a></p>
<label>Earlier checkpoint <span class="hint">One that you kept: shows that nothing of what was in the log then has changed.</span><textarea form="form" name="since" spellcheck="false"></textarea></label>
<button form="form" type="submit">Check with it</button>
<h2>Without trusting this page</h2>
<p class="prose">This page is served by the service that it checks. Who wants to be sure runs the same program on a machine of their own: <a href="/verify/voting-verifier.mjs" download>voting-verifier.mjs</a>, one file that can be read and needs nothing but Node. Compare its SHA-256 with what other observers have:</p>
<p class="sum"><code>${file.sha256}</code></p></div></details>
<noscript><p class="prose"><strong>This page needs JavaScript: it does the checking itself.</strong></p></noscript>
</main><script src="/verify/page.js" integrity="${integrityOf(script)}"></script></body></html>
`.text;
}

export function verifierRouter(serviceName: string): Hono<Env> {
  const page = makeOnce(async () => {
    const { verifierPage, verifier } = await readAssets();
    return renderVerifierPage(serviceName, verifierPage, verifier);
  });
  const script = ({ content }: Asset): Answer => textAnswer(content, 'text/javascript');
  const router = new Hono<Env>();
  router.on(
    ...operation('getVerifierPage', 'GET /', {
      summary: 'Verify a ballot log in the browser',
      description:
        'Answers a voter whether their ballot is in the log, in the language of the event (English, German, Spanish or French); the other checks are folded away, for observers. It takes a receipt as a file: any text that holds a link to this page, or the promise. The fragment of its address may bring `event`, `key`, `code` (the confirmation code), `promise` and `since` along: `/verify#event=evt_…&code=…`. No server is sent a fragment.',
      scope: 'none',
      answers: answersText('text/html', 'The page.'),
    }),
    async (c) => {
      const headers = { 'Content-Security-Policy': VERIFIER_POLICY, 'Referrer-Policy': 'no-referrer' };
      return answer(c, textAnswer(await page(), 'text/html', headers));
    },
  );
  router.on(
    ...operation('getVerifierScript', 'GET /page.js', {
      summary: 'Read the program of the page',
      scope: 'none',
      answers: answersText('text/javascript', 'The verifier, for browsers.'),
    }),
    async (c) => answer(c, script((await readAssets()).verifierPage)),
  );
  router.on(
    ...operation('getVerifierFile', 'GET /voting-verifier.mjs', {
      summary: 'Download the verifier as one file',
      description: 'Runs with Node 20 or newer, and needs nothing else: `node voting-verifier.mjs --help`.',
      scope: 'none',
      answers: answersText('text/javascript', 'The verifier, for a terminal.'),
    }),
    async (c) => answer(c, script((await readAssets()).verifier)),
  );
  return router;
}
