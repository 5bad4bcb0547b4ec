import type { Answer } from './answer.ts';
import { answersText } from './answer-shapes.ts';
import { type Route, readRoute } from './route.ts';

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.6rem}table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.4rem .6rem;border-bottom:1px solid #d8dee4;vertical-align:top}
code{font:14px ui-monospace,monospace;overflow-wrap:anywhere}.m{font-weight:600;white-space:nowrap}
@media(max-width:40rem){tr,td{display:block;border:0;padding:.1rem 0}tr{padding:.6rem 0;border-bottom:1px solid #d8dee4}th{display:none}}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}td,th{border-color:#30363d}}`;

function scopeText(scope: Route['scope']): string {
  if (scope === 'none') return 'no key';
  if (scope === 'any') return 'any key';
  return typeof scope === 'string' ? scope : scope.join(' or ');
}

function page(routes: readonly Route[]): string {
  const rows = routes.map(
    (route) =>
      `<tr><td class="m"><code>${route.method}</code></td><td><code>${escapeHtml(route.path)}</code></td><td>${escapeHtml(route.summary)}</td><td>${escapeHtml(scopeText(route.scope))}</td></tr>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>API reference</title><style>${STYLE}</style><h1>API reference</h1>
<p>Send your key as <code>Authorization: Bearer &lt;API_KEY&gt;</code>. Bodies and answers are JSON; times are Unix milliseconds; every POST takes an <code>Idempotency-Key</code>.</p>
<table><tr><th>Method</th><th>Path</th><th>What it does</th><th>Scope</th></tr>${rows.join('\n')}</table></html>`;
}

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/** The reference that the server itself serves: made from the route table, asking nothing of any other address. */
export function referenceRoutes(routes: readonly Route[]): Route[] {
  const content = page(routes);
  const read = async (): Promise<Answer> => ({
    status: 200,
    text: { content, type: 'text/html; charset=utf-8' },
    headers: { 'Content-Security-Policy': POLICY, 'Cache-Control': 'public, max-age=300' },
  });
  const find = async (): Promise<null> => null;
  const summary = 'This reference';
  const answers = answersText('text/html', 'A page.');
  return [
    readRoute({
      operationId: 'getReference',
      summary,
      method: 'GET',
      path: '/reference',
      scope: 'none',
      answers,
      find,
      read,
    }),
    readRoute({
      operationId: 'getReferencePage',
      summary,
      method: 'GET',
      path: '/reference/:page',
      scope: 'none',
      answers,
      find,
      read,
    }),
  ];
}
