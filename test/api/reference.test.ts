import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Server, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, expect, test, vi } from 'vitest';
import { refusalOf } from '#test/harness/answers.ts';
import type { ApiDocument } from '#test/harness/api-document.ts';
import { guideNames, readGuideText } from '#test/harness/guides.ts';
import { eventually, type TestAnswer, useService } from '#test/harness/test-service.ts';

const pages = new Map<string, string>();

const anchorsOf = (page: string): Set<string> =>
  new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, anchor = '']) => anchor));
const linksOf = (page: string): string[] => [...page.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link);

/** This reader is faster than people are: where it is asked to come back later, it does. */
const readPage = (path: string): Promise<TestAnswer> =>
  eventually(async () => {
    const answer = await service.call('GET', path);
    return answer.headers.has('retry-after') ? undefined : answer;
  });

const service = await useService();
const waiting = ['/reference'];
for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
  const answer = await readPage(path);
  expect([path, answer.status]).toEqual([path, 200]);
  pages.set(path, answer.body);
  for (const link of linksOf(answer.body)) {
    const to = link.split('#')[0] ?? '';
    if (to.startsWith('/reference') && !pages.has(to) && !waiting.includes(to)) waiting.push(to);
  }
}

/** Pages for people: those in Markdown load nothing. */
const shown = (): [string, string][] => [...pages].filter(([path]) => !path.endsWith('.md'));
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64');

const all = (): string => [...pages.values()].join('\n');

test('a document of a megabyte has its length in the answer, and is written in pieces', async () => {
  const pieces: number[] = [];
  const emit = Server.prototype.emit;
  vi.spyOn(Server.prototype, 'emit').mockImplementation(function (this: Server, ...words: unknown[]) {
    if (words[0] === 'connection') {
      const socket = words[1] as Socket;
      const write = socket.write;
      Reflect.set(socket, 'write', (...given: [Uint8Array]) => {
        pieces.push(given[0].length);
        return Reflect.apply(write, socket, given);
      });
    }
    return Reflect.apply(emit, this, words);
  } as typeof emit);
  // Of an address of its own, which has asked for nothing yet.
  const [answer] = (await once(
    get(`${service.url}/openapi.json`, { agent: false, localAddress: '127.0.0.9' }),
    'response',
  )) as [IncomingMessage];
  const bytes = await buffer(answer);
  vi.restoreAllMocks();
  expect(answer.headers['content-length']).toBe(String(bytes.length));
  expect(JSON.parse(bytes.toString())).toHaveProperty('openapi');
  expect(pieces.reduce((sum, length) => sum + length, 0)).toBeGreaterThan(bytes.length);
  // Written at once, documents for twenty peers hold the event loop, and wait in memory for those who read slowly.
  expect(Math.max(...pieces)).toBeLessThan(100_000);
});

describe('the reference', () => {
  test('has every operation of the API document, each once', async () => {
    const { body } = await readPage('/openapi.json');
    const ids = Object.values((body as ApiDocument).paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(ids.length).toBeGreaterThan(60);
    const text = all();
    expect(ids.filter((id) => text.split(`<article class="op" id="${id}">`).length !== 2)).toEqual([]);
  });

  test('shows the body of every message to webhook endpoints', async () => {
    const { body } = await readPage('/openapi.json');
    const page = pages.get('/reference/webhook-messages') ?? '';
    for (const type of Object.keys((body as ApiDocument).webhooks)) {
      expect([type, anchorsOf(page).has(type)]).toEqual([type, true]);
      expect(page).toContain(`<b>"type"</b>: "${type}"`);
    }
  });

  test('has a sample of every operation in each language, and its own address above them', () => {
    const sections = shown().filter(([, page]) => page.includes('<fieldset class="tabs">'));
    expect(sections.length).toBeGreaterThan(14);
    for (const [path, page] of sections) {
      const operations = page.split('<article class="op"').length - 1;
      const count = (part: string): number => page.split(part).length - 1;
      const samples = [
        'value="curl" checked>',
        ...['typescript', 'python', 'php'].map((name) => `<div class="in-${name}">`),
      ];
      expect(samples.map(count), path).toEqual(samples.map(() => operations));
      expect(page).toContain(`export API=${service.deps.config.baseUrl}\n`);
    }
    expect(all()).not.toContain('127.0.0.1:3000');
    expect(pages.get('/reference/first-vote')).toContain(`export API=${service.deps.config.baseUrl} `);
  });

  test('has every guide beside the operations, and pictures where they help', () => {
    const names = [...guideNames(), 'counting', 'security'];
    expect(names.filter((name) => !pages.has(`/reference/${name}`))).toEqual([]);
    expect(pages.get('/reference/counting')).toContain('<h2 id="ties">');
    expect(all().match(/<figure><svg /g)?.length).toBeGreaterThanOrEqual(6);
  });

  test('announces no change that the service has already', () => {
    const [, upcoming = ''] = /^## Upcoming changes\n([^#]*)^## /m.exec(readGuideText('changelog')) ?? [];
    expect(upcoming.trim()).toBe('None.');
  });

  test('leads nowhere that does not exist', () => {
    const broken = [...pages].flatMap(([path, page]) =>
      linksOf(page)
        .filter((link) => link.startsWith('/reference') || link.startsWith('#'))
        .filter((link) => {
          const [to = '', anchor] = link.startsWith('#') ? [path, link.slice(1)] : link.split('#');
          const target = pages.get(to);
          return target === undefined || (anchor !== undefined && !anchorsOf(target).has(anchor));
        })
        .map((link) => `${path} → ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test('loads nothing but its own words and its one script, which is named by its hash', async () => {
    const { headers } = await readPage('/reference');
    const style = /<style>([^<]*)<\/style>/.exec(pages.get('/reference') ?? '')?.[1] ?? '';
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'sha256-${hashOf(style)}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(headers.get('cache-control')).toBe('public, max-age=300');
    const script = await readPage('/reference/page.js');
    expect([script.status, script.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
    const tag = `<script src="/reference/page.js" integrity="sha256-${hashOf(script.body)}" defer></script>`;
    for (const [path, page] of shown()) {
      expect([path, page.match(/<script[^>]*>(?:<\/script>)?/g)]).toEqual([path, [tag]]);
      expect(page).not.toMatch(/<link rel="stylesheet"|@import|url\(|<img|<iframe| on\w+=| style=/);
    }
  });

  test('weighs at most 150 kB a page, its script included', async () => {
    const script = Buffer.byteLength((await readPage('/reference/page.js')).body);
    const heavy = shown().map(([path, page]): [string, number] => [path, Buffer.byteLength(page) + script]);
    expect(heavy.filter(([, bytes]) => bytes > 150_000)).toEqual([]);
  });

  test('has an index of its pages, headings, operations, messages, codes and reasons, each where it says', async () => {
    const { status, body } = await readPage('/reference/search.json');
    expect(status).toBe(200);
    const entries: { title: string; address: string; kind: string }[] = body.data;
    const broken = entries.filter(({ address }) => {
      const [to = '', anchor] = address.split('#');
      const target = pages.get(to);
      return target === undefined || (anchor !== undefined && !anchorsOf(target).has(anchor));
    });
    expect(broken).toEqual([]);
    const count = (kind: string): number => entries.filter((entry) => entry.kind === kind).length;
    expect(count('operation')).toBe(all().split('<article class="op"').length - 1 - count('message'));
    expect(count('page')).toBe(shown().length);
    expect(count('code') + count('reason')).toBe(pages.get('/reference/errors')?.match(/<tr id=/g)?.length);
    expect(count('heading')).toBeGreaterThan(60);
    expect(count('message')).toBeGreaterThan(10);
  });

  test('answers what is no page as any other unknown path', async () => {
    expect(refusalOf(await readPage('/reference/no-such-page'))).toEqual([404, 'not_found']);
  });

  test('is where /docs leads, page by page', async () => {
    const answer = await readPage('/docs/paid-votes');
    expect(answer.status).toBe(302);
    expect(new URL(answer.headers.get('location') ?? '').pathname).toBe('/reference/paid-votes');
  });
});

/** The texts of a page outside its blocks of code, where a link is a link. */
const proseOf = (page: string): string => page.replaceAll(/^```[\s\S]*?^```/gm, '');
const markdownLinksOf = (page: string): string[] =>
  [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
const pathOf = (link: string): string => link.replace(service.deps.config.baseUrl, '').split('#')[0] ?? '';

const answer = await readPage('/llms.txt');
expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
const markdown = new Map<string, string>();
const index = String(answer.body);
for (const path of markdownLinksOf(index)
  .map(pathOf)
  .filter((link) => link.endsWith('.md'))) {
  const page = await readPage(path);
  const shape = [page.status, page.headers.get('content-type'), page.headers.get('cache-control')];
  expect(shape, path).toEqual([200, 'text/markdown; charset=utf-8', 'public, max-age=300']);
  markdown.set(path, page.body);
}

describe('the reference as Markdown', () => {
  test('has an index in the form of llmstxt.org: a title, a paragraph, and sections of links', () => {
    const [title, paragraph, ...sections] = index.trim().split(/\n\n(?:## )?/);
    expect(title).toMatch(/^# \S.*$/);
    expect(paragraph).toMatch(/^> \S[^\n]*$/);
    expect(sections.filter((_, at) => at % 2 === 0)).toEqual(['Guides', 'Reference']);
    const entries = sections.filter((_, at) => at % 2 === 1).flatMap((list) => list.split('\n'));
    expect(entries.filter((entry) => !/^- \[[^\]]+\]\(https?:\/\/\S+\): \S/.test(entry))).toEqual([]);
    expect(markdownLinksOf(index).every((link) => link.startsWith(service.deps.config.baseUrl))).toBe(true);
  });

  test('has every guide and every operation, each once', async () => {
    const names = [...guideNames(), 'counting', 'security'];
    expect(names.filter((name) => !markdown.has(`/reference/${name}.md`))).toEqual([]);
    const { body } = await readPage('/openapi.json');
    const all = [...markdown.values()].join('\n');
    const missing = Object.entries((body as ApiDocument).paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .map(([method, { operationId }]) => `\`${method.toUpperCase()} ${path}\` · operation \`${operationId}\` · `)
        .filter((line) => all.split(line).length !== 2),
    );
    expect(missing).toEqual([]);
  });

  test('says of an operation what its page says: scope, parameters, body, answers, refusals and a call', async () => {
    const page = markdown.get('/reference/ballots.md') ?? '';
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
    expect(markdown.get('/reference/results.md')).toContain('### Parameters');
  });

  test('leads from page to page, and nowhere that does not exist', () => {
    const broken = [...markdown].flatMap(([path, page]) =>
      markdownLinksOf(page)
        .filter((link) => !/^(https?:|#)/.test(link))
        .filter((link) => !markdown.has(pathOf(link)) && !['/openapi.json', '/verify'].includes(pathOf(link)))
        .map((link) => `${path} → ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test('gives guides as they are written, with its own address and the SHA-256 of the programs that it serves', async () => {
    const printed = readGuideText('first-vote').split('```')[1] ?? 'no code';
    const first = printed.replace('http://127.0.0.1:3000', service.deps.config.baseUrl);
    expect(markdown.get('/reference/first-vote.md')).toContain(first);
    const [, sdk = ''] = /(\/sdk\/\S+\.tgz)/.exec(readGuideText('sdk')) ?? [];
    for (const [guide, served] of [
      ['verifying-a-ballot', '/verify/voting-verifier.mjs'],
      ['sdk', sdk],
    ] as const) {
      const program = await eventually(async () => {
        const answer = await fetch(`${service.url}${served}`);
        return answer.ok ? Buffer.from(await answer.arrayBuffer()) : undefined;
      });
      const sum = createHash('sha256').update(program).digest('hex');
      expect(markdown.get(`/reference/${guide}.md`)).toContain(`\`${sum}\``);
    }
    expect([...markdown.values()].join('\n')).not.toMatch(/[A-Z]+_SHA256|!\[/);
  });

  test('lists every code and reason with the guide to errors', () => {
    expect(markdown.get('/reference/errors.md')).toContain('| 409 | `already_voted` | ');
    expect(markdown.get('/reference/errors.md')).toContain('| 422 | `validation_error` | ');
  });

  test('holds no markup of the pages', () => {
    const markup = /<\/?(?:p|a|li|ul|code|h\d|div|span)\b[^>]*>/;
    expect([...markdown].filter(([, page]) => markup.test(proseOf(page)))).toEqual([]);
  });

  test('is named by every page, for programs and for people', async () => {
    for (const page of ['/reference', '/reference/errors', '/reference/ballots']) {
      const written = page === '/reference' ? '/reference/index.md' : `${page}.md`;
      const { body } = await readPage(page);
      expect(body).toContain(`<link rel="alternate" type="text/markdown" href="${written}">`);
      expect(body).toContain(`href="${written}">Markdown</a>`);
      expect(markdown.has(written)).toBe(true);
    }
    expect((await readPage('/reference/no-such-page.md')).status).toBe(404);
  });
});
