import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { ApiDocument } from '#test/harness/api-document.ts';
import { guideNames, readGuideText } from '#test/harness/guides.ts';
import { eventually, type TestAnswer, useService } from '#test/harness/test-service.ts';

const pages = new Map<string, string>();

/** This reader is faster than people are: where it is asked to come back later, it does. */
const read = (path: string): Promise<TestAnswer> =>
  eventually(async () => {
    const answer = await service.call('GET', path);
    return answer.headers.has('retry-after') ? undefined : answer;
  });

/** The texts of a page outside its blocks of code, where a link is a link. */
const proseOf = (page: string): string => page.replaceAll(/^```[\s\S]*?^```/gm, '');
const linksOf = (page: string): string[] =>
  [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
const pathOf = (link: string): string => link.replace(service.deps.config.baseUrl, '').split('#')[0] ?? '';

const service = await useService();
const answer = await read('/llms.txt');
expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
const index = String(answer.body);
for (const path of linksOf(index)
  .map(pathOf)
  .filter((link) => link.endsWith('.md'))) {
  const page = await read(path);
  expect([path, page.status, page.headers.get('content-type'), page.headers.get('cache-control')]).toEqual([
    path,
    200,
    'text/markdown; charset=utf-8',
    'public, max-age=300',
  ]);
  pages.set(path, page.body);
}

describe('the reference as Markdown', () => {
  test('has an index in the form of llmstxt.org: a title, a paragraph, and sections of links', () => {
    const [title, paragraph, ...sections] = index.trim().split(/\n\n(?:## )?/);
    expect(title).toMatch(/^# \S.*$/);
    expect(paragraph).toMatch(/^> \S[^\n]*$/);
    expect(sections.filter((_, at) => at % 2 === 0)).toEqual(['Guides', 'Reference']);
    const entries = sections.filter((_, at) => at % 2 === 1).flatMap((list) => list.split('\n'));
    expect(entries.filter((entry) => !/^- \[[^\]]+\]\(https?:\/\/\S+\): \S/.test(entry))).toEqual([]);
    expect(linksOf(index).every((link) => link.startsWith(service.deps.config.baseUrl))).toBe(true);
  });

  test('has every guide and every operation, each once', async () => {
    const names = [...guideNames(), 'counting', 'security'];
    expect(names.filter((name) => !pages.has(`/reference/${name}.md`))).toEqual([]);
    const { body } = await read('/openapi.json');
    const all = [...pages.values()].join('\n');
    const missing = Object.entries((body as ApiDocument).paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .map(([method, { operationId }]) => `\`${method.toUpperCase()} ${path}\` · operation \`${operationId}\` · `)
        .filter((line) => all.split(line).length !== 2),
    );
    expect(missing).toEqual([]);
  });

  test('says of an operation what its page says: scope, parameters, body, answers, refusals and a call', async () => {
    const page = pages.get('/reference/ballots.md') ?? '';
    const [, cast = ''] = page.split('\n## Cast a ballot\n');
    for (const part of [
      '· scope `vote`',
      '### Body',
      '### 201 ',
      '### Refusals',
      '- `votes` (array of ',
      '| 409 | `conflict` | `already_voted` |',
      'curl -X POST "$API/public/voting-events/',
      '-H "Authorization: Bearer $VOTE_KEY"',
      '```ts\nimport { VotingService }',
      '```python\nimport json, os',
      '```php\n<?php',
    ])
      expect(cast.split('\n## ')[0]).toContain(part);
    expect(pages.get('/reference/results.md')).toContain('### Parameters');
  });

  test('leads from page to page, and nowhere that does not exist', () => {
    const broken = [...pages].flatMap(([path, page]) =>
      linksOf(page)
        .filter((link) => !/^(https?:|#)/.test(link))
        .filter((link) => !pages.has(pathOf(link)) && !['/openapi.json', '/verify'].includes(pathOf(link)))
        .map((link) => `${path} → ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test('gives guides as they are written, with its own address and the SHA-256 of the programs that it serves', async () => {
    const first = (readGuideText('first-vote').split('```')[1] ?? 'no code').replace(
      'http://127.0.0.1:3000',
      service.deps.config.baseUrl,
    );
    expect(pages.get('/reference/first-vote.md')).toContain(first);
    const [, sdk = ''] = /(\/sdk\/\S+\.tgz)/.exec(readGuideText('sdk')) ?? [];
    for (const [guide, served] of [
      ['verifying-a-ballot', '/verify/voting-verifier.mjs'],
      ['sdk', sdk],
    ] as const) {
      const program = await eventually(async () => {
        const answer = await fetch(`http://127.0.0.1:${service.port}${served}`);
        return answer.ok ? Buffer.from(await answer.arrayBuffer()) : undefined;
      });
      const sum = createHash('sha256').update(program).digest('hex');
      expect(pages.get(`/reference/${guide}.md`)).toContain(`\`${sum}\``);
    }
    expect([...pages.values()].join('\n')).not.toMatch(/[A-Z]+_SHA256|!\[/);
  });

  test('lists every code and reason with the guide to errors', () => {
    expect(pages.get('/reference/errors.md')).toContain('| 409 | `already_voted` | ');
    expect(pages.get('/reference/errors.md')).toContain('| 422 | `validation_error` | ');
  });

  test('holds no markup of the pages', () => {
    expect([...pages].filter(([, page]) => /<\/?(?:p|a|li|ul|code|h\d|div|span)\b[^>]*>/.test(proseOf(page)))).toEqual(
      [],
    );
  });

  test('is named by every page, for programs and for people', async () => {
    for (const [page, markdown] of [
      ['/reference', '/reference/index.md'],
      ['/reference/errors', '/reference/errors.md'],
      ['/reference/ballots', '/reference/ballots.md'],
    ] as const) {
      const { body } = await read(page);
      expect(body).toContain(`<link rel="alternate" type="text/markdown" href="${markdown}">`);
      expect(body).toContain(`href="${markdown}">Markdown</a>`);
      expect(pages.has(markdown)).toBe(true);
    }
    expect((await read('/reference/no-such-page.md')).status).toBe(404);
  });
});
