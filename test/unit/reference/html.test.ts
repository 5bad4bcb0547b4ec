import { expect, test } from 'vitest';
import { html, slugOf } from '#src/reference/html.ts';
import { renderGuide, renderMarkdown } from '#src/reference/render-markdown.ts';

test('whatever is put into a template is text, unless it is markup itself', () => {
  const part = html`<b>${'<script>'}</b>`;
  expect(html`<p title="${`"'>&`}">${part}${['<', part]}${undefined}${false}</p>`.text).toBe(
    '<p title="&quot;&#39;&gt;&amp;"><b>&lt;script&gt;</b>&lt;<b>&lt;script&gt;</b></p>',
  );
});

test('markup within Markdown is shown and not obeyed', () => {
  expect(renderMarkdown('a <script>alert(1)</script> `<i>`').text).not.toMatch(/<script|<i>/);
});

test('a guide links to other guides as pages, and to everything else as it stands', () => {
  const { text } = renderGuide('[a](paid-votes.md) [b](errors.md#codes) [c](https://a.example/x.md)', () => html``);
  expect(text.match(/href="[^"]+"/g)).toEqual([
    'href="/reference/paid-votes"',
    'href="/reference/errors#codes"',
    'href="https://a.example/x.md"',
  ]);
});

test('headings become addresses of letters, digits and dashes', () => {
  expect(slugOf('1. What may happen, in between?')).toBe('1-what-may-happen-in-between');
});
